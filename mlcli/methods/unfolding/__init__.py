"""Maximum variance unfolding: the semidefinite program, its solvers and its proof."""
