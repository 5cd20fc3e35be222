"""Classes, slowness and independence: linear maps of white data."""
