"""The native kernels against SciPy and NumPy."""
