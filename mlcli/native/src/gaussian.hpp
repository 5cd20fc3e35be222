// Products of vectors with a tile of a Gaussian kernel, for its rows and its columns; the values never leave the cache.
#pragma once
#include "elementary.hpp"
#include "tiles.hpp"

namespace mlcli::LEVEL {

constexpr int STRIPE = 32;                     // rows of values that are held at once
constexpr int ABREAST = VECTORS == 4 ? 8 : 4;  // rows of sums that share what is loaded
template <class T> constexpr int SLOT = 64 / sizeof(T);  // numbers of a cache line: rows of vectors fill whole ones

// Rows of `to` numbers from rows of `from`, each filled up with zeros.
template <class T> static void fill_up(const T *values, std::int64_t rows, int from, int to, T *out) {
    for (std::int64_t i = 0; i < rows; ++i, values += from, out += to)
        for (int k = 0; k < to; ++k) out[k] = k < from ? values[k] : 0;
}

// R rows of sums over N vectors: out[r] takes a[v * down + r * across] times b[v] for all v < depth.
template <class T, int R, int N>
INLINE void multiply_rows(T *out, const T *a, std::int64_t down, std::int64_t across, const T *b, std::int64_t depth,
                          int width) {
    using L = Lanes<T>;
    typename L::V sum[R][N];
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) sum[r][n] = L::load(out + r * width + n * L::width);
    for (std::int64_t v = 0; v < depth; ++v, a += down, b += width) {
        typename L::V row[N];
        UNROLL for (int n = 0; n < N; ++n) row[n] = L::load(b + n * L::width);
        UNROLL for (int r = 0; r < R; ++r) {
            const typename L::V value = L::fill(a[r * across]);
            UNROLL for (int n = 0; n < N; ++n) sum[r][n] = L::fma(value, row[n], sum[r][n]);
        }
    }
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) L::store(out + r * width + n * L::width, sum[r][n]);
}

// The same for `rows` rows, a multiple of ABREAST, of `width` numbers, a multiple of a slot.
template <class T>
static void multiply(T *out, std::int64_t rows, const T *a, std::int64_t down, std::int64_t across, const T *b,
                     std::int64_t depth, int width) {
    constexpr int lane = Lanes<T>::width;
    for (std::int64_t r = 0; r < rows; r += ABREAST) {
        int n = 0;
        for (; n + 2 * lane <= width; n += 2 * lane)
            multiply_rows<T, ABREAST, 2>(out + r * width + n, a + r * across, down, across, b + n, depth, width);
        if (n < width)
            multiply_rows<T, ABREAST, 1>(out + r * width + n, a + r * across, down, across, b + n, depth, width);
    }
}

// Places of a tile's arrays in one piece of memory. Rows of values end on a whole slot, and a further one keeps rows below
// each other out of the same sets of the cache.
template <class T> struct GaussianTile {
    std::int64_t rows, columns, filled, deep, padded;
    int parts, wide;
    std::int64_t right, values, left, column_vectors, row_vectors, across, down, size;

    GaussianTile(std::int64_t rows_, std::int64_t columns_, int parts_, int width)
        : rows(rows_), columns(columns_), filled((columns + SLOT<T> - 1) / SLOT<T> * SLOT<T>), deep(filled + SLOT<T>),
          padded((rows + STRIPE - 1) / STRIPE * STRIPE), parts(parts_), wide((width + SLOT<T> - 1) / SLOT<T> * SLOT<T>),
          right(0), values(deep * parts), left(values + STRIPE * deep), column_vectors(left + STRIPE * parts),
          row_vectors(column_vectors + wide * filled), across(row_vectors + wide * padded), down(across + wide * padded),
          size(down + wide * filled) {}
};

template <class T> static std::int64_t gaussian_scratch(std::int64_t rows, std::int64_t columns, int parts, int width) {
    return GaussianTile<T>(rows, columns, parts, width).size;
}

