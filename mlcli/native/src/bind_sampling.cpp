// Python bindings of the steps by sampled forces, and of those that keep local radii.
#include "bindings.hpp"

#include <vector>

#include "kernels.hpp"

namespace mlcli {
namespace {

Curve curve_of(const Vector<double> &curve) {
    require(curve.size() == 5, "a curve has five numbers");
    const double *form = curve.data();
    return {form[0], form[1], form[2], form[3], form[4]};
}

// Raises for edges of rows that do not lie within the columns, or lead to none of `count` points.
void require_edges(const Vector<std::int64_t> &starts, const Vector<std::int32_t> &columns, std::size_t rows,
                   std::size_t count) {
    require(starts.size() == rows + 1, "rows must have starts");
    require(starts.data()[0] >= 0 && static_cast<std::size_t>(starts.data()[rows]) <= columns.size(),
            "starts are out of range");
    bool rising = true, inside = true;
    for (std::size_t row = 0; row < rows; ++row) rising &= starts.data()[row] <= starts.data()[row + 1];
    require(rising, "starts must not descend");
    for (std::int64_t item = starts.data()[0]; item < starts.data()[rows]; ++item)
        inside &= columns.data()[item] >= 0 && static_cast<std::size_t>(columns.data()[item]) < count;
    require(inside, "a column is out of range");
}

// The number of points, of which so many rows from `first` on are some.
std::int64_t require_rows(const Matrix<const double> &points, std::int64_t first, std::size_t rows) {
    const std::size_t count = points.shape(0);
    require(first >= 0 && static_cast<std::size_t>(first) + rows <= count && points.shape(1) > 0,
            "rows are out of range");
    return static_cast<std::int64_t>(rows);
}

nb::tuple sample_rows(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<std::uint32_t> rates,
                   Vector<std::int32_t> numbers, Matrix<const double> own, std::int64_t first,
                   Matrix<const double> points, Vector<double> curve, std::int64_t samples, std::uint32_t epoch,
                   std::uint64_t key, double rate, Matrix<double> out) {
    const std::size_t rows = own.shape(0), axes = points.shape(1), count = points.shape(0);
    require(axes > 0 && own.shape(1) == axes && out.shape(1) == axes && out.shape(0) == rows,
            "positions must be equally wide, and as many before as after");
    require(count > 0 && count <= (std::size_t{1} << 31), "there must be points, and no more than 2^31");
    require(samples >= 0, "samples are a count");
    const Curve form = curve_of(curve);
    require_edges(starts, columns, rows, count);
    require(columns.size() == rates.size() && columns.size() == numbers.size(), "edges must have a rate and a number");
    std::vector<double> scratch(axes * PAIRS);
    std::int64_t due = 0;
    double cost;
    {
        nb::gil_scoped_release release;
        cost = kernels<double>().sample_rows(
            {starts.data(), columns.data(), rates.data(), numbers.data()}, own.data(), static_cast<std::int64_t>(rows),
            first, points.data(), static_cast<std::int64_t>(count), static_cast<std::int64_t>(axes),
            form, {samples, epoch, key}, rate, scratch.data(), out.data(), &due);
    }
    return nb::make_tuple(cost, due);
}

void radii_rows(Vector<std::int64_t> starts, Vector<std::int32_t> columns, std::int64_t first,
                Matrix<const double> points, Vector<double> curve, double least, Matrix<double> out) {
    const std::int64_t rows = require_rows(points, first, out.shape(0));
    require_edges(starts, columns, out.shape(0), points.shape(0));
    require(out.shape(1) == 3, "a radius has three numbers");
    const Curve form = curve_of(curve);
    std::vector<double> scratch(points.shape(1) * PAIRS);
    nb::gil_scoped_release release;
    kernels<double>().radii_rows(starts.data(), columns.data(), rows, first, points.data(),
                                 static_cast<std::int64_t>(points.shape(1)), form, least, scratch.data(), out.data());
}

void density_rows(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<std::uint32_t> rates,
                  std::int64_t first, Matrix<const double> points, Matrix<const double> pulls, Vector<double> curve,
                  std::uint32_t epoch, double rate, Matrix<double> out) {
    const std::int64_t rows = require_rows(points, first, out.shape(0));
    require_edges(starts, columns, out.shape(0), points.shape(0));
    require(columns.size() == rates.size(), "edges must have a rate");
    require(out.shape(1) == points.shape(1), "positions must be equally wide");
    require(pulls.shape(0) == points.shape(0) && pulls.shape(1) == 2, "a point has two pulls");
    const Curve form = curve_of(curve);
    std::vector<double> scratch(points.shape(1) * PAIRS);
    nb::gil_scoped_release release;
    kernels<double>().density_rows({starts.data(), columns.data(), rates.data(), nullptr}, rows, first, points.data(),
                                   static_cast<std::int64_t>(points.shape(1)), pulls.data(), form, epoch, rate,
                                   scratch.data(), out.data());
}

}  // namespace

void bind_sampling(nb::module_ &m) {
    m.def("sample_rows", &sample_rows, "starts"_a.noconvert(), "columns"_a.noconvert(), "rates"_a.noconvert(),
          "numbers"_a.noconvert(), "own"_a.noconvert(), "first"_a, "points"_a.noconvert(), "curve"_a.noconvert(),
          "samples"_a, "epoch"_a, "key"_a, "rate"_a, "out"_a.noconvert());
    m.def("radii_rows", &radii_rows, "starts"_a.noconvert(), "columns"_a.noconvert(), "first"_a, "points"_a.noconvert(),
          "curve"_a.noconvert(), "least"_a, "out"_a.noconvert());
    m.def("density_rows", &density_rows, "starts"_a.noconvert(), "columns"_a.noconvert(), "rates"_a.noconvert(),
          "first"_a, "points"_a.noconvert(), "pulls"_a.noconvert(), "curve"_a.noconvert(), "epoch"_a, "rate"_a,
          "out"_a.noconvert());
}

}  // namespace mlcli
