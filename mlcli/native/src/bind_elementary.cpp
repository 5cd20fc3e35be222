// Python bindings of exponentials, logarithms, and rotations of a small matrix.
#include "bindings.hpp"

#include "jacobi.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

using Elementary = void (*)(const double *, std::int64_t, double *);

template <Elementary Kernels<double>::*function> void each_number(Vector<double> values, Target<double> out) {
    require(values.size() == out.size(), "there must be a place for every number");
    nb::gil_scoped_release release;
    (kernels<double>().*function)(values.data(), static_cast<std::int64_t>(values.size()), out.data());
}

void rotate(Matrix<double> matrix, Matrix<double> rows, Matrix<const std::int64_t> pairs) {
    const auto size = static_cast<std::int64_t>(matrix.shape(0));
    require(matrix.shape(0) == matrix.shape(1) && size % 2 == 0, "matrix must be square, with an even number of rows");
    require(rows.shape(0) == matrix.shape(0) && rows.shape(1) == matrix.shape(1), "rows must have its shape");
    require(pairs.shape(1) == matrix.shape(0), "pairs must have a row for each turn, with a number for each row");
    for (std::size_t i = 0; i < pairs.size(); ++i)
        require(pairs.data()[i] >= 0 && pairs.data()[i] < size, "pairs must be rows of the matrix");
    nb::gil_scoped_release release;
    jacobi_sweep(matrix.data(), rows.data(), size, pairs.data(), static_cast<std::int64_t>(pairs.shape(0)));
}

}  // namespace

void bind_elementary(nb::module_ &m) {
    m.def("exponentials", &each_number<&Kernels<double>::exponentials>, "values"_a.noconvert(), "out"_a.noconvert());
    m.def("logarithms", &each_number<&Kernels<double>::logarithms>, "values"_a.noconvert(), "out"_a.noconvert());
    m.def("powers_of_two", &each_number<&Kernels<double>::powers_of_two>, "values"_a.noconvert(), "out"_a.noconvert());
    m.def("rotate", &rotate, "matrix"_a.noconvert(), "rows"_a.noconvert(), "pairs"_a.noconvert());
}

}  // namespace mlcli
