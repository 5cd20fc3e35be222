// Python binding of the sums over pairs that a step of majorization of stress takes.
#include "bindings.hpp"

#include "kernels.hpp"

namespace mlcli {
namespace {

void stress_rows(Matrix<const double> points, Matrix<const double> sources, Matrix<const double> lengths,
                 Matrix<const double> weights, std::int64_t first, std::int64_t last, Matrix<double> pulled,
                 Matrix<double> spread, Matrix<double> sums) {
    const std::size_t places = points.shape(0), size = lengths.shape(1), axes = points.shape(1);
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= places, "rows are out of range");
    const auto start = static_cast<std::size_t>(first), count = static_cast<std::size_t>(last - first);
    require(sources.shape(0) == axes && sources.shape(1) + 1 >= size + LANES,
            "sources must lie axis by axis, with room behind them");
    require(lengths.shape(0) == places, "there must be a length for every pair");
    const bool weighted = weights.shape(0) != 0;
    require(!weighted || (weights.shape(0) == places && weights.shape(1) == size),
            "there must be a weight for every pair, or none");
    require(pulled.shape(0) == count && pulled.shape(1) == axes && sums.shape(0) == count && sums.shape(1) == 3 &&
                (!weighted || (spread.shape(0) == count && spread.shape(1) == axes)),
            "pulled, spread and sums must have a row for every row");
    nb::gil_scoped_release release;
    kernels<double>().stress_rows(points.data() + start * axes, last - first, sources.data(),
                                  static_cast<std::int64_t>(sources.shape(1)), static_cast<std::int64_t>(size),
                                  lengths.data() + start * size, weighted ? weights.data() + start * size : nullptr,
                                  static_cast<int>(axes), pulled.data(), spread.data(), sums.data());
}

}  // namespace

void bind_stress(nb::module_ &m) {
    m.def("stress_rows", &stress_rows, "points"_a.noconvert(), "sources"_a.noconvert(), "lengths"_a.noconvert(),
          "weights"_a.noconvert(), "first"_a, "last"_a, "pulled"_a.noconvert(), "spread"_a.noconvert(),
          "sums"_a.noconvert());
}

}  // namespace mlcli
