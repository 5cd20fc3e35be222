// Splines on an equispaced grid: points that are spread over its nodes, and values at points of what lies on the nodes.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

using Knot = Lanes<double>;
constexpr int ORDER = 8;  // nodes along an axis that a point reaches: splines of degree seven
constexpr int PARTS = ORDER / Knot::width;
static_assert(ORDER == Line<double>::size, "a line holds a point's nodes along an axis");

// Coefficients of the splines of a point's nodes, by powers of its place t between nodes, and those of their slopes: one
// of degree k at node j is ((j + 1 - t) B(j) + (t + k - j) B(j - 1)) / k by those B of degree k - 1 (de Boor).
struct Splines {
    double value[ORDER][ORDER] = {}, slope[ORDER][ORDER] = {};  // power, node
    constexpr Splines() {
        double before[ORDER][ORDER] = {};
        value[0][0] = 1;
        for (int k = 1; k < ORDER; ++k) {
            for (int power = 0; power < ORDER; ++power)
                for (int j = 0; j < ORDER; ++j) before[power][j] = value[power][j], value[power][j] = 0;
            for (int power = 0; power < k; ++power)
                for (int j = 0; j < k; ++j) {
                    value[power][j] += before[power][j] * (j + 1) / k;
                    value[power + 1][j] -= before[power][j] / k;
                    value[power][j + 1] += before[power][j] * (k - 1 - j) / k;
                    value[power + 1][j + 1] += before[power][j] / k;
                }
        }
        for (int power = 1; power < ORDER; ++power)
            for (int j = 0; j < ORDER; ++j) slope[power - 1][j] = value[power][j] * power;
    }
};
static constexpr Splines SPLINES;

INLINE void splines(const double (*coefficients)[ORDER], int degree, double t, Knot::V *out) {
    const Knot::V place = Knot::fill(t);
    for (int v = 0; v < PARTS; ++v) {
        Knot::V sum = Knot::load(coefficients[degree] + v * Knot::width);
        for (int power = degree - 1; power >= 0; --power)
            sum = Knot::add(Knot::multiply(sum, place), Knot::load(coefficients[power] + v * Knot::width));
        out[v] = sum;
    }
}

// The first node that a coordinate reaches, and its place after it; -1 beyond the grid.
INLINE std::int64_t node_of(double coordinate, double low, double scale, std::int64_t nodes, double &t) {
    const double place = (coordinate - low) * scale;
    if (!(place >= 0 && place <= static_cast<double>(nodes - ORDER))) return -1;
    const auto node = static_cast<std::int64_t>(place);
    t = place - static_cast<double>(node);
    return node;
}

// Adds one for each of some points (axes 1 or 2), or says that one lies beyond; rows of the grid are `stride` apart.
static bool spread_points(const double *points, const std::int64_t *chosen, std::int64_t count, int axes,
                          const double *low, double scale, std::int64_t rows, std::int64_t columns, double *grid) {
    for (std::int64_t p = 0; p < count; ++p) {
        const double *point = points + chosen[p] * axes;
        double s = 0, t = 0, heights[ORDER];
        Knot::V across[PARTS], along[PARTS];
        const std::int64_t row = axes == 1 ? 0 : node_of(point[0], low[0], scale, rows, s);
        const std::int64_t column = node_of(point[axes - 1], low[axes - 1], scale, columns, t);
        if (row < 0 || column < 0) return false;
        splines(SPLINES.value, ORDER - 1, t, along);
        if (axes == 2) {
            splines(SPLINES.value, ORDER - 1, s, across);
            for (int v = 0; v < PARTS; ++v) Knot::store(heights + v * Knot::width, across[v]);
        } else {
            heights[0] = 1;
        }
        for (int r = 0; r < (axes == 1 ? 1 : ORDER); ++r) {
            double *to = grid + (row + r) * columns + column;
            const Knot::V height = Knot::fill(heights[r]);
            for (int v = 0; v < PARTS; ++v)
                Knot::store(to + v * Knot::width, Knot::add(Knot::multiply(height, along[v]), Knot::load(to + v * Knot::width)));
        }
    }
    return true;
}

// Values at some points of the spline through what lies on the nodes, and slopes per unit of length, times `factor`.
static bool collect_points(const double *points, const std::int64_t *chosen, std::int64_t count, int axes,
                           const double *low, double scale, std::int64_t rows, std::int64_t columns, const double *grid,
                           double factor, double *slopes, double *values) {
    for (std::int64_t p = 0; p < count; ++p) {
        const double *point = points + chosen[p] * axes;
        double s = 0, t = 0, heights[ORDER], rises[ORDER];
        Knot::V part[PARTS], along[PARTS], steps[PARTS], sums[PARTS], ups[PARTS];
        const std::int64_t row = axes == 1 ? 0 : node_of(point[0], low[0], scale, rows, s);
        const std::int64_t column = node_of(point[axes - 1], low[axes - 1], scale, columns, t);
        if (row < 0 || column < 0) return false;
        splines(SPLINES.value, ORDER - 1, t, along);
        splines(SPLINES.slope, ORDER - 2, t, steps);
        heights[0] = 1, rises[0] = 0;
        if (axes == 2) {
            splines(SPLINES.value, ORDER - 1, s, part);
            for (int v = 0; v < PARTS; ++v) Knot::store(heights + v * Knot::width, part[v]);
            splines(SPLINES.slope, ORDER - 2, s, part);
            for (int v = 0; v < PARTS; ++v) Knot::store(rises + v * Knot::width, part[v]);
        }
        for (int v = 0; v < PARTS; ++v) sums[v] = ups[v] = Knot::fill(0);
        for (int r = 0; r < (axes == 1 ? 1 : ORDER); ++r) {
            const double *from = grid + (row + r) * columns + column;
            for (int v = 0; v < PARTS; ++v) {
                const Knot::V here = Knot::load(from + v * Knot::width);
                sums[v] = Knot::add(Knot::multiply(Knot::fill(heights[r]), here), sums[v]);
                ups[v] = Knot::add(Knot::multiply(Knot::fill(rises[r]), here), ups[v]);
            }
        }
        Line<double> value, slope, up;
        for (int v = 0; v < PARTS; ++v) {
            value.part[v] = Knot::multiply(sums[v], along[v]);
            slope.part[v] = Knot::multiply(sums[v], steps[v]);
            up.part[v] = Knot::multiply(ups[v], along[v]);
        }
        values[chosen[p]] = sum_of(value);
        slopes[chosen[p] * axes + axes - 1] = factor * scale * sum_of(slope);
        if (axes == 2) slopes[chosen[p] * axes] = factor * scale * sum_of(up);
    }
    return true;
}

}  // namespace mlcli::LEVEL
