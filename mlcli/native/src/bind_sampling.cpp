// Python binding of the steps by sampled forces.
#include "bindings.hpp"

#include <vector>

#include "kernels.hpp"

namespace mlcli {
namespace {


nb::tuple sample_rows(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<std::uint32_t> rates,
                   Vector<std::int32_t> numbers, Matrix<const double> own, std::int64_t first,
                   Matrix<const double> points, Vector<double> curve, std::int64_t samples, std::uint32_t epoch,
                   std::uint64_t key, double rate, Matrix<double> out) {
    const std::size_t rows = own.shape(0), axes = points.shape(1), count = points.shape(0);
    require(axes > 0 && own.shape(1) == axes && out.shape(1) == axes && out.shape(0) == rows,
            "positions must be equally wide, and as many before as after");
    require(count > 0 && count <= (std::size_t{1} << 31), "there must be points, and no more than 2^31");
    require(curve.size() == 5 && samples >= 0, "a curve has five numbers, and samples a count");
    require(starts.size() == rows + 1 && columns.size() == rates.size() && columns.size() == numbers.size(),
            "rows must have starts, and edges a column, a rate and a number");
    require(starts.data()[0] >= 0 && static_cast<std::size_t>(starts.data()[rows]) <= columns.size(),
            "starts are out of range");
    bool rising = true, inside = true;
    for (std::size_t row = 0; row < rows; ++row) rising &= starts.data()[row] <= starts.data()[row + 1];
    require(rising, "starts must not descend");
    for (std::int64_t item = starts.data()[0]; item < starts.data()[rows]; ++item)
        inside &= columns.data()[item] >= 0 && static_cast<std::size_t>(columns.data()[item]) < count;
    require(inside, "a column is out of range");
    const double *form = curve.data();
    std::vector<double> scratch(axes * PAIRS);
    std::int64_t due = 0;
    double cost;
    {
        nb::gil_scoped_release release;
        cost = kernels<double>().sample_rows(
            {starts.data(), columns.data(), rates.data(), numbers.data()}, own.data(), static_cast<std::int64_t>(rows),
            first, points.data(), static_cast<std::int64_t>(count), static_cast<std::int64_t>(axes),
            {form[0], form[1], form[2], form[3], form[4]}, {samples, epoch, key}, rate, scratch.data(), out.data(), &due);
    }
    return nb::make_tuple(cost, due);
}

}  // namespace

void bind_sampling(nb::module_ &m) {
    m.def("sample_rows", &sample_rows, "starts"_a.noconvert(), "columns"_a.noconvert(), "rates"_a.noconvert(),
          "numbers"_a.noconvert(), "own"_a.noconvert(), "first"_a, "points"_a.noconvert(), "curve"_a.noconvert(),
          "samples"_a, "epoch"_a, "key"_a, "rate"_a, "out"_a.noconvert());
}

}  // namespace mlcli
