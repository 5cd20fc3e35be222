// Solving with a Cholesky factor: once up the elimination tree (L y = b), once down it (Lᵀ x = y).
#pragma once
#include "plan.hpp"
#include "tiles.hpp"

namespace mlcli::LEVEL {

// Right sides are SIDES numbers a row, in the order of elimination; a row of the stack belongs to a depth.
struct Solve {
    const Plan &plan;
    const double *values;
    double *sides;  // vertices x SIDES, solved in place
    double *stack;  // depth x SIDES: what is still to be added to ancestors, or what they became

    double *side(const Node &node, int row) const { return sides + static_cast<std::int64_t>(node.top - row) * SIDES; }
    double *at(std::uint32_t depth) const { return stack + static_cast<std::int64_t>(depth) * SIDES; }
};

using Row = Lanes<double>;
constexpr int WIDE = SIDES / Row::width;  // vectors of a row

// R rows, deepest first: what remains of their right sides is divided, then taken from those of their ancestors.
template <int R> INLINE void forward_tile(const Solve &s, const Node &node, int first) {
    const std::int64_t width = node.width;
    const double *w = s.values + node.values + first * width;
    const std::uint32_t *list = s.plan.lists + node.list;
    Row::V own[R][WIDE];
    for (int r = R - 1; r >= 0; --r) {
        double *side = s.side(node, first + r), *pending = s.at(node.base + first + r);
        UNROLL for (int n = 0; n < WIDE; ++n) {
            Row::V sum = Row::add(Row::load(side + n * Row::width), Row::load(pending + n * Row::width));
            Row::store(pending + n * Row::width, Row::fill(0));
            for (int v = r + 1; v < R; ++v) sum = Row::less(sum, Row::fill(w[v * width + node.ups + first + r]), own[v][n]);
            own[r][n] = Row::multiply(sum, Row::fill(1 / w[r * width + node.ups + first + r]));
            Row::store(side + n * Row::width, own[r][n]);
        }
    }
    for (int j = 0; j < node.ups + first; ++j) {
        double *row = s.at(list[j]);
        UNROLL for (int n = 0; n < WIDE; ++n) {
            Row::V sum = Row::load(row + n * Row::width);
            UNROLL for (int r = 0; r < R; ++r) sum = Row::less(sum, Row::fill(w[r * width + j]), own[r][n]);
            Row::store(row + n * Row::width, sum);
        }
    }
}

// R rows, shallowest first, from the solutions of their ancestors.
template <int R> INLINE void backward_tile(const Solve &s, const Node &node, int first) {
    const std::int64_t width = node.width;
    const double *w = s.values + node.values + first * width;
    const std::uint32_t *list = s.plan.lists + node.list;
    Row::V own[R][WIDE];
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < WIDE; ++n)
            own[r][n] = Row::load(s.side(node, first + r) + n * Row::width);
    for (int j = 0; j < node.ups + first; ++j) {
        const double *row = s.at(list[j]);
        UNROLL for (int n = 0; n < WIDE; ++n) {
            const Row::V known = Row::load(row + n * Row::width);
            UNROLL for (int r = 0; r < R; ++r) own[r][n] = Row::less(own[r][n], Row::fill(w[r * width + j]), known);
        }
    }
    for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < WIDE; ++n) {
            for (int v = 0; v < r; ++v) own[r][n] = Row::less(own[r][n], Row::fill(w[r * width + node.ups + first + v]), own[v][n]);
            own[r][n] = Row::multiply(own[r][n], Row::fill(1 / w[r * width + node.ups + first + r]));
            Row::store(s.side(node, first + r) + n * Row::width, own[r][n]);
            Row::store(s.at(node.base + first + r) + n * Row::width, own[r][n]);
        }
}

// Nodes [first, last] up the tree, deepest first.
static void solve_up(const Plan &plan, const double *values, double *sides, double *stack, int first, int last) {
    const Solve s{plan, values, sides, stack};
    for (int i = first; i <= last; ++i) {
        const Node &node = plan.node[i];
        for (int row = (node.rows - 1) / 4 * 4; row >= 0; row -= 4)
            with_rows(node.rows - row, [&](auto rows) { forward_tile<rows.value>(s, node, row); });
    }
}

// Nodes [first, last] down the tree, from the solutions of their ancestors in the stack.
static void solve_down(const Plan &plan, const double *values, double *sides, double *stack, int first, int last) {
    const Solve s{plan, values, sides, stack};
    for (int i = last; i >= first; --i) {
        const Node &node = plan.node[i];
        for (int row = 0; row < node.rows; row += 4)
            with_rows(node.rows - row, [&](auto rows) { backward_tile<rows.value>(s, node, row); });
    }
}

}  // namespace mlcli::LEVEL
