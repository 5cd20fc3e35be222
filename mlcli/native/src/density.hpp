// Local radii of points in a layout, and steps along edges that keep them as in the data (densMAP's density term).
#pragma once
#include "sampling.hpp"

namespace mlcli::LEVEL {

// Pairs of points along edges that wait to be computed, with the row that each belongs to.
struct Pairs {
    std::int64_t axes;
    double *gaps;  // axes x PAIRS
    int waiting;
    std::int64_t rows[PAIRS];
    double squares[PAIRS], bent[PAIRS];  // d² and a d^2b
};

INLINE void add_pair(Pairs &pairs, std::int64_t row, const double *own, const double *other) {
    for (std::int64_t axis = 0; axis < pairs.axes; ++axis)
        pairs.gaps[axis * PAIRS + pairs.waiting] = own[axis] - other[axis];
    pairs.rows[pairs.waiting++] = row;
}

// Distances of all pairs that wait; in places that are left, of equal points. A square below 1e-300 is zero.
INLINE void bend(Pairs &pairs, const Curve &curve) {
    for (int pair = 0; pair < PAIRS; ++pair) pairs.squares[pair] = 0;
    for (std::int64_t axis = 0; axis < pairs.axes; ++axis) {
        for (int pair = pairs.waiting; pair < PAIRS; ++pair) pairs.gaps[axis * PAIRS + pair] = 0;
        for (int pair = 0; pair < PAIRS; ++pair) {
            const double gap = pairs.gaps[axis * PAIRS + pair];
            pairs.squares[pair] += gap * gap;
        }
    }
    for (int pair = 0; pair < PAIRS; ++pair) {
        const double square = pairs.squares[pair];
        const double there = from_bits((0 - above(square, 1e-300)) & 0x3ff0000000000000ull);
        pairs.squares[pair] = there * square;
        pairs.bent[pair] = there * curve.a * exp2_of(curve.b * log2_of(square + (1.0 - there)));
    }
}

// Adds Σ φ d² and Σ φ of the pairs that wait to their rows.
static void collect_radii(Pairs &pairs, const Curve &curve, double *out) {
    double weights[PAIRS], squares[PAIRS];
    bend(pairs, curve);
    for (int pair = 0; pair < PAIRS; ++pair) {
        weights[pair] = 1.0 / (1.0 + pairs.bent[pair]);
        squares[pair] = weights[pair] * pairs.squares[pair];
    }
    for (int pair = 0; pair < pairs.waiting; ++pair) {
        out[pairs.rows[pair] * 3] += squares[pair];
        out[pairs.rows[pair] * 3 + 1] += weights[pair];
    }
    pairs.waiting = 0;
}

// The local radius of rows (rows x 3): its logarithm, log ρ, Σ φ over the edges of the row, and ρ = Σ φ d² / Σ φ + `least`,
// with φ the membership in the layout. All are zero for a row without edges.
static void radii_rows(const std::int64_t *starts, const std::int32_t *columns, std::int64_t rows, std::int64_t first,
                       const double *points, std::int64_t axes, const Curve &curve, double least, double *scratch,
                       double *out) {
    Pairs pairs{axes, scratch, 0, {}, {}, {}};
    for (std::int64_t place = 0; place < rows * 3; ++place) out[place] = 0;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t edge = starts[row]; edge < starts[row + 1]; ++edge) {
            add_pair(pairs, row, points + (first + row) * axes, points + columns[edge] * axes);
            if (pairs.waiting == PAIRS) collect_radii(pairs, curve, out);
        }
    if (pairs.waiting > 0) collect_radii(pairs, curve, out);
    for (std::int64_t row = 0; row < rows; ++row) {
        double *place = out + row * 3;
        if (!(place[1] > 0)) continue;
        place[2] = place[0] / place[1] + least;
        place[0] = log2_of(place[2]) * 0.69314718055994531;
    }
}

// Adds to rows the steps of pairs that wait, given sums of both ends' pulls (2 x PAIRS).
static void add_steps(Pairs &pairs, const Curve &curve, const double *pulls, double rate, double *out) {
    double strengths[PAIRS];
    bend(pairs, curve);
    for (int pair = 0; pair < PAIRS; ++pair) {
        const double share = 1.0 / (1.0 + pairs.bent[pair]), fall = curve.b * pairs.bent[pair] * share;
        const double slope = fall / (pairs.squares[pair] + 1e-300);  // both are zero for equal points
        strengths[pair] = share * ((1.0 - fall) * pulls[pair] + slope * pulls[PAIRS + pair]);
    }
    for (std::int64_t axis = 0; axis < pairs.axes; ++axis) {
        double moves[PAIRS];
        for (int pair = 0; pair < PAIRS; ++pair) {
            double move = strengths[pair] * pairs.gaps[axis * PAIRS + pair];
            move = move > curve.most ? curve.most : move;
            moves[pair] = rate * (move < -curve.most ? -curve.most : move);
        }
        for (int pair = 0; pair < pairs.waiting; ++pair) out[pairs.rows[pair] * pairs.axes + axis] += moves[pair];
    }
    pairs.waiting = 0;
}

// Adds to positions (rows x axes) the steps along edges that are due up the correlation of radii. `pulls` (count x 2) are
// what a point's change of φ d² and of φ weighs; each edge divides by its rate, since it is due as often as that says.
static void density_rows(const Schedule &edges, std::int64_t rows, std::int64_t first, const double *points,
                         std::int64_t axes, const double *pulls, const Curve &curve, std::uint32_t epoch, double rate,
                         double *scratch, double *out) {
    Pairs pairs{axes, scratch, 0, {}, {}, {}};
    double sums[2 * PAIRS] = {};
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t edge = edges.starts[row]; edge < edges.starts[row + 1]; ++edge) {
            if (!(epoch * edges.rates[edge] < edges.rates[edge])) continue;  // modulo 2^32
            const std::int64_t here = first + row, there = edges.columns[edge];
            const double often = 1.0 / edges.rates[edge];
            for (int kind = 0; kind < 2; ++kind)
                sums[kind * PAIRS + pairs.waiting] = often * (pulls[here * 2 + kind] + pulls[there * 2 + kind]);
            add_pair(pairs, row, points + here * axes, points + there * axes);
            if (pairs.waiting == PAIRS) add_steps(pairs, curve, sums, rate, out);
        }
    if (pairs.waiting > 0) add_steps(pairs, curve, sums, rate, out);
}

}  // namespace mlcli::LEVEL
