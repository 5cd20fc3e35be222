"""Kernels: their forms, the functions and corrections that make them, and how each is centered.

A kernel is a symmetric linear operator in one of four forms: `Dense`, `Factored`, `Inverse` and `Streamed`. Each class
defines its solver, the tolerance for equal eigenvalues, and its residuals, so the eigensolver does not depend on the
class.

- `Dense` (`forms.py`) holds the whole matrix.
- `Factored` (`factored.py`) is K = F Fᵀ, solved on the smaller side; F may be read in blocks of rows.
- `Inverse` (`inverse.py`) is K = M⁺ of a sparse cost M without its null vector.
- `Streamed` (`streamed.py`) gives any block of rows when needed; nothing n x n is stored. A pass over it is a source
  of blocks, and a new kernel of this form is a `KernelRows`.
"""
