// The sparse Cholesky factorization of a positive definite matrix, made task by task, and its solutions.
#pragma once
#include <vector>

#include "numbers.hpp"

namespace mlcli {

// Consecutive nodes of an elimination tree: whole subtrees, or nodes above subtrees.
struct Run {
    std::int32_t first, last;
    bool top;
    double entries;  // of their rows
};

class Cholesky {
public:
    explicit Cholesky(std::shared_ptr<const Symbolic> symbolic);

    double *numbers() const { return numbers_.get(); }  // at first those of the matrix, its lower triangle
    Plan plan() const { return numbers_.symbolic().plan(); }
    const std::vector<Run> &runs() const { return runs_; }  // all nodes, in their order

    bool factor(const Task &task) const;  // false where the matrix turns out not to be positive definite

private:
    friend class Solution;
    Numbers<double> numbers_;
    std::vector<Run> runs_;
    mutable Pool<double> sides_, stacks_;  // of solutions
};

// Solutions for at most SIDES right sides: up all subtrees, at the same time, then the nodes above them, then down the
// subtrees. A subtree has a stack of its own. What it gives its ancestors is added in the order of subtrees.
class Solution {
public:
    // Of `columns` right sides (vertices x columns), those from the first on; `out` is as large.
    Solution(const Cholesky &factors, const double *sides, int columns, int first, double *out);
    std::int64_t subtrees() const { return static_cast<std::int64_t>(subtrees_.size()); }
    void up(std::int64_t subtree);
    void top();
    void down(std::int64_t subtree);

private:
    const Cholesky &factors_;
    Plan plan_;
    const double *sides_;
    double *out_;
    int columns_, first_, count_;
    std::vector<Run> subtrees_;
    Pool<double>::Loan moved_, stacks_;  // of each subtree, and of the top

    std::int64_t stack_size() const { return static_cast<std::int64_t>(plan_.depth) * SIDES; }
    double *stack(std::int64_t subtree) const { return stacks_.get() + subtree * stack_size(); }
    // Numbers of a subtree's stack that belong to its ancestors.
    std::int64_t shared(const Run &run) const { return static_cast<std::int64_t>(plan_.node[run.last].base) * SIDES; }
    template <class Visit> void each(const Run &run, Visit &&visit) const;  // row of moved_ -> where it stands in arrays
    void take(const Run &run) const;
    void give(const Run &run) const;
};

}  // namespace mlcli
