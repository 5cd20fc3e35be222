// Distances of rows of amounts by what two rows share, for all pairs of a row on the left with one on the right.
//
// Numbers are zero or more, so that a zero adds nothing to what is shared: rows on the left are lists of the others, and
// the sums have the bits of those over all columns.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

using Amount = Lanes<double>;
constexpr int ABUT = 4 * Amount::width;  // rows on the right whose sums stay in registers
constexpr int LISTED = 256;              // rows on the left that are listed at once, for which others are packed once
constexpr int SPAN = 128;                // columns in a partial sum: as many of ABUT rows fit the nearest cache

// Both are one less the share of what two rows have in common, by their sums and the sum of the lesser numbers.
struct BrayCurtisShare {
    INLINE double finish(double shared, double own, double other) { return 1 - 2 * shared / (own + other); }
};

struct RuzickaShare {
    INLINE double finish(double shared, double own, double other) { return 1 - shared / (own + other - shared); }
};

static std::int64_t amount_scratch(std::int64_t rows, std::int64_t others) {
    return LISTED * SPAN + LISTED * SPAN / 2 + SPAN * ABUT + rows + others;
}

// Distances (rows x others) of rows without a negative number and with one above zero: zero for equal rows, and the same
// bits for swapped ones.
template <class Share>
static void amount_distances(const double *left, std::int64_t rows, const double *right, std::int64_t others, std::int64_t columns,
                   double *out, double *scratch) {
    double *const values = scratch, *const packed = values + LISTED * SPAN, *const own = packed + SPAN * ABUT;
    double *const other = own + rows;
    auto *const places = reinterpret_cast<std::int32_t *>(other + others);
    for (std::int64_t k = 0; k < rows * others; ++k) out[k] = 0;
    for (std::int64_t i = 0; i < rows; ++i) own[i] = 0;
    for (std::int64_t j = 0; j < others; ++j) other[j] = 0;
    for (std::int64_t low = 0; low < columns; low += SPAN) {
        const std::int64_t wide = columns - low < SPAN ? columns - low : SPAN;
        for (std::int64_t first = 0; first < rows; first += LISTED) {
            const std::int64_t count = rows - first < LISTED ? rows - first : LISTED;
            std::int64_t ends[LISTED + 1] = {};
            for (std::int64_t i = 0; i < count; ++i) {
                const double *row = left + (first + i) * columns + low;
                std::int64_t next = ends[i];
                double sum = 0;
                for (std::int64_t k = 0; k < wide; ++k) {
                    values[next] = row[k];
                    places[next] = static_cast<std::int32_t>(k * ABUT);
                    next += row[k] != 0;
                    sum += row[k];
                }
                ends[i + 1] = next;
                own[first + i] += sum;
            }
            for (std::int64_t j = 0; j < others; j += ABUT) {
                const int there = others - j < ABUT ? static_cast<int>(others - j) : ABUT;
                for (int r = 0; r < ABUT; ++r) {
                    const double *row = right + (j + (r < there ? r : 0)) * columns + low;  // beyond the last, the first
                    for (std::int64_t k = 0; k < wide; ++k) packed[k * ABUT + r] = row[k];
                }
                for (int r = 0; r < there && first == 0; ++r) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < wide; ++k) sum += packed[k * ABUT + r];
                    other[j + r] += sum;
                }
                for (std::int64_t i = 0; i < count; ++i) {
                    Amount::V sum[4];
                    UNROLL for (auto &some : sum) some = Amount::fill(0);
                    for (std::int64_t e = ends[i]; e < ends[i + 1]; ++e) {
                        const Amount::V value = Amount::fill(values[e]);
                        const double *const b = packed + places[e];
                        UNROLL for (int n = 0; n < 4; ++n)
                            sum[n] = Amount::add(sum[n], Amount::min(value, Amount::load(b + n * Amount::width)));
                    }
                    double part[ABUT], *to = out + (first + i) * others + j;
                    UNROLL for (int n = 0; n < 4; ++n) Amount::store(part + n * Amount::width, sum[n]);
                    for (int r = 0; r < there; ++r) to[r] += part[r];
                }
            }
        }
    }
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < others; ++j) {
            const double length = Share::finish(out[i * others + j], own[i], other[j]);
            out[i * others + j] = length > 0 ? length : 0.0;  // of two rows without amounts as well
        }
}

}  // namespace mlcli::LEVEL
