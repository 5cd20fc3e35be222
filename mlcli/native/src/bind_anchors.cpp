// Python bindings of sums and counts over distances from anchors to all points.
#include <algorithm>
#include <limits>
#include <vector>

#include "bindings.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

constexpr std::size_t SUMS = 8;

void pair_sums(Matrix<const double> kept, Matrix<const double> embedded, double scale, Matrix<double> out) {
    const std::size_t rows = kept.shape(0), size = kept.shape(1);
    require(embedded.shape(0) == rows && embedded.shape(1) == size, "both spaces must have the same pairs");
    require(out.shape(0) == rows && out.shape(1) == SUMS, "out must have a row of sums for every anchor");
    nb::gil_scoped_release release;
    for (std::size_t row = 0; row < rows; ++row)
        kernels<double>().pair_sums(kept.data() + row * size, embedded.data() + row * size,
                                    static_cast<std::int64_t>(size), scale, out.data() + row * SUMS);
}

void keys_before(Matrix<const std::int64_t> keys, Matrix<const std::int64_t> wanted, int bits, Matrix<std::int64_t> out) {
    const std::size_t rows = keys.shape(0), size = keys.shape(1), count = wanted.shape(1);
    require(wanted.shape(0) == rows && out.shape(0) == rows && out.shape(1) == count,
            "wanted and out must have a row for every anchor");
    require(bits >= 0 && bits < 62, "bits are those of a point's number");
    nb::gil_scoped_release release;
    for (std::size_t row = 0; row < rows; ++row)
        kernels<double>().keys_before(keys.data() + row * size, static_cast<std::int64_t>(size),
                                      wanted.data() + row * count, static_cast<std::int64_t>(count), bits,
                                      out.data() + row * count);
}

// Returns the most keys that an anchor has among its nearest; the rows of `nearest` are filled up to there.
std::int64_t order_points(Matrix<const double> squared, Vector<std::int64_t> anchors, std::int64_t count, int bits,
                          Matrix<std::int64_t> keys, Matrix<std::int64_t> nearest, Matrix<std::int64_t> limits) {
    const std::size_t rows = squared.shape(0), size = squared.shape(1);
    require(anchors.shape(0) == rows && limits.shape(0) == rows && limits.shape(1) == 1,
            "every anchor must have a row");
    require(keys.shape(0) == rows && keys.shape(1) == size && nearest.shape(0) == rows && nearest.shape(1) == size,
            "keys and nearest must have the shape of the distances");
    require(bits >= 0 && bits < 62 && size <= std::size_t{1} << bits, "bits are those of a point's number");
    require(count >= 1 && static_cast<std::size_t>(count) < size, "there must be more points than are wanted");
    for (std::size_t row = 0; row < rows; ++row)
        require(anchors.data()[row] >= 0 && static_cast<std::size_t>(anchors.data()[row]) < size, "anchors are points");
    nb::gil_scoped_release release;
    std::vector<std::int64_t> kept(rows);
    for (std::size_t row = 0; row < rows; ++row)
        kept[row] = kernels<double>().order_points(
            squared.data() + row * size, static_cast<std::int64_t>(size), anchors.data()[row], count, bits,
            keys.data() + row * size, nearest.data() + row * size, limits.data() + row);
    const std::int64_t most = *std::max_element(kept.begin(), kept.end());
    for (std::size_t row = 0; row < rows; ++row)
        std::fill(nearest.data() + row * size + kept[row], nearest.data() + row * size + most,
                  std::numeric_limits<std::int64_t>::max());
    return most;
}

// Ranks from 1: places among the nearest, and beyond them counts for the first `exact` points of each row.
void ranks_of_points(Matrix<const std::int64_t> keys, Matrix<const std::int64_t> nearest,
                     Matrix<const std::int64_t> limits, Matrix<const std::int64_t> points, std::int64_t exact, int bits,
                     Matrix<std::int64_t> out) {
    const std::size_t rows = keys.shape(0), size = keys.shape(1), most = nearest.shape(1), count = points.shape(1);
    require(nearest.shape(0) == rows && limits.shape(0) == rows && limits.shape(1) == 1 && points.shape(0) == rows
                && out.shape(0) == rows && out.shape(1) == count,
            "nearest, limits, points and out must have a row for every anchor");
    require(bits >= 0 && bits < 62, "bits are those of a point's number");
    for (std::size_t k = 0; k < rows * count; ++k)
        require(points.data()[k] >= 0 && static_cast<std::size_t>(points.data()[k]) < size, "points are out of range");
    nb::gil_scoped_release release;
    std::vector<std::int64_t> far, places, counts;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t *own = keys.data() + row * size, *first = nearest.data() + row * most;
        far.clear();
        places.clear();
        for (std::size_t k = 0; k < count; ++k) {
            const std::int64_t key = own[points.data()[row * count + k]];
            out.data()[row * count + k] = std::lower_bound(first, first + most, key) - first + 1;
            if (key < limits.data()[row] || static_cast<std::int64_t>(k) >= exact) continue;
            far.push_back(key);
            places.push_back(static_cast<std::int64_t>(k));
        }
        if (far.empty()) continue;
        counts.resize(far.size());
        kernels<double>().keys_before(own, static_cast<std::int64_t>(size), far.data(),
                                      static_cast<std::int64_t>(far.size()), bits, counts.data());
        for (std::size_t k = 0; k < far.size(); ++k)
            out.data()[row * count + static_cast<std::size_t>(places[k])] = counts[k] + 1;
    }
}

}  // namespace

void bind_anchors(nb::module_ &m) {
    m.def("pair_sums", &pair_sums, "kept"_a.noconvert(), "embedded"_a.noconvert(), "scale"_a, "out"_a.noconvert());
    m.def("keys_before", &keys_before, "keys"_a.noconvert(), "wanted"_a.noconvert(), "bits"_a, "out"_a.noconvert());
    m.def("order_points", &order_points, "squared"_a.noconvert(), "anchors"_a.noconvert(), "count"_a, "bits"_a,
          "keys"_a.noconvert(), "nearest"_a.noconvert(), "limits"_a.noconvert());
    m.def("ranks_of_points", &ranks_of_points, "keys"_a.noconvert(), "nearest"_a.noconvert(), "limits"_a.noconvert(),
          "points"_a.noconvert(), "exact"_a, "bits"_a, "out"_a.noconvert());
}

}  // namespace mlcli
