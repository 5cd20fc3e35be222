"""Kernels: their forms, the functions and corrections that make them, and how each is centered."""
