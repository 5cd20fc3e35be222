"""What the other rooms compute with: LAPACK, distances, sparse factors, Krylov spaces, iterations, and costs."""
