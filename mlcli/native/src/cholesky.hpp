// The sparse Cholesky factorization of a positive definite matrix, made task by task, and its solutions.
#pragma once
#include "numbers.hpp"

namespace mlcli {

class Cholesky {
public:
    explicit Cholesky(std::shared_ptr<const Symbolic> symbolic) : numbers_(std::move(symbolic)) {}

    double *numbers() const { return numbers_.get(); }  // at first those of the matrix, its lower triangle

    bool factor(const Task &task) const;  // false where the matrix turns out not to be positive definite
    // Solves for `columns` right sides (vertices x columns); `out` may be `sides`.
    void solve(const double *sides, int columns, double *out) const;

private:
    Numbers<double> numbers_;
};

}  // namespace mlcli
