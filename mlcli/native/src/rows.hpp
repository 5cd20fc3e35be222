// Products of rows with other rows, in sums that have the same bits at every instruction set.
#pragma once
#include <cstdint>

#include "products.hpp"

namespace mlcli::LEVEL {

constexpr int ACROSS = 3 * Lanes<double>::width;  // rows of the right side in a tile

// Columns [0, depth) of `count` rows, `wide` rows side by side; beyond the last row it stands again.
template <int wide>
INLINE void interleave(const double *rows, std::int64_t count, std::int64_t columns, std::int64_t depth, double *to) {
    for (std::int64_t low = 0; low < count; low += wide, to += wide * depth)
        for (int j = 0; j < wide; ++j) {
            const double *row = rows + smaller(low + j, count - 1) * columns;
            for (std::int64_t k = 0; k < depth; ++k) to[k * wide + j] = row[k];
        }
}

// Sums over `depth` of left[k][i] right[k][j] (HEIGHT x ACROSS), each product rounded, and the sum in the order of k.
INLINE void sum_tile(const double *left, const double *right, std::int64_t depth, double *out) {
    using L = Lanes<double>;
    typename L::V sums[HEIGHT][3], some[3];
    for (auto &row : sums)
        for (auto &sum : row) sum = L::fill(0);
    for (std::int64_t k = 0; k < depth; ++k, left += HEIGHT, right += ACROSS) {
        UNROLL for (int v = 0; v < 3; ++v) some[v] = L::load(right + v * L::width);
        UNROLL for (int i = 0; i < HEIGHT; ++i) {
            const typename L::V one = L::fill(left[i]);
            UNROLL for (int v = 0; v < 3; ++v) sums[i][v] = L::add(sums[i][v], L::multiply(one, some[v]));
        }
    }
    for (int i = 0; i < HEIGHT; ++i)
        for (int v = 0; v < 3; ++v) L::store(out + i * ACROSS + v * L::width, sums[i][v]);
}

// Numbers of scratch for `row_products`: PACKED columns of both sides, up to whole tiles.
static std::int64_t row_products_scratch(std::int64_t count, std::int64_t others) {
    return (count + HEIGHT + others + ACROSS) * PACKED;
}

// xᵀ y of rows x (count x columns) with rows y (others x columns), in `out`, whose rows are `stride` numbers apart: sums
// over PACKED columns, which are then added one after the other.
static void row_products(const double *left, std::int64_t count, const double *right, std::int64_t others,
                         std::int64_t columns, double *out, std::int64_t stride, double *scratch) {
    double *down = scratch, *across = scratch + (count + HEIGHT) * PACKED, tile[HEIGHT * ACROSS];
    std::int64_t start = 0;
    do {
        const std::int64_t depth = smaller(PACKED, columns - start);
        interleave<HEIGHT>(left + start, count, columns, depth, down);
        interleave<ACROSS>(right + start, others, columns, depth, across);
        for (std::int64_t j = 0; j < others; j += ACROSS)
            for (std::int64_t i = 0; i < count; i += HEIGHT) {
                sum_tile(down + i * depth, across + j * depth, depth, tile);
                const std::int64_t tall = smaller(HEIGHT, count - i), wide = smaller(ACROSS, others - j);
                for (std::int64_t r = 0; r < tall; ++r) {
                    double *to = out + (i + r) * stride + j;
                    const double *from = tile + r * ACROSS;
                    if (start == 0)
                        for (std::int64_t c = 0; c < wide; ++c) to[c] = from[c];
                    else
                        for (std::int64_t c = 0; c < wide; ++c) to[c] += from[c];
                }
            }
        start += PACKED;
    } while (start < columns);
}

}  // namespace mlcli::LEVEL
