// Sums over columns of what two rows differ by, for all pairs of a row on the left with one on the right.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

using Row = Lanes<double>;
constexpr int TALL = 4;     // rows on the left that share what is loaded of those on the right
constexpr int GROUP = 128;  // rows on the left for which rows on the right are packed once
constexpr int DEPTH = 256;  // columns in a partial sum: as many fit the cache, and long sums keep their digits

INLINE Row::V less_size(Row::V a, Row::V b) { return Row::min(Row::subtract(a, b), Row::subtract(b, a)); }  // -|a - b|

// Each says what a pair of numbers adds to two sums, how partial sums are joined, and what the sums make. Swapping the
// numbers changes no bit.
struct Squared {
    INLINE void take(Row::V a, Row::V b, Row::V &sum, Row::V &) {
        const Row::V gap = Row::subtract(a, b);
        sum = Row::add(sum, Row::multiply(gap, gap));
    }
    INLINE double join(double a, double b) { return a + b; }
    INLINE double finish(double sum, double) { return sum; }
};

struct Cityblock : Squared {
    INLINE void take(Row::V a, Row::V b, Row::V &sum, Row::V &) { sum = Row::subtract(sum, less_size(a, b)); }
};

struct Chebyshev {
    INLINE void take(Row::V a, Row::V b, Row::V &least, Row::V &) { least = Row::min(least, less_size(a, b)); }
    INLINE double join(double a, double b) { return a < b ? a : b; }
    INLINE double finish(double least, double) { return least < 0 ? -least : 0.0; }
};

struct Canberra : Squared {
    INLINE void take(Row::V a, Row::V b, Row::V &sum, Row::V &) {
        const Row::V none = Row::fill(0), size = Row::add(less_size(a, none), less_size(b, none));
        sum = Row::add(sum, less_size(a, b) / Row::min(size, Row::fill(-__DBL_MIN__)));  // 0 where both are zero
    }
};

struct BrayCurtis : Squared {
    INLINE void take(Row::V a, Row::V b, Row::V &gaps, Row::V &sums) {
        gaps = Row::subtract(gaps, less_size(a, b));
        sums = Row::add(sums, Row::add(a, b));
    }
    INLINE double finish(double gaps, double sums) { return gaps > 0 ? gaps / sums : 0.0; }
};

struct Ruzicka : BrayCurtis {
    INLINE double finish(double gaps, double sums) { return gaps > 0 ? 2 * gaps / (gaps + sums) : 0.0; }
};

// Sums of TALL rows with the packed rows, over some columns, joined to those before.
template <class Pair>
static void add_columns(const double *const *left, const double *packed, std::int64_t columns, double *const *sums) {
    Row::V first[TALL], second[TALL];
    for (int r = 0; r < TALL; ++r) first[r] = second[r] = Row::fill(0);
    for (std::int64_t k = 0; k < columns; ++k) {
        const Row::V b = Row::load(packed + k * Row::width);
        for (int r = 0; r < TALL; ++r) Pair::take(Row::fill(left[r][k]), b, first[r], second[r]);
    }
    double part[2 * Row::width];
    for (int r = 0; r < TALL; ++r) {
        Row::store(part, first[r]);
        Row::store(part + Row::width, second[r]);
        for (int j = 0; j < 2 * Row::width; ++j) sums[r][j] = Pair::join(sums[r][j], part[j]);
    }
}

// Up to GROUP rows on the left with up to Row::width on the right.
template <class Pair>
static void strip(const double *left, std::int64_t rows, const double *const *right, int others, std::int64_t columns,
                  double *out, std::int64_t width) {
    double packed[DEPTH * Row::width], sums[GROUP][2 * Row::width] = {}, spare[2 * Row::width] = {};
    for (std::int64_t low = 0; low < columns; low += DEPTH) {
        const std::int64_t count = columns - low < DEPTH ? columns - low : DEPTH;
        for (int j = 0; j < Row::width; ++j) {  // beyond the last row it stands again
            const double *row = right[j < others ? j : others - 1] + low;
            for (std::int64_t k = 0; k < count; ++k) packed[k * Row::width + j] = row[k];
        }
        for (std::int64_t i = 0; i < rows; i += TALL) {
            const double *from[TALL];
            double *to[TALL];
            for (int r = 0; r < TALL; ++r) {
                const bool there = i + r < rows;
                from[r] = left + (there ? i + r : rows - 1) * columns + low;
                to[r] = there ? sums[i + r] : spare;
            }
            add_columns<Pair>(from, packed, count, to);
        }
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (int j = 0; j < others; ++j) out[i * width + j] = Pair::finish(sums[i][j], sums[i][j + Row::width]);
}

template <class Pair>
static void differences(const double *left, std::int64_t rows, const double *right, std::int64_t others,
                        std::int64_t columns, double *out) {
    const double *some[Row::width];
    for (std::int64_t j = 0; j < others; j += Row::width) {
        const int count = others - j < Row::width ? static_cast<int>(others - j) : Row::width;
        for (int k = 0; k < count; ++k) some[k] = right + (j + k) * columns;
        for (std::int64_t i = 0; i < rows; i += GROUP)
            strip<Pair>(left + i * columns, rows - i < GROUP ? rows - i : GROUP, some, count, columns,
                        out + i * others + j, others);
    }
}

// Squared distances from one point to some of others: the same bits as among all pairs.
static void squared_at(const double *point, const double *points, std::int64_t columns, const std::int64_t *chosen,
                       std::int64_t size, double *out) {
    const double *some[Row::width];
    for (std::int64_t j = 0; j < size; j += Row::width) {
        const int count = size - j < Row::width ? static_cast<int>(size - j) : Row::width;
        for (int k = 0; k < count; ++k) some[k] = points + chosen[j + k] * columns;
        strip<Squared>(point, 1, some, count, columns, out + j, size);
    }
}

}  // namespace mlcli::LEVEL
