// Pairs of points by ascending dissimilarity: distances, their monotone fit, and the forces of its errors.
// A pair is one number, the first point in its upper half: coordinates and counts of points stay in the nearest cache.
#pragma once
#include <cstdint>

namespace mlcli {

// Distances of pairs; `points` holds rows of coordinates.
void rank_distances(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
                    double *distances);

constexpr std::int64_t RANK_SCRATCH = 2;  // numbers of `scratch` for each pair

// Disparities of distances, both in the order of pairs, by pooling of adjacent violators. Groups of equal dissimilarities
// begin at `starts` (groups + 1). With secondary ties a group has one disparity; with primary ones its pairs and distances
// are sorted by (distance, pair) first. A pair's weight w is the product of the counts of its points (null: one). Returns
// the sums of w (d - e)^2 and w d^2 in `sums`.
void fit_disparities(double *distances, std::uint64_t *pairs, const std::int64_t *starts, std::int64_t groups,
                     bool secondary, const double *counts, double *disparities, double *sums, double *scratch);

// Sums of w ((d - e) - share d) / d (x - y) over pairs, added to `out` (points x columns) for both with their signs.
// Points in one place exert no force.
void rank_forces(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
                 const double *distances, const double *disparities, const double *counts, double share, double *out);

}  // namespace mlcli
