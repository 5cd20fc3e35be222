// Products of rows with other rows where registers are few (SSE2, AVX2): both sides are packed in the order in which
// tiles read them. A sum is taken in the order of the columns, so that its bits do not depend on the tiles.
#pragma once
#include <cstdint>

#include "lanes.hpp"

namespace mlcli::LEVEL {

#if defined(__SSE2__) && !defined(__AVX512F__)
#define MLCLI_PACKED

constexpr int TILE_ROWS = 6;  // rows of a tile: 12 sums, two vectors of the right side and one number fill 16 registers
constexpr std::int64_t PACKED_COLUMNS = 256;     // columns that are packed together: a panel stays in the first cache
constexpr std::int64_t PACKED_ROWS = 96;   // rows of the left side that are packed together: they stay in the second
template <class T> constexpr int TILE_COLUMNS = 2 * Lanes<T>::width;

// Rows of single precision.
struct Singles {
    using T = float;
    const float *rows;
    std::int64_t columns;

    template <int wide> INLINE void put(const float *const *row, std::int64_t column, float *to) {
#pragma GCC unroll 16
        for (int i = 0; i < wide; ++i) to[i] = row[i][column];
    }
    static constexpr int parts = 1;  // packed numbers of a column
};

// Rows of words of four bytes. A word becomes two of two 16-bit numbers, of its even and its odd bytes.
template <std::uint32_t turned> struct Words {
    using T = std::int32_t;
    const std::int32_t *rows;
    std::int64_t columns;

    template <int wide> INLINE void put(const std::int32_t *const *row, std::int64_t column, std::int32_t *to) {
#pragma GCC unroll 16
        for (int i = 0; i < wide; ++i) {
            const std::uint32_t word = static_cast<std::uint32_t>(row[i][column]) ^ turned;
            to[i] = static_cast<std::int32_t>(word & 0x00ff00ffu);
            to[wide + i] = static_cast<std::int32_t>((word >> 8) & 0x00ff00ffu);
        }
    }
    static constexpr int parts = 2;
};

// Columns [start, start + depth) of `count` rows from `first` on, `wide` rows side by side and zeros for those that lack.
template <int wide, class Rows>
INLINE void pack_rows(const Rows &rows, std::int64_t first, std::int64_t count, std::int64_t start, std::int64_t depth,
                      typename Rows::T *to) {
    using T = typename Rows::T;
    static const T nothing[PACKED_COLUMNS] = {};
    for (std::int64_t low = 0; low < count; low += wide) {
        const T *row[wide];
        for (int i = 0; i < wide; ++i)
            row[i] = low + i < count ? rows.rows + (first + low + i) * rows.columns + start : nothing;
        for (std::int64_t k = 0; k < depth; ++k, to += Rows::parts * wide) Rows::template put<wide>(row, k, to);
    }
}

// Sums of a tile over `depth` packed columns, which go on from `out` or from zero; `finish` has the last word.
template <class T, class Finish>
INLINE void register_tile(const T *left, const T *right, std::int64_t depth, bool begun, T *out, std::int64_t stride,
                        const Finish &finish) {
    using L = Lanes<T>;
    typename L::V sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (int i = 0; i < TILE_ROWS; ++i) {
        sums[i][0] = begun ? L::load(out + i * stride) : L::fill(0);
        sums[i][1] = begun ? L::load(out + i * stride + L::width) : L::fill(0);
    }
    for (std::int64_t k = 0; k < depth; ++k, left += TILE_ROWS, right += TILE_COLUMNS<T>) {
        const typename L::V one = L::load(right), other = L::load(right + L::width);
#pragma GCC unroll 6
        for (int i = 0; i < TILE_ROWS; ++i) {
            const typename L::V some = L::fill(left[i]);
            sums[i][0] = L::fma(some, one, sums[i][0]);
            sums[i][1] = L::fma(some, other, sums[i][1]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < TILE_ROWS; ++i) {
        L::store(out + i * stride, finish(sums[i][0]));
        L::store(out + i * stride + L::width, finish(sums[i][1]));
    }
}

// The same of a tile of which only some rows and columns are there.
template <class T, class Finish>
static void packed_edge(const T *left, const T *right, std::int64_t depth, bool begun, T *out, std::int64_t stride,
                        std::int64_t rows, std::int64_t columns, const Finish &finish) {
    T room[TILE_ROWS * TILE_COLUMNS<T>] = {};
    for (std::int64_t i = 0; i < rows && begun; ++i)
        for (std::int64_t j = 0; j < columns; ++j) room[i * TILE_COLUMNS<T> + j] = out[i * stride + j];
    register_tile(left, right, depth, true, room, TILE_COLUMNS<T>, finish);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) out[i * stride + j] = room[i * TILE_COLUMNS<T> + j];
}

// Numbers of scratch for `packed_products`: some columns of the right side, and of some rows of the left.
template <class Rows> INLINE std::int64_t packed_scratch(std::int64_t others) {
    return (others + TILE_COLUMNS<typename Rows::T> + PACKED_ROWS) * PACKED_COLUMNS * Rows::parts;
}

// xᵀ y of `count` rows x with `others` rows y, in `out` (count x others); `finish` is applied to the whole sums.
template <class Left, class Right, class Finish>
INLINE void packed_products(const Left &left, std::int64_t count, const Right &right, std::int64_t others,
                            typename Left::T *out, typename Left::T *scratch, const Finish &finish) {
    using T = typename Left::T;
    const auto keep = [](typename Lanes<T>::V sum) __attribute__((always_inline)) { return sum; };
    T *const across = scratch, *const down = scratch + (others + TILE_COLUMNS<T>) * PACKED_COLUMNS * Left::parts;
    std::int64_t start = 0;
    do {
        const std::int64_t depth = left.columns - start < PACKED_COLUMNS ? left.columns - start : PACKED_COLUMNS, deep = depth * Left::parts;
        const bool last = start + depth == left.columns;
        pack_rows<TILE_COLUMNS<T>>(right, 0, others, start, depth, across);
        for (std::int64_t low = 0; low < count; low += PACKED_ROWS) {
            const std::int64_t some = count - low < PACKED_ROWS ? count - low : PACKED_ROWS;
            pack_rows<TILE_ROWS>(left, low, some, start, depth, down);
            for (std::int64_t j = 0; j < others; j += TILE_COLUMNS<T>)
                for (std::int64_t i = 0; i < some; i += TILE_ROWS) {
                    const T *rows = down + i * deep, *panel = across + j * deep;
                    T *const to = out + (low + i) * others + j;
                    const std::int64_t tall = some - i, wide = others - j;
                    const auto work = [&](const auto &end) __attribute__((always_inline)) {
                        if (tall < TILE_ROWS || wide < TILE_COLUMNS<T>)
                            packed_edge(rows, panel, deep, start > 0, to, others, tall < TILE_ROWS ? tall : TILE_ROWS,
                                        wide < TILE_COLUMNS<T> ? wide : TILE_COLUMNS<T>, end);
                        else
                            register_tile(rows, panel, deep, start > 0, to, others, end);
                    };
                    if (last) work(finish);
                    else work(keep);
                }
        }
        start += PACKED_COLUMNS;
    } while (start < left.columns);
}

#endif

}  // namespace mlcli::LEVEL
