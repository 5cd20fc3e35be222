"""Outputs that appear whole or not at all: locks, staging, publication, clean-up."""
