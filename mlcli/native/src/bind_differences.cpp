// Python binding of sums over columns of what rows differ by.
#include "bindings.hpp"

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

}  // namespace

void bind_differences(nb::module_ &m) {
    m.def("differences", &differences, "kind"_a, "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
