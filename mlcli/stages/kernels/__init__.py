"""Kernels (symmetric operators): kernel functions, corrections, centering, and solvable forms in memory or by passes.
"""
