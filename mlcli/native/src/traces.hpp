// Products Z' K Z of a tile of a kernel with columns of a design, for many permutations of its rows.
//
// Each term of the design gives a row one column at most, by its code, and one number in it: most products are sums of
// chosen columns of the tile.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

using Strip = Lanes<double>;
constexpr int STRIP_ROWS = 16;                               // rows of the tile that are summed together
constexpr int STRIP_PARTS = STRIP_ROWS / Strip::width;
constexpr int ORDERS = 32;                                   // permutations whose lists are in the cache together

static std::int64_t trace_scratch(std::int64_t rows, std::int64_t columns, int terms, int width) {
    const std::int64_t padded = (rows + STRIP_ROWS - 1) / STRIP_ROWS * STRIP_ROWS;
    return padded * columns + ORDERS * terms * columns + STRIP_ROWS * width  // the tile, numbers, sums of a strip
           + ORDERS * (terms * columns + width + 1) / 2 + 1;  // places, and where lists end
}

// The sum of some columns of a strip, each times a number unless these are all ones.
template <bool ONES>
INLINE void sum_list(const double *strip, const std::int32_t *places, const double *numbers, std::int64_t count,
                     double *out) {
    Strip::V sum[STRIP_PARTS];
    UNROLL for (auto &part : sum) part = Strip::fill(0);
    for (std::int64_t e = 0; e < count; ++e)
        UNROLL for (int n = 0; n < STRIP_PARTS; ++n) {
            const Strip::V value = Strip::load(strip + places[e] + n * Strip::width);
            sum[n] = Strip::add(sum[n], ONES ? value : Strip::multiply(Strip::fill(numbers[e]), value));
        }
    UNROLL for (int n = 0; n < STRIP_PARTS; ++n) Strip::store(out + n * Strip::width, sum[n]);
}

// `tile` (rows x columns) is of rows and columns `first` and `low` of the kernel. `orders` (count x size) has for each
// permutation the row of the design that stands at each place, `codes` (terms x size) the column of the design of each of
// its rows or -1, `numbers` (terms x size) what stands there. Column 0 of the design holds ones. Products (count x width x
// width) are added to `out`.
static void permuted_products(const double *tile, std::int64_t rows, std::int64_t columns, std::int64_t first,
                              std::int64_t low, const std::int32_t *orders, std::int64_t count, std::int64_t size,
                              const std::int32_t *codes, const double *numbers, int terms, int width, double *out,
                              double *scratch) {
    bool ones = true;
    for (std::int64_t k = 0; k < terms * size; ++k) ones = ones && numbers[k] == 1;
    const std::int64_t strips = (rows + STRIP_ROWS - 1) / STRIP_ROWS;
    double *const packed = scratch, *const weights = packed + strips * STRIP_ROWS * columns;
    double *const sums = weights + ORDERS * terms * columns;  // STRIP_ROWS x width
    auto *const places = reinterpret_cast<std::int32_t *>(sums + STRIP_ROWS * width);  // ORDERS x terms x columns
    std::int32_t *const ends = places + ORDERS * terms * columns;                      // ORDERS x (width + 1)
    for (std::int64_t s = 0; s < strips; ++s)
        for (std::int64_t j = 0; j < columns; ++j)
            for (int r = 0; r < STRIP_ROWS; ++r) {
                const std::int64_t i = s * STRIP_ROWS + r;
                packed[(s * columns + j) * STRIP_ROWS + r] = i < rows ? tile[i * columns + j] : 0;
            }
    for (std::int64_t begun = 0; begun < count; begun += ORDERS) {
        const int some = count - begun < ORDERS ? static_cast<int>(count - begun) : ORDERS;
        for (int p = 0; p < some; ++p) {  // the places of the columns of the tile, by column of the design
            const std::int32_t *order = orders + (begun + p) * size + low;
            std::int32_t *last = ends + p * (width + 1);
            for (int g = 0; g <= width; ++g) last[g] = 0;
            for (int t = 0; t < terms; ++t)
                for (std::int64_t j = 0; j < columns; ++j) last[1 + codes[t * size + order[j]]] += 1;
            last[0] = last[1] = 0;  // rows without a column, and the ones
            for (int g = 1; g < width; ++g) last[g + 1] += last[g];
            for (int t = 0; t < terms; ++t)
                for (std::int64_t j = 0; j < columns; ++j) {
                    const std::int64_t row = t * size + order[j];
                    if (codes[row] < 0) continue;
                    const std::int64_t at = p * terms * columns + last[codes[row]]++;  // last[g] is where list g goes on
                    places[at] = static_cast<std::int32_t>(j * STRIP_ROWS);
                    weights[at] = numbers[row];
                }
        }
        for (std::int64_t s = 0; s < strips; ++s) {
            const double *strip = packed + s * columns * STRIP_ROWS;
            const int there = rows - s * STRIP_ROWS < STRIP_ROWS ? static_cast<int>(rows - s * STRIP_ROWS) : STRIP_ROWS;
            Strip::V whole[STRIP_PARTS];
            UNROLL for (auto &part : whole) part = Strip::fill(0);
            for (std::int64_t j = 0; j < columns; ++j)
                UNROLL for (int n = 0; n < STRIP_PARTS; ++n)
                    whole[n] = Strip::add(whole[n], Strip::load(strip + j * STRIP_ROWS + n * Strip::width));
            double part[STRIP_ROWS];
            UNROLL for (int n = 0; n < STRIP_PARTS; ++n) Strip::store(part + n * Strip::width, whole[n]);
            for (int r = 0; r < STRIP_ROWS; ++r) sums[r * width] = part[r];
            for (int p = 0; p < some; ++p) {
                const std::int32_t *place = places + p * terms * columns, *last = ends + p * (width + 1);
                const double *weight = weights + p * terms * columns;
                std::int64_t e = 0;
                for (int g = 1; g < width; ++g) {
                    if (ones)
                        sum_list<true>(strip, place + e, weight + e, last[g] - e, part);
                    else
                        sum_list<false>(strip, place + e, weight + e, last[g] - e, part);
                    e = last[g];
                    for (int r = 0; r < STRIP_ROWS; ++r) sums[r * width + g] = part[r];
                }
                const std::int32_t *order = orders + (begun + p) * size + first + s * STRIP_ROWS;
                double *to = out + (begun + p) * width * width;
                for (int r = 0; r < there; ++r) {
                    const double *from = sums + r * width;
                    for (int g = 0; g < width; ++g) to[g] += from[g];
                    for (int t = 0; t < terms; ++t) {
                        const std::int32_t code = codes[t * size + order[r]];
                        if (code < 0) continue;
                        const double by = numbers[t * size + order[r]];
                        for (int g = 0; g < width; ++g) to[code * width + g] += by * from[g];
                    }
                }
            }
        }
    }
}

}  // namespace mlcli::LEVEL
