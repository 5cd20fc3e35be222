// Register-tiled products over the (min, +) semiring.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

#define UNROLL _Pragma("GCC unroll 8")

// c[r][0 .. N vectors) = min(itself, a[v][r] + b[v][...]) over v < depth; R rows, a packed by rows of R.
template <class T, int R, int N>
INLINE void update_tile(T *const *c, std::int64_t column, const T *a, const T *b, std::int64_t stride, int depth) {
    using L = Lanes<T>;
    typename L::V sum[R][N];
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) sum[r][n] = L::load(c[r] + column + n * L::width);
    for (int v = 0; v < depth; ++v, a += R, b += stride) {
        typename L::V row[N];
        UNROLL for (int n = 0; n < N; ++n) row[n] = L::load(b + column + n * L::width);
        UNROLL for (int r = 0; r < R; ++r) {
            const typename L::V length = L::fill(a[r]);
            UNROLL for (int n = 0; n < N; ++n) sum[r][n] = L::min(sum[r][n], L::add(length, row[n]));
        }
    }
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) L::store(c[r] + column + n * L::width, sum[r][n]);
}

// The same for the last columns, fewer than a vector.
template <class T, int R>
INLINE void update_rest(T *const *c, std::int64_t column, const T *a, const T *b, std::int64_t stride, int depth,
                        int count) {
    using L = Lanes<T>;
    typename L::V sum[R];
    UNROLL for (int r = 0; r < R; ++r) sum[r] = load_some(c[r] + column, count);
    for (int v = 0; v < depth; ++v, a += R, b += stride) {
        const typename L::V row = load_some(b + column, count);
        UNROLL for (int r = 0; r < R; ++r) sum[r] = L::min(sum[r], L::add(L::fill(a[r]), row));
    }
    UNROLL for (int r = 0; r < R; ++r) store_some(c[r] + column, sum[r], count);
}

template <class T, int R>
INLINE void update_rows(T *const *c, const T *a, const T *b, std::int64_t stride, int depth, std::int64_t low,
                        std::int64_t high) {
    constexpr int width = Lanes<T>::width, strip = VECTORS * width;
    std::int64_t column = low;
    for (; column + strip <= high; column += strip) update_tile<T, R, VECTORS>(c, column, a, b, stride, depth);
    for (; column + width <= high; column += width) update_tile<T, R, 1>(c, column, a, b, stride, depth);
    if (column < high) update_rest<T, R>(c, column, a, b, stride, depth, static_cast<int>(high - column));
}

// Rows c[0 .. rows) over columns [low, high) of c and b alike; a in packs of four rows, then the rest (see pack).
template <class T>
static void update(T *const *c, int rows, const T *a, const T *b, std::int64_t stride, int depth, std::int64_t low,
                   std::int64_t high) {
    int r = 0;
    for (; r + 4 <= rows; r += 4, a += 4 * depth) update_rows<T, 4>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 3) update_rows<T, 3>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 2) update_rows<T, 2>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 1) update_rows<T, 1>(c + r, a, b, stride, depth, low, high);
}

// Packs of four columns of a (depth x columns), depth-major; the last pack holds what is left.
template <class T> static void pack(const T *a, std::int64_t stride, int depth, int columns, T *out) {
    for (int first = 0; first < columns; first += 4) {
        const int count = columns - first < 4 ? columns - first : 4;
        for (int v = 0; v < depth; ++v)
            for (int r = 0; r < count; ++r) *out++ = a[v * stride + first + r];
    }
}

}  // namespace mlcli::LEVEL
