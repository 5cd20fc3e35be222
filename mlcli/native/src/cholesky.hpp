// The sparse Cholesky factorization of a positive definite matrix, made task by task, and its solutions.
#pragma once
#include "numbers.hpp"

namespace mlcli {

class Cholesky {
public:
    // The lengths of `graph` are the matrix's entries, its diagonal among them; both triangles or one.
    Cholesky(std::shared_ptr<const Symbolic> symbolic, const Graph &graph);

    bool factor(const Task &task) const;  // false where the matrix turns out not to be positive definite
    // Solves for `columns` right sides (vertices x columns); `out` may be `sides`.
    void solve(const double *sides, int columns, double *out) const;

private:
    Numbers<double> numbers_;
};

}  // namespace mlcli
