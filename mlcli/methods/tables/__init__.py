"""Several tables of the same rows: a sum of kernels, one of each group of columns."""