// Values of `count` rows from `first` on, zero beyond the last column and the last row; returns the sum of their squares.
template <class T>
static double gaussian_rows(const GaussianTile<T> &tile, const T *left, std::int64_t first, int count, T *scratch) {
    using L = Lanes<T>;
    constexpr int step = ABREAST_OF<MinusTimes> * L::width;  // columns whose factors stay in the nearest cache
    T *row[STRIPE], *packed = scratch + tile.left, *next = packed;
    for (int r = 0; r < STRIPE; ++r) row[r] = scratch + tile.values + r * tile.deep;
    for (std::int64_t k = 0; k < STRIPE * tile.deep; ++k) row[0][k] = 0;
    for (int r = 0; r < count; r += 4)
        for (int k = 0; k < tile.parts; ++k)
            for (int s = r; s < count && s < r + 4; ++s) *next++ = -left[(first + s) * tile.parts + k];
    for (std::int64_t low = 0; low < tile.filled; low += step)
        update<MinusTimes>(row, count, packed, scratch + tile.right, tile.deep, tile.parts, low,
                           low + step < tile.filled ? low + step : tile.filled);
    const typename L::V zero = L::fill(0), most = L::fill(sizeof(T) == 4 ? 87 : 708);
    double squares = 0;
    for (int r = 0; r < count; ++r) {
        for (std::int64_t j = 0; j < tile.filled; j += L::width) {  // a minimum with a number that is none is its second
            const typename L::V power = L::min(zero, L::load(row[r] + j));
            L::store(row[r] + j, L::subtract(zero, L::min(most, L::subtract(zero, power))));
        }
        for (std::int64_t j = 0; j < tile.filled; ++j) row[r][j] = fused_exponential(row[r][j]);
        for (std::int64_t j = tile.columns; j < tile.filled; ++j) row[r][j] = 0;
    }
    for (int low = 0; low < count; low += 4) {  // rows beyond the last are zero
        Line<T> square[4];  // no row waits for another
        for (auto &some : square) some = fill_line<T>(0);
        for (std::int64_t j = 0; j < tile.filled; j += Line<T>::size)
            UNROLL for (int r = 0; r < 4; ++r)
                UNROLL for (int p = 0; p < Line<T>::parts; ++p) {
                    const typename L::V value = L::load(row[low + r] + j + p * L::width);
                    square[r].part[p] = L::fma(value, value, square[r].part[p]);
                }
        for (const auto &some : square) squares += sum_of(some);
    }
    return squares;
}

// exp(min(⟨l, r⟩, 0)) of all rows l of `left` (rows x parts) and r of `right` (columns x parts), times vectors: those of the
// columns (columns x width) are added to out_rows (rows x width) and, unless they are null, those of the rows to
// out_columns. Returns the sum of squares of the values.
template <class T>
static double gaussian_tile(const T *left, std::int64_t rows, const T *right, std::int64_t columns, int parts,
                            const T *column_vectors, const T *row_vectors, int width, double *out_rows,
                            double *out_columns, T *scratch) {
    const GaussianTile<T> tile(rows, columns, parts, width);
    const std::int64_t wide = tile.wide;
    T *const values = scratch + tile.values, *const across = scratch + tile.across, *const down = scratch + tile.down;
    T *const q = scratch + tile.column_vectors, *const p = scratch + tile.row_vectors;
    for (int k = 0; k < parts; ++k)
        for (std::int64_t j = 0; j < tile.deep; ++j)
            scratch[tile.right + k * tile.deep + j] = j < columns ? right[j * parts + k] : 0;
    fill_up(column_vectors, columns, width, tile.wide, q);
    for (std::int64_t k = wide * columns; k < wide * tile.filled; ++k) q[k] = 0;
    for (std::int64_t k = 0; k < wide * tile.padded; ++k) across[k] = 0;
    for (std::int64_t k = 0; k < wide * tile.filled; ++k) down[k] = 0;
    if (row_vectors != nullptr) fill_up(row_vectors, rows, width, tile.wide, p);
    double squares = 0;
    for (std::int64_t first = 0; first < rows; first += STRIPE) {
        const int count = rows - first < STRIPE ? static_cast<int>(rows - first) : STRIPE;
        squares += gaussian_rows(tile, left, first, count, scratch);
        multiply(across + first * wide, STRIPE, values, 1, tile.deep, q, tile.filled, tile.wide);
        if (row_vectors != nullptr)
            multiply(down, tile.filled, values, tile.deep, 1, p + first * wide, count, tile.wide);
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (int k = 0; k < width; ++k) out_rows[i * width + k] += across[i * wide + k];
    for (std::int64_t j = 0; j < columns && row_vectors != nullptr; ++j)
        for (int k = 0; k < width; ++k) out_columns[j * width + k] += down[j * wide + k];
    return squares;
}

}  // namespace mlcli::LEVEL
