// Sums over all pairs that a step of majorization of stress takes (de Leeuw, 1977), for some rows.
#pragma once
#include <cfloat>
#include <cmath>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int PART = 64;  // pairs of a row whose distances are kept at once: a multiple of all lanes

INLINE Lanes<double>::V root_of(Lanes<double>::V v) {
#if defined(__AVX512F__)
    return _mm512_sqrt_pd(v);
#elif defined(__AVX2__)
    return _mm256_sqrt_pd(v);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(v);
#elif defined(__aarch64__)
    return vsqrtq_f64(v);
#else
    return std::sqrt(v);
#endif
}

// For each row: w δ / d (x - x') and, of given weights, w (x - x') (rows x axes each), and w (δ - d)², w δ d and w d²
// (rows x 3), each summed over all of `size` sources, whose coordinates lie axis by axis (axes x stride). δ / d is zero
// where d is. `weights` (rows x size, as `lengths`) may be null: then all are one, and `spread` is not touched.
static void stress_rows(const double *rows, std::int64_t count, const double *sources, std::int64_t stride,
                        std::int64_t size, const double *lengths, const double *weights, int axes, double *pulled,
                        double *spread, double *sums) {
    using L = Lanes<double>;
    using V = L::V;
    constexpr int W = L::width;
    const V zero = L::fill(0), least = L::fill(DBL_MIN);
    for (std::int64_t i = 0; i < count; ++i) {
        const double *own = rows + i * axes, *given = lengths + i * size;
        const double *weighing = weights == nullptr ? nullptr : weights + i * size;
        double *pull = pulled + i * axes, *wide = spread + i * axes, *sum = sums + i * 3;
        for (int a = 0; a < axes; ++a) pull[a] = 0;
        for (int a = 0; a < axes && weights != nullptr; ++a) wide[a] = 0;
        V errors = zero, products = zero, squares = zero;
        for (std::int64_t begin = 0; begin < size; begin += PART) {
            const int there = size - begin < PART ? static_cast<int>(size - begin) : PART;
            double ratios[PART], shares[PART];
            for (int l = 0; l < there; l += W) {
                const int full = there - l < W ? there - l : W;
                V squared = zero;
                for (int a = 0; a < axes; ++a) {
                    const V gap = L::subtract(L::fill(own[a]), L::load(sources + a * stride + begin + l));
                    squared = L::fma(gap, gap, squared);
                }
                V length, weight;
                if (full == W) {
                    length = L::load(given + begin + l);
                    weight = weighing == nullptr ? L::fill(1) : L::load(weighing + begin + l);
                } else {
                    double ones[W];
                    for (int k = 0; k < W; ++k) ones[k] = k < full ? 1 : 0;
                    length = load_some(given + begin + l, full);
                    weight = weighing == nullptr ? L::load(ones) : load_some(weighing + begin + l, full);
                }
                const V distance = root_of(squared), error = L::subtract(length, distance);
                const V product = L::multiply(weight, length);
                errors = L::fma(L::multiply(weight, error), error, errors);
                products = L::fma(product, distance, products);
                squares = L::fma(weight, squared, squares);
                L::store(ratios + l, product * (distance / L::add(squared, least)));
                L::store(shares + l, weight);
            }
            for (int a = 0; a < axes; ++a) {
                const V place = L::fill(own[a]);
                V drawn = zero, apart = zero;
                for (int l = 0; l < there; l += W) {
                    const V gap = L::subtract(place, L::load(sources + a * stride + begin + l));
                    drawn = L::fma(L::load(ratios + l), gap, drawn);
                    if (weighing != nullptr) apart = L::fma(L::load(shares + l), gap, apart);
                }
                pull[a] += sum_of<double>(drawn);
                if (weighing != nullptr) wide[a] += sum_of<double>(apart);
            }
        }
        sum[0] = sum_of<double>(errors), sum[1] = sum_of<double>(products), sum[2] = sum_of<double>(squares);
    }
}

}  // namespace mlcli::LEVEL
