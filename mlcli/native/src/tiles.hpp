// Register-tiled products over the two semirings that elimination knows: (min, +) for paths, (-, x) for factors.
#pragma once
#include <type_traits>

#include "lanes.hpp"

namespace mlcli::LEVEL {

// Calls a tile's code with its number of rows, four at most, as a constant.
template <class Tile> INLINE void with_rows(int count, const Tile &tile) {
    if (count >= 4) tile(std::integral_constant<int, 4>());
    else if (count == 3) tile(std::integral_constant<int, 3>());
    else if (count == 2) tile(std::integral_constant<int, 2>());
    else tile(std::integral_constant<int, 1>());
}

// c = min(c, a + b), of lengths.
struct MinPlus {
    template <class T> INLINE T nothing() { return static_cast<T>(__builtin_inff()); }
    template <class L> INLINE typename L::V take(typename L::V c, typename L::V a, typename L::V b) {
        return shorter<L>(c, a, b);
    }
    template <class T> INLINE T joined(T value, T found) { return found < value ? found : value; }
};

// c = c - a b, of the entries of a matrix.
struct MinusTimes {
    template <class T> INLINE T nothing() { return 0; }
    template <class L> INLINE typename L::V take(typename L::V c, typename L::V a, typename L::V b) {
        return L::less(c, a, b);
    }
    template <class T> INLINE T joined(T value, T found) { return value + found; }
};

// c[r][0 .. N vectors) takes a[v][r] with b[v][...] for all v < depth; R rows, a packed by rows of R.
template <class Ring, class T, int R, int N>
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
            UNROLL for (int n = 0; n < N; ++n) sum[r][n] = Ring::template take<L>(sum[r][n], length, row[n]);
        }
    }
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) L::store(c[r] + column + n * L::width, sum[r][n]);
}

// The same for the last columns, fewer than a vector.
template <class Ring, class T, int R>
INLINE void update_rest(T *const *c, std::int64_t column, const T *a, const T *b, std::int64_t stride, int depth,
                        int count) {
    using L = Lanes<T>;
    typename L::V sum[R];
    UNROLL for (int r = 0; r < R; ++r) sum[r] = load_some(c[r] + column, count);
    for (int v = 0; v < depth; ++v, a += R, b += stride) {
        const typename L::V row = load_some(b + column, count);
        UNROLL for (int r = 0; r < R; ++r) sum[r] = Ring::template take<L>(sum[r], L::fill(a[r]), row);
    }
    UNROLL for (int r = 0; r < R; ++r) store_some(c[r] + column, sum[r], count);
}

// Vectors side by side in a tile. Where registers are few a product takes three: their sums, these and a number fill 16;
// a shortest way needs one more for what is compared.
template <class Ring> constexpr int ABREAST_OF = VECTORS;
template <> constexpr int ABREAST_OF<MinusTimes> = VECTORS == 2 ? 3 : VECTORS;

template <class Ring, class T, int R>
INLINE void update_rows(T *const *c, const T *a, const T *b, std::int64_t stride, int depth, std::int64_t low,
                        std::int64_t high) {
    constexpr int many = ABREAST_OF<Ring>, width = Lanes<T>::width, strip = many * width;
    std::int64_t column = low;
    for (; column + strip <= high; column += strip) update_tile<Ring, T, R, many>(c, column, a, b, stride, depth);
    for (; column + width <= high; column += width) update_tile<Ring, T, R, 1>(c, column, a, b, stride, depth);
    if (column < high) update_rest<Ring, T, R>(c, column, a, b, stride, depth, static_cast<int>(high - column));
}

// Rows c[0 .. rows) over columns [low, high) of c and b alike; a in packs of four rows, then the rest (see pack).
template <class Ring, class T>
static void update(T *const *c, int rows, const T *a, const T *b, std::int64_t stride, int depth, std::int64_t low,
                   std::int64_t high) {
    int r = 0;
    for (; r + 4 <= rows; r += 4, a += 4 * depth) update_rows<Ring, T, 4>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 3) update_rows<Ring, T, 3>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 2) update_rows<Ring, T, 2>(c + r, a, b, stride, depth, low, high);
    if (rows - r == 1) update_rows<Ring, T, 1>(c + r, a, b, stride, depth, low, high);
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
