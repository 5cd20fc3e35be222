// The sparse Cholesky factorization of a positive definite matrix, made task by task, and its solutions.
#include "cholesky.hpp"

#include <algorithm>

namespace mlcli {

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

void Cholesky::solve(const double *sides, int columns, double *out) const {
    const Plan plan = numbers_.symbolic().plan();
    const Buffer<double> moved(static_cast<std::int64_t>(plan.vertices) * SIDES);
    const Buffer<double> stack(static_cast<std::int64_t>(plan.depth) * SIDES);
    for (int first = 0; first < columns; first += SIDES) {
        const int count = std::min(SIDES, columns - first);
        auto each = [&](auto &&visit) {
            for (std::int64_t p = 0; p < plan.vertices; ++p)
                visit(moved.get() + p * SIDES, static_cast<std::int64_t>(plan.original[p]) * columns + first);
        };
        std::fill_n(stack.get(), static_cast<std::int64_t>(plan.depth) * SIDES, 0.0);
        each([&](double *row, std::int64_t place) { std::fill_n(std::copy_n(sides + place, count, row), SIDES - count, 0.0); });
        kernels<double>().solve(plan, numbers_.get(), moved.get(), stack.get());
        each([&](const double *row, std::int64_t place) { std::copy_n(row, count, out + place); });
    }
}

}  // namespace mlcli
