// Sweeps of coordinate descent over the weights of non-negative parts in sparse rows, and the products that follow.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

using Weight = Lanes<double>;

// The sum of value * parts[column] over a row's entries, for N vectors of parts from `from` on.
template <int N>
static void combine(const std::int32_t *columns, const double *values, std::int64_t size, const double *parts,
                    std::int64_t stride, double *out) {
    Weight::V sums[N];
    for (int v = 0; v < N; ++v) sums[v] = Weight::fill(0);
    for (std::int64_t e = 0; e < size; ++e) {
        const double *row = parts + columns[e] * stride;
        const Weight::V value = Weight::fill(values[e]);
        for (int v = 0; v < N; ++v) sums[v] = Weight::fma(value, Weight::load(row + v * Weight::width), sums[v]);
    }
    for (int v = 0; v < N; ++v) Weight::store(out + v * Weight::width, sums[v]);
}

// Each weight in turn to the minimum over itself alone, for as many rows as there are lanes; `sides` and `weights` hold a
// vector of lanes for each part.
static void descend(const double *gram, std::int64_t stride, std::int64_t count, std::int64_t sweeps, const double *sides,
                    double *weights) {
    const Weight::V none = Weight::fill(0);
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep)
        for (std::int64_t k = 0; k < count; ++k) {
            const double *row = gram + k * stride;
            if (!(row[k] > 0)) continue;
            Weight::V even = Weight::subtract(none, Weight::load(sides + k * Weight::width)), odd = none;
            std::int64_t other = 0;
            for (; other + 2 <= count; other += 2) {
                even = Weight::fma(Weight::fill(row[other]), Weight::load(weights + other * Weight::width), even);
                odd = Weight::fma(Weight::fill(row[other + 1]), Weight::load(weights + (other + 1) * Weight::width), odd);
            }
            if (other < count)
                even = Weight::fma(Weight::fill(row[other]), Weight::load(weights + other * Weight::width), even);
            double *own = weights + k * Weight::width;
            const Weight::V fall = Weight::add(even, odd) / Weight::fill(row[k]);
            Weight::store(own, Weight::subtract(none, Weight::min(Weight::subtract(fall, Weight::load(own)), none)));
        }
}

// Numbers of `scratch` for parts padded to `stride` numbers.
static std::int64_t sweeps_scratch(std::int64_t stride) { return (1 + 2 * Weight::width) * stride; }

// Weights (rows x stride) after some sweeps over them, and their products with the rows added to `products` (columns x
// stride); `parts` (columns x stride) and `gram` (stride x stride) are padded with zeros, `stride` a multiple of lanes.
static void sweep_rows(const std::int64_t *starts, const std::int32_t *columns, const double *values, std::int64_t rows,
                       const double *parts, const double *gram, std::int64_t count, std::int64_t stride,
                       std::int64_t sweeps, double *weights, double *products, double *scratch) {
    constexpr int width = Weight::width;
    double *side = scratch, *sides = side + stride, *turned = sides + width * stride;
    for (std::int64_t first = 0; first < rows; first += width) {
        const std::int64_t there = rows - first < width ? rows - first : width;
        for (std::int64_t place = 0; place < width * stride; ++place) sides[place] = turned[place] = 0;
        for (std::int64_t lane = 0; lane < there; ++lane) {
            const std::int64_t start = starts[first + lane], size = starts[first + lane + 1] - start;
            std::int64_t k = 0;
            for (; k + 4 * width <= stride; k += 4 * width)
                combine<4>(columns + start, values + start, size, parts + k, stride, side + k);
            for (; k + 2 * width <= stride; k += 2 * width)
                combine<2>(columns + start, values + start, size, parts + k, stride, side + k);
            if (k < stride) combine<1>(columns + start, values + start, size, parts + k, stride, side + k);
            for (std::int64_t part = 0; part < count; ++part) {
                sides[part * width + lane] = side[part];
                turned[part * width + lane] = weights[(first + lane) * stride + part];
            }
        }
        descend(gram, stride, count, sweeps, sides, turned);
        for (std::int64_t lane = 0; lane < there; ++lane) {
            double *own = weights + (first + lane) * stride;
            for (std::int64_t part = 0; part < count; ++part) own[part] = turned[part * width + lane];
            for (std::int64_t e = starts[first + lane]; e < starts[first + lane + 1]; ++e) {
                double *to = products + columns[e] * stride;
                const Weight::V value = Weight::fill(values[e]);
                for (std::int64_t k = 0; k < stride; k += width)
                    Weight::store(to + k, Weight::fma(value, Weight::load(own + k), Weight::load(to + k)));
            }
        }
    }
}

}  // namespace mlcli::LEVEL
