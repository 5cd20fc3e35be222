// What becomes of finished rows of distances: written out by source, or folded into products and sums.
#pragma once
#include "sweep.hpp"
#include "turn.hpp"

namespace mlcli::LEVEL {

// Keeps every row (positions x LANES) until the block is done.
template <class T, int LANES> struct Keep {
    T *rows;
    void operator()(const Node &node, const T *finished) const {
        for (int r = 0; r < node.rows; ++r)
            std::memcpy(rows + static_cast<std::int64_t>(node.top - r) * LANES, finished + r * LANES, LANES * sizeof(T));
    }
};

// product[j][lane] += sum over rows of squared[row][lane] q[row][j]; J columns of q at once.
template <int J, int LANES>
INLINE void multiply(const double *squared, const double *const *q, int rows, int j, double *product) {
    using L = Lanes<double>;
    constexpr int strip = VECTORS * L::width;
    for (int lane = 0; lane < LANES; lane += strip) {
        L::V sum[J][VECTORS];
        UNROLL for (int c = 0; c < J; ++c)
            UNROLL for (int n = 0; n < VECTORS; ++n) sum[c][n] = L::load(product + (j + c) * LANES + lane + n * L::width);
        for (int r = 0; r < rows; ++r) {
            L::V row[VECTORS];
            UNROLL for (int n = 0; n < VECTORS; ++n) row[n] = L::load(squared + r * LANES + lane + n * L::width);
            UNROLL for (int c = 0; c < J; ++c) {
                const L::V factor = L::fill(q[r][j + c]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[c][n] = L::fma(row[n], factor, sum[c][n]);
            }
        }
        UNROLL for (int c = 0; c < J; ++c)
            UNROLL for (int n = 0; n < VECTORS; ++n) L::store(product + (j + c) * LANES + lane + n * L::width, sum[c][n]);
    }
}

// Squares of the rows, folded into the product with q and into sums, a batch of rows at a time; where `kept` is
// not null, the rows (positions x LANES) are kept there for a later pass.
template <class T, int LANES> struct Fold {
    static constexpr int BATCH = 32;
    const Plan &plan;
    const double *q;  // vertices x columns
    int columns;
    double *product, *squares, *fourths;  // columns x LANES, LANES, LANES
    T *kept;
    int rows = 0;
    const double *factors[BATCH];
    alignas(64) double squared[BATCH * LANES];

    void operator()(const Node &node, const T *finished) {
        if (kept) Keep<T, LANES>{kept}(node, finished);
        for (int r = 0; r < node.rows; ++r) take(node.top - r, finished + r * LANES);
    }
    void take(int position, const T *row) {
        if (rows == BATCH) flush();
        factors[rows] = q + static_cast<std::int64_t>(plan.original[position]) * columns;
        square(row, squared + rows * LANES);
        ++rows;
    }
    void square(const T *__restrict row, double *__restrict out) const {
        double *__restrict second = squares, *__restrict fourth = fourths;
        for (int lane = 0; lane < LANES; ++lane) {
            const double x = static_cast<double>(row[lane]), xx = x * x;
            out[lane] = xx;
            second[lane] += xx;
            fourth[lane] += xx * xx;
        }
    }
    void flush() {
        int j = 0;
        for (; j + 4 <= columns; j += 4) multiply<4, LANES>(squared, factors, rows, j, product);
        for (; j < columns; ++j) multiply<1, LANES>(squared, factors, rows, j, product);
        rows = 0;
    }
};

}  // namespace mlcli::LEVEL
