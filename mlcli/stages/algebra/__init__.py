"""Numerical tools of the other rooms: LAPACK, distances, sparse factors, Krylov spaces, iterations, and costs."""
