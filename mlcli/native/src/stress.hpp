// Sums over all pairs that a step of majorization of stress takes (de Leeuw, 1977), for some rows.
#pragma once
#include <cfloat>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int PART = 64;  // pairs of a row whose distances are kept at once: a multiple of all lanes

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
        Line<double> errors = fill_line(0.0), products = errors, squares = errors;
        for (std::int64_t begin = 0; begin < size; begin += PART) {
            const int there = size - begin < PART ? static_cast<int>(size - begin) : PART;
            double ratios[PART], shares[PART];
            for (int line = 0; line < there; line += Line<double>::size)
                UNROLL for (int p = 0; p < Line<double>::parts; ++p) {
                    const int l = line + p * W, full = there - l < W ? there - l : W;
                    if (full <= 0) break;
                    V squared = zero;
                    for (int a = 0; a < axes; ++a) {
                        const V gap = L::subtract(L::fill(own[a]), L::load(sources + a * stride + begin + l));
                        squared = L::add(squared, L::multiply(gap, gap));
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
                    const V distance = L::root(squared), error = L::subtract(length, distance);
                    const V product = L::multiply(weight, length);
                    errors.part[p] = L::add(errors.part[p], L::multiply(L::multiply(weight, error), error));
                    products.part[p] = L::add(products.part[p], L::multiply(product, distance));
                    squares.part[p] = L::add(squares.part[p], L::multiply(weight, squared));
                    L::store(ratios + l, product * (distance / L::add(squared, least)));
                    L::store(shares + l, weight);
                }
            for (int a = 0; a < axes; ++a) {
                const V place = L::fill(own[a]);
                Line<double> drawn = fill_line(0.0), apart = drawn;
                for (int line = 0; line < there; line += Line<double>::size)
                    UNROLL for (int p = 0; p < Line<double>::parts; ++p) {
                        const int l = line + p * W;
                        if (l >= there) break;
                        const V gap = L::subtract(place, L::load(sources + a * stride + begin + l));
                        drawn.part[p] = L::add(drawn.part[p], L::multiply(L::load(ratios + l), gap));
                        if (weighing != nullptr)
                            apart.part[p] = L::add(apart.part[p], L::multiply(L::load(shares + l), gap));
                    }
                pull[a] += sum_of(drawn);
                if (weighing != nullptr) wide[a] += sum_of(apart);
            }
        }
        sum[0] = sum_of(errors), sum[1] = sum_of(products), sum[2] = sum_of(squares);
    }
}

}  // namespace mlcli::LEVEL
