// Python bindings of the sums over all pairs of functions of squared distances, with their derivatives.
#include "bindings.hpp"

#include <vector>

#include "kernels.hpp"

namespace mlcli {
namespace {

constexpr std::size_t SERIES = 15;  // numbers of the series of a first and of a second derivative

// Calls a kernel with what all of them take, once that is checked.
template <class Sum>
void sum_pairs(const Sum &sum, int order, const Matrix<const double> &places, const Matrix<const double> &sources,
               const Vector<std::int64_t> &own, const Matrix<double> &out) {
    const std::size_t count = places.shape(0), axes = places.shape(1);
    require(order == 1 || order == 2, "the order is that of the highest derivative: 1 or 2");
    const std::size_t width = 2 + axes + (order == 2 ? axes * (axes + 1) / 2 : 0);
    require(sources.shape(0) == axes && sources.shape(1) + 1 >= LANES,
            "sources must lie axis by axis, with room behind them");
    require(own.size() == count && out.shape(0) == count && out.shape(1) == width,
            "there must be an own point for every place, and room for its sums");
    const auto stride = static_cast<std::int64_t>(sources.shape(1));
    nb::gil_scoped_release release;
    std::vector<double> scratch((axes + 1) * PAIRS + 8 * width);
    sum(places.data(), static_cast<std::int64_t>(count), sources.data(), stride,
        stride + 1 - static_cast<std::int64_t>(LANES), own.data(), static_cast<int>(axes), scratch.data(), out.data());
}

void student_sums(Matrix<const double> places, Matrix<const double> sources, Vector<std::int64_t> own, double dof,
                  int order, Matrix<double> out) {
    require(dof > 0, "the degrees of freedom must be positive");
    sum_pairs([&](auto... all) { kernels<double>().student_sums(dof, order, all...); }, order, places, sources, own, out);
}

void membership_sums(Matrix<const double> places, Matrix<const double> sources, Vector<std::int64_t> own, double a,
                     double b, double near, int order, Matrix<double> out) {
    const Curve curve = {a, b, 1, near, 0};
    sum_pairs([&](auto... all) { kernels<double>().membership_sums(curve, order, all...); }, order, places, sources, own,
              out);
}

void membership_rests(Matrix<const double> places, Matrix<const double> sources, Vector<std::int64_t> own, double a,
                      double b, double near, double limit, Vector<double> series, Matrix<const std::int64_t> ranges,
                      Matrix<double> out) {
    const Curve curve = {a, b, 1, near, 0};
    require(series.size() == SERIES, "a series has eight numbers, and seven");
    require(ranges.shape(0) == places.shape(0) && ranges.shape(1) == 2, "there must be a range for every place");
    require(sources.shape(1) + 1 >= LANES, "sources must lie axis by axis, with room behind them");
    const std::int64_t *range = ranges.data(), size = static_cast<std::int64_t>(sources.shape(1) + 1 - LANES);
    bool inside = true;
    for (std::size_t i = 0; i < ranges.shape(0); ++i)
        inside &= range[2 * i] >= 0 && range[2 * i] <= range[2 * i + 1] && range[2 * i + 1] <= size;
    require(inside, "a range is not among the sources");
    const auto sum = [&](const double *rows, std::int64_t count, const double *others, std::int64_t stride,
                         std::int64_t all, auto... rest) {
        kernels<double>().membership_rests(curve, limit, series.data(), rows, count, others, stride, all, range, rest...);
    };
    sum_pairs(sum, 2, places, sources, own, out);
}

}  // namespace

void bind_radial(nb::module_ &m) {
    m.def("student_sums", &student_sums, "places"_a.noconvert(), "sources"_a.noconvert(), "own"_a.noconvert(), "dof"_a,
          "order"_a, "out"_a.noconvert());
    m.def("membership_sums", &membership_sums, "places"_a.noconvert(), "sources"_a.noconvert(), "own"_a.noconvert(),
          "a"_a, "b"_a, "near"_a, "order"_a, "out"_a.noconvert());
    m.def("membership_rests", &membership_rests, "places"_a.noconvert(), "sources"_a.noconvert(), "own"_a.noconvert(),
          "a"_a, "b"_a, "near"_a, "limit"_a, "series"_a.noconvert(), "ranges"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
