// Python binding of sums over columns of what rows differ by.
#include "bindings.hpp"

#include "buffer.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

void differences(int kind, Matrix<const double> left, Matrix<const double> right, Matrix<double> out) {
    require(kind >= 0 && kind < DIFFERENCES, "there is no such kind of difference");
    require(left.shape(1) == right.shape(1), "left and right must be equally wide");
    require(out.shape(0) == left.shape(0) && out.shape(1) == right.shape(0), "out must hold a number for every pair");
    nb::gil_scoped_release release;
    kernels<double>().differences[kind](left.data(), static_cast<std::int64_t>(left.shape(0)), right.data(),
                                        static_cast<std::int64_t>(right.shape(0)),
                                        static_cast<std::int64_t>(left.shape(1)), out.data());
}

void amount_distances(int kind, Matrix<const double> left, Matrix<const double> right, Matrix<double> out) {
    require(kind >= 0 && kind < AMOUNTS, "there is no such kind of distance");
    require(left.shape(1) == right.shape(1), "left and right must be equally wide");
    require(out.shape(0) == left.shape(0) && out.shape(1) == right.shape(0), "out must hold a number for every pair");
    nb::gil_scoped_release release;
    const Kernels<double> &kernel = kernels<double>();
    const auto rows = static_cast<std::int64_t>(left.shape(0)), others = static_cast<std::int64_t>(right.shape(0));
    const Buffer<double> scratch(kernel.amount_scratch(rows, others));
    kernel.amount_distances[kind](left.data(), rows, right.data(), others, static_cast<std::int64_t>(left.shape(1)), out.data(),
                        scratch.get());
}

void squared_at(Matrix<const double> rows, Matrix<const double> points, Matrix<const std::int64_t> chosen,
                Matrix<double> out) {
    const auto size = static_cast<std::int64_t>(chosen.shape(1)), columns = static_cast<std::int64_t>(points.shape(1));
    require(rows.shape(1) == points.shape(1), "rows and points must be equally wide");
    require(chosen.shape(0) == rows.shape(0) && out.shape(0) == rows.shape(0) && out.shape(1) == chosen.shape(1),
            "chosen and out must have a row for every row");
    for (std::size_t place = 0; place < chosen.size(); ++place)
        require(chosen.data()[place] >= 0 && chosen.data()[place] < static_cast<std::int64_t>(points.shape(0)),
                "a point that is chosen is not there");
    nb::gil_scoped_release release;
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(rows.shape(0)); ++row)
        kernels<double>().squared_at(rows.data() + row * columns, points.data(), columns, chosen.data() + row * size, size,
                                     out.data() + row * size);
}

}  // namespace

void bind_differences(nb::module_ &m) {
    m.def("differences", &differences, "kind"_a, "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
    m.def("amount_distances", &amount_distances, "kind"_a, "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
    m.def("squared_at", &squared_at, "rows"_a.noconvert(), "points"_a.noconvert(), "chosen"_a.noconvert(),
          "out"_a.noconvert());
}

}  // namespace mlcli
