// Steps of points along the edges of a fuzzy graph that are due, and away from sampled points (UMAP's negative sampling).
#pragma once
#include <cstdint>

#include "curve.hpp"
#include "elementary.hpp"

namespace mlcli::LEVEL {

constexpr int FLUSHES = 8;  // products of so many factors stay in range before their logarithm is taken

// A number without order from a counter (splitmix64).
INLINE std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

constexpr std::uint64_t STRIDE = 0x9e3779b97f4a7c15ull;  // of the counter

// Pairs whose forces wait to be computed, where they go, and the factors of the likelihood.
struct Forces {
    std::int64_t axes;
    double rate;
    double *gaps;  // axes x PAIRS
    double *out;   // rows x axes
    int waiting, flushes;
    std::int64_t rows[PAIRS];
    double edges[PAIRS];  // one along an edge, zero from a sampled point
    double factors[PAIRS];
    double cost;  // to the base two
};

INLINE void take_logarithms(Forces &forces) {
    for (int pair = 0; pair < PAIRS; ++pair) {
        forces.cost += log2_of(forces.factors[pair]);
        forces.factors[pair] = 1;
    }
    forces.flushes = 0;
}

// Forces of the pairs, added to their rows in the order of the pairs. Places that are left are edges of length zero, which
// have no force and no cost.
static void compute_forces(Forces &forces, const Curve &curve) {
    for (int pair = forces.waiting; pair < PAIRS; ++pair) {
        forces.edges[pair] = 1;
        for (std::int64_t axis = 0; axis < forces.axes; ++axis) forces.gaps[axis * PAIRS + pair] = 0;
    }
    double squares[PAIRS] = {}, strengths[PAIRS];
    for (std::int64_t axis = 0; axis < forces.axes; ++axis)
        for (int pair = 0; pair < PAIRS; ++pair) {
            const double gap = forces.gaps[axis * PAIRS + pair];
            squares[pair] += gap * gap;
        }
    for (int pair = 0; pair < PAIRS; ++pair) {
        const double square = squares[pair], edge = forces.edges[pair], sample = 1.0 - edge;
        const double there = from_bits((0 - above(square, 1e-300)) & 0x3ff0000000000000ull);
        const double bent = there * curve.a * exp2_of(curve.b * log2_of(square + (1.0 - there)));
        const double under = (1.0 + bent) * (square + sample * curve.near + (1.0 - there));
        const double over = sample * curve.gamma - edge * bent;
        strengths[pair] = 2.0 * curve.b * there * over / under;
        forces.factors[pair] *= (1.0 + bent) / (edge + sample * (bent + curve.near));
    }
    for (std::int64_t axis = 0; axis < forces.axes; ++axis) {
        double moves[PAIRS];
        for (int pair = 0; pair < PAIRS; ++pair) {
            double move = strengths[pair] * forces.gaps[axis * PAIRS + pair];
            move = move > curve.most ? curve.most : move;
            moves[pair] = forces.rate * (move < -curve.most ? -curve.most : move);
        }
        for (int pair = 0; pair < forces.waiting; ++pair)
            forces.out[forces.rows[pair] * forces.axes + axis] += moves[pair];
    }
    forces.waiting = 0;
    if (++forces.flushes == FLUSHES) take_logarithms(forces);
}

INLINE void add_force(Forces &forces, const Curve &curve, std::int64_t row, const double *own, const double *other,
                      double edge) {
    for (std::int64_t axis = 0; axis < forces.axes; ++axis)
        forces.gaps[axis * PAIRS + forces.waiting] = own[axis] - other[axis];
    forces.rows[forces.waiting] = row;
    forces.edges[forces.waiting] = edge;
    if (++forces.waiting == PAIRS) compute_forces(forces, curve);
}

// Positions (rows x axes) after a step from `own`. The edges of a row are due where the fraction of epoch x rate falls
// below the rate. Edges numbered below zero are those of which the row is the other end: they sample no points. `first` is
// the number of the first row among the points, or below zero where rows are none of them. Returns the cost, and counts
// the edges that were due with their samples.
static double sample_rows(const Schedule &edges, const double *own, std::int64_t rows, std::int64_t first,
                          const double *points, std::int64_t count, std::int64_t axes, const Curve &curve,
                          const Draw &draw, double rate, double *scratch, double *out, std::int64_t *due) {
    Forces forces{axes, rate, scratch, out, 0, 0, {}, {}, {}, 0};
    for (int pair = 0; pair < PAIRS; ++pair) forces.factors[pair] = 1;
    for (std::int64_t place = 0; place < rows * axes; ++place) out[place] = own[place];
    for (std::int64_t row = 0; row < rows; ++row) {
        const double *here = own + row * axes;
        for (std::int64_t edge = edges.starts[row]; edge < edges.starts[row + 1]; ++edge) {
            if (!(draw.epoch * edges.rates[edge] < edges.rates[edge])) continue;  // modulo 2^32
            add_force(forces, curve, row, here, points + edges.columns[edge] * axes, 1);
            if (edges.numbers[edge] < 0) continue;
            ++*due;
            const std::uint64_t base = mixed(draw.key + STRIDE * static_cast<std::uint64_t>(edges.numbers[edge]));
            std::uint64_t drawn = 0;
            for (std::int64_t sample = 0; sample < draw.samples; ++sample) {
                drawn = sample % 2 == 0 ? mixed(base + STRIDE * static_cast<std::uint64_t>(sample / 2 + 1)) : drawn << 32;
                const auto other = static_cast<std::int64_t>(((drawn >> 32) * static_cast<std::uint64_t>(count)) >> 32);
                if (first < 0 || other != first + row) add_force(forces, curve, row, here, points + other * axes, 0);
            }
        }
    }
    if (forces.waiting > 0) compute_forces(forces, curve);
    take_logarithms(forces);
    return forces.cost * 0.69314718055994531;
}

}  // namespace mlcli::LEVEL
