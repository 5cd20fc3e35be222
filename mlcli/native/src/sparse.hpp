// Products of rows given by their entries with a few vectors, and of their transpose.
#pragma once
#include <cstdint>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int BAND = 8;   // vectors that lie side by side: a multiple of all lanes
constexpr int BANDS = 4;  // that are multiplied together: their sums stay in registers

// For `count` bands of vectors: x R - c of each row x, in `out` (rows x stride), and, unless `images` is null, the
// entries of x times that, added to the rows of `images` (columns x stride).
template <int count>
INLINE void multiply_bands(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                            std::int64_t rows, const double *right, const double *less, std::int64_t stride,
                            double *out, double *images) {
    using L = Lanes<double>;
    constexpr int VECTORS_HERE = count * BAND / L::width;
    typename L::V shift[VECTORS_HERE];
    for (int v = 0; v < VECTORS_HERE; ++v) shift[v] = L::load(less + v * L::width);
    for (std::int64_t i = 0; i < rows; ++i, out += stride) {
        typename L::V sums[VECTORS_HERE];
        for (int v = 0; v < VECTORS_HERE; ++v) sums[v] = L::fill(0.0);
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const typename L::V one = L::fill(values[k]);
            const double *from = right + columns[k] * stride;
            for (int v = 0; v < VECTORS_HERE; ++v) sums[v] = L::add(sums[v], L::multiply(one, L::load(from + v * L::width)));
        }
        for (int v = 0; v < VECTORS_HERE; ++v) L::store(out + v * L::width, sums[v] = L::subtract(sums[v], shift[v]));
        if (images == nullptr) continue;
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const typename L::V one = L::fill(values[k]);
            double *to = images + columns[k] * stride;
            for (int v = 0; v < VECTORS_HERE; ++v)
                L::store(to + v * L::width, L::add(L::load(to + v * L::width), L::multiply(one, sums[v])));
        }
    }
}

// The entries of each row times its row of `left` (rows x stride), added to the rows of `out` (columns x stride).
template <int count>
INLINE void lower_bands(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                         std::int64_t rows, const double *left, std::int64_t stride, double *out) {
    using L = Lanes<double>;
    constexpr int VECTORS_HERE = count * BAND / L::width;
    for (std::int64_t i = 0; i < rows; ++i, left += stride) {
        typename L::V own[VECTORS_HERE];
        for (int v = 0; v < VECTORS_HERE; ++v) own[v] = L::load(left + v * L::width);
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            const typename L::V one = L::fill(values[k]);
            double *to = out + columns[k] * stride;
            for (int v = 0; v < VECTORS_HERE; ++v)
                L::store(to + v * L::width, L::add(L::load(to + v * L::width), L::multiply(one, own[v])));
        }
    }
}

static void multiply_sparse(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                            std::int64_t rows, const double *right, const double *less, std::int64_t stride,
                            double *out, double *images) {
    constexpr std::int64_t WIDE = BANDS * BAND;
    std::int64_t first = 0;
    for (; first + WIDE <= stride; first += WIDE)
        multiply_bands<BANDS>(starts, columns, values, rows, right + first, less + first, stride, out + first,
                                images ? images + first : nullptr);
    double *to = images ? images + first : nullptr;
    const std::int64_t left = (stride - first) / BAND;
    right += first, less += first, out += first;
    if (left == 1) multiply_bands<1>(starts, columns, values, rows, right, less, stride, out, to);
    if (left == 2) multiply_bands<2>(starts, columns, values, rows, right, less, stride, out, to);
    if (left == 3) multiply_bands<3>(starts, columns, values, rows, right, less, stride, out, to);
}

static void lower_sparse(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                         std::int64_t rows, const double *left, std::int64_t stride, double *out) {
    constexpr std::int64_t WIDE = BANDS * BAND;
    std::int64_t first = 0;
    for (; first + WIDE <= stride; first += WIDE)
        lower_bands<BANDS>(starts, columns, values, rows, left + first, stride, out + first);
    const std::int64_t rest = (stride - first) / BAND;
    left += first, out += first;
    if (rest == 1) lower_bands<1>(starts, columns, values, rows, left, stride, out);
    if (rest == 2) lower_bands<2>(starts, columns, values, rows, left, stride, out);
    if (rest == 3) lower_bands<3>(starts, columns, values, rows, left, stride, out);
}

}  // namespace mlcli::LEVEL
