// Products of rows with a few vectors, and of their transpose: as quick as the rows are read.
#pragma once
#include <cstdint>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int GROUPED = 4;  // vectors that a row is multiplied with at once: their sums stay in registers
constexpr std::int64_t LIFTED = 1 << 14;  // numbers of rows that all groups of vectors pass by: the second cache has room
constexpr int ADDED = 4;  // rows that are added at once: each sum is loaded and stored once for all of them

// (x - s)ᵀ R - c of rows x (count x columns) less a shift s, for `wide` of the vectors R (each of `columns` numbers),
// in `out` (count x stride). A row has the same bits whatever the other rows.
template <int wide>
INLINE void lift_some(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                      const double *vectors, const double *less, std::int64_t stride, double *out) {
    using L = Lanes<double>;
    constexpr int STEP = Line<double>::size;
    for (std::int64_t i = 0; i < count; ++i, rows += columns, out += stride) {
        Line<double> sums[wide];
        for (auto &sum : sums) sum = fill_line(0.0);
        std::int64_t j = 0;
        for (; j + STEP <= columns; j += STEP)
            for (int p = 0; p < Line<double>::parts; ++p) {
                const std::int64_t at = j + p * L::width;
                const typename L::V moved = L::subtract(L::load(rows + at), L::load(shift + at));
                for (int v = 0; v < wide; ++v)
                    sums[v].part[p] = L::add(sums[v].part[p], L::multiply(moved, L::load(vectors + v * columns + at)));
            }
        for (int v = 0; v < wide; ++v) {
            double sum = sum_of(sums[v]);
            for (std::int64_t k = j; k < columns; ++k) sum += (rows[k] - shift[k]) * vectors[v * columns + k];
            out[v] = sum - less[v];
        }
    }
}

static void lift_rows(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                      const double *vectors, std::int64_t others, const double *less, double *out) {
    const std::int64_t most = LIFTED / (columns + 1) + 1;
    for (; count > 0; count -= most, rows += most * columns, out += most * others) {
        const std::int64_t tall = count < most ? count : most;
        for (std::int64_t first = 0; first < others; first += GROUPED) {
            const double *some = vectors + first * columns, *subtrahend = less + first;
            double *to = out + first;
            switch (others - first) {
                case 1: lift_some<1>(rows, tall, columns, shift, some, subtrahend, others, to); break;
                case 2: lift_some<2>(rows, tall, columns, shift, some, subtrahend, others, to); break;
                case 3: lift_some<3>(rows, tall, columns, shift, some, subtrahend, others, to); break;
                default: lift_some<GROUPED>(rows, tall, columns, shift, some, subtrahend, others, to);
            }
        }
    }
}

// Σ (x - s) vᵢ over `tall` rows x, for each of some vectors v (one number for every row, `others` apart), added to
// `out` (others x columns).
template <int tall>
INLINE void lower_some(const double *rows, std::int64_t columns, const double *shift, const double *left,
                       std::int64_t others, double *out) {
    using L = Lanes<double>;
    std::int64_t j = 0;
    for (; j + L::width <= columns; j += L::width) {
        typename L::V moved[tall];
        for (int i = 0; i < tall; ++i) moved[i] = L::subtract(L::load(rows + i * columns + j), L::load(shift + j));
        for (std::int64_t v = 0; v < others; ++v) {
            typename L::V sum = L::load(out + v * columns + j);
            for (int i = 0; i < tall; ++i) sum = L::add(sum, L::multiply(L::fill(left[i * others + v]), moved[i]));
            L::store(out + v * columns + j, sum);
        }
    }
    if (j == columns) return;
    const int rest = static_cast<int>(columns - j);
    typename L::V moved[tall];
    for (int i = 0; i < tall; ++i)
        moved[i] = L::subtract(load_some(rows + i * columns + j, rest), load_some(shift + j, rest));
    for (std::int64_t v = 0; v < others; ++v) {
        typename L::V sum = load_some(out + v * columns + j, rest);
        for (int i = 0; i < tall; ++i) sum = L::add(sum, L::multiply(L::fill(left[i * others + v]), moved[i]));
        store_some(out + v * columns + j, sum, rest);
    }
}

static void lower_rows(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                       const double *left, std::int64_t others, double *out) {
    std::int64_t i = 0;
    for (; i + ADDED <= count; i += ADDED)
        lower_some<ADDED>(rows + i * columns, columns, shift, left + i * others, others, out);
    for (; i < count; ++i) lower_some<1>(rows + i * columns, columns, shift, left + i * others, others, out);
}

}  // namespace mlcli::LEVEL
