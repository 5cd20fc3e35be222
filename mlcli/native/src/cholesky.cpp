// The sparse Cholesky factorization of a positive definite matrix, made task by task, and its solutions.
#include "cholesky.hpp"

#include <algorithm>

namespace mlcli {
namespace {

constexpr double SUBTREES = 12;      // subtrees of more than a part of all entries are divided
constexpr double FEW_ENTRIES = 1e5;  // entries that are not worth dividing

std::vector<Run> runs_of(const std::vector<Node> &nodes) {
    std::vector<double> subtree(nodes.size(), 0);
    double total = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const double own = static_cast<double>(nodes[i].rows) * nodes[i].width;
        total += own;
        subtree[i] += own;
        if (nodes[i].parent != -1) subtree[nodes[i].parent] += subtree[i];
    }
    const double most = std::max(total / SUBTREES, FEW_ENTRIES);
    std::vector<Run> runs;
    std::int32_t from = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(nodes.size()); ++i) {
        const bool top = subtree[i] > most;
        if (!top && nodes[i].parent != -1 && subtree[nodes[i].parent] <= most) continue;  // within a subtree
        if (!runs.empty() && runs.back().top == top && (top || runs.back().entries + subtree[i] <= most)) {
            runs.back().last = i;
            runs.back().entries += subtree[i];
        } else {
            runs.push_back({from, i, top, subtree[i]});
        }
        from = i + 1;
    }
    return runs;
}

}  // namespace

Cholesky::Cholesky(std::shared_ptr<const Symbolic> symbolic)
    : numbers_(std::move(symbolic)), runs_(runs_of(numbers_.symbolic().nodes)) {}

bool Cholesky::factor(const Task &task) const {
    numbers_.eliminate(task, kernels<double>().factor);
    const Plan plan = numbers_.symbolic().plan();
    for (std::int32_t i = task.first; i <= task.last; ++i) {
        const Node &node = plan.node[i];
        if (task.high > 0 && task.high <= node.ups) continue;  // its diagonal was another task's
        const double *row = numbers_.get() + node.values + node.ups;
        for (int r = 0; r < node.rows; ++r, row += node.width + 1)
            if (!(*row > 0)) return false;
    }
    return true;
}

namespace {

std::vector<Run> subtrees_of(const std::vector<Run> &runs) {
    std::vector<Run> subtrees;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(subtrees), [](const Run &run) { return !run.top; });
    return subtrees;
}

}  // namespace

Solution::Solution(const Cholesky &factors, const double *sides, int columns, int first, double *out)
    : factors_(factors), plan_(factors.plan()), sides_(sides), out_(out), columns_(columns), first_(first),
      count_(std::min(SIDES, columns - first)), subtrees_(subtrees_of(factors.runs())),
      moved_(factors.sides_, static_cast<std::int64_t>(plan_.vertices) * SIDES),
      stacks_(factors.stacks_, (subtrees() + 1) * stack_size()) {}

template <class Visit> void Solution::each(const Run &run, Visit &&visit) const {
    const Node &lowest = plan_.node[run.first];
    for (std::int64_t p = lowest.top - lowest.rows + 1; p <= plan_.node[run.last].top; ++p)
        visit(moved_.get() + p * SIDES, static_cast<std::int64_t>(plan_.original[p]) * columns_ + first_);
}

void Solution::take(const Run &run) const {
    each(run, [&](double *row, std::int64_t place) {
        std::fill_n(std::copy_n(sides_ + place, count_, row), SIDES - count_, 0.0);
    });
}

void Solution::give(const Run &run) const {
    each(run, [&](const double *row, std::int64_t place) { std::copy_n(row, count_, out_ + place); });
}

void Solution::up(std::int64_t subtree) {
    const Run &run = subtrees_[subtree];
    take(run);
    std::fill_n(stack(subtree), stack_size(), 0.0);
    kernels<double>().solve_up(plan_, factors_.numbers(), moved_.get(), stack(subtree), run.first, run.last);
}

void Solution::top() {
    double *own = stack(subtrees());
    std::fill_n(own, stack_size(), 0.0);
    std::int64_t subtree = 0;
    for (const Run &run : factors_.runs()) {
        if (run.top) {
            take(run);
            kernels<double>().solve_up(plan_, factors_.numbers(), moved_.get(), own, run.first, run.last);
        } else {
            const double *pending = stack(subtree++);
            for (std::int64_t j = 0; j < shared(run); ++j) own[j] += pending[j];
        }
    }
    for (auto run = factors_.runs().rbegin(); run != factors_.runs().rend(); ++run) {
        if (run->top) {
            kernels<double>().solve_down(plan_, factors_.numbers(), moved_.get(), own, run->first, run->last);
            give(*run);
        } else {
            std::copy_n(own, shared(*run), stack(--subtree));
        }
    }
}

void Solution::down(std::int64_t subtree) {
    const Run &run = subtrees_[subtree];
    kernels<double>().solve_down(plan_, factors_.numbers(), moved_.get(), stack(subtree), run.first, run.last);
    give(run);
}

}  // namespace mlcli
