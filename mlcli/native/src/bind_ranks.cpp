// Python binding of distances, disparities and forces of pairs by ascending dissimilarity.
#include "bindings.hpp"

#include <nanobind/stl/pair.h>

#include <utility>

#include "ranks.hpp"

namespace mlcli {
namespace {


std::int64_t length(std::size_t size) { return static_cast<std::int64_t>(size); }

void check_pairs(const std::uint64_t *pairs, std::int64_t size, std::size_t points) {
    bool inside = true;
    for (std::int64_t k = 0; k < size; ++k)
        inside &= (pairs[k] >> 32) < points && (pairs[k] & 0xffffffffU) < points;
    require(inside, "a point of a pair is out of range");
}

void check_counts(const Vector<double> &counts, std::size_t points) {
    require(counts.size() == 0 || counts.size() == points, "there must be a count for every point");
}

const double *known(const Vector<double> &counts) { return counts.size() == 0 ? nullptr : counts.data(); }

void distances_of_pairs(Matrix<const double> points, Vector<std::uint64_t> pairs, std::int64_t low, std::int64_t high,
                        Target<double> distances) {
    require(0 <= low && low <= high && high <= length(pairs.size()), "pairs are out of range");
    require(distances.size() == pairs.size(), "there must be a distance for every pair");
    nb::gil_scoped_release release;
    check_pairs(pairs.data() + low, high - low, points.shape(0));
    rank_distances(points.data(), length(points.shape(1)), pairs.data() + low, high - low, distances.data() + low);
}

std::pair<double, double> disparities_of_pairs(Target<double> distances, Target<std::uint64_t> pairs,
                                               Vector<std::int64_t> starts, bool secondary, Vector<double> counts,
                                               Target<double> disparities, Target<double> scratch) {
    const std::int64_t size = length(distances.size()), groups = length(starts.size()) - 1;
    require(length(pairs.size()) == size && length(disparities.size()) == size,
            "distances, pairs and disparities must be of one length");
    require(length(scratch.size()) >= RANK_SCRATCH * size, "scratch is too small");
    require(groups >= 0 && starts.data()[0] == 0 && starts.data()[groups] == size, "starts are out of range");
    bool rising = true, numbers = true;
    for (std::int64_t g = 0; g < groups; ++g) rising &= starts.data()[g] <= starts.data()[g + 1];
    require(rising, "starts must not descend");
    double sums[2];
    nb::gil_scoped_release release;
    for (std::int64_t k = 0; k < size; ++k) numbers &= distances.data()[k] == distances.data()[k];
    require(numbers, "a distance is not a number");  // of which there is no order
    if (counts.size() > 0) check_pairs(pairs.data(), size, counts.size());
    fit_disparities(distances.data(), pairs.data(), starts.data(), groups, secondary, known(counts), disparities.data(),
                    sums, scratch.data());
    return {sums[0], sums[1]};
}

void forces_of_pairs(Matrix<const double> points, Vector<std::uint64_t> pairs, std::int64_t low, std::int64_t high,
                     Vector<double> distances, Vector<double> disparities, Vector<double> counts, double share,
                     Matrix<double> out) {
    require(0 <= low && low <= high && high <= length(pairs.size()), "pairs are out of range");
    require(distances.size() == pairs.size() && disparities.size() == pairs.size(),
            "distances, pairs and disparities must be of one length");
    require(out.shape(0) == points.shape(0) && out.shape(1) == points.shape(1), "out must be as large as points");
    check_counts(counts, points.shape(0));
    nb::gil_scoped_release release;
    check_pairs(pairs.data() + low, high - low, points.shape(0));
    rank_forces(points.data(), length(points.shape(1)), pairs.data() + low, high - low, distances.data() + low,
                disparities.data() + low, known(counts), share, out.data());
}

}  // namespace

void bind_ranks(nb::module_ &m) {
    m.def("distances_of_pairs", &distances_of_pairs, "points"_a.noconvert(), "pairs"_a.noconvert(), "low"_a, "high"_a,
          "distances"_a.noconvert());
    m.def("disparities_of_pairs", &disparities_of_pairs, "distances"_a.noconvert(), "pairs"_a.noconvert(),
          "starts"_a.noconvert(), "secondary"_a, "counts"_a.noconvert(), "disparities"_a.noconvert(),
          "scratch"_a.noconvert());
    m.def("forces_of_pairs", &forces_of_pairs, "points"_a.noconvert(), "pairs"_a.noconvert(), "low"_a, "high"_a,
          "distances"_a.noconvert(), "disparities"_a.noconvert(), "counts"_a.noconvert(), "share"_a,
          "out"_a.noconvert());
}

}  // namespace mlcli
