// Python bindings of products of rows: of their columns with each other, with a matrix, a few vectors, and other rows.
#include "bindings.hpp"

#include <memory>

#include "bytes.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

// Scratch aligned to the widest vectors.
template <class T> struct Scratch {
    explicit Scratch(std::int64_t size) : numbers(new T[static_cast<std::size_t>(size) + 64 / sizeof(T)]) {
        const auto place = reinterpret_cast<std::uintptr_t>(numbers.get());
        first = reinterpret_cast<T *>((place + 63) / 64 * 64);
    }
    std::unique_ptr<T[]> numbers;
    T *first;
};

void gram(nb::ndarray<const double, nb::ndim<2>, nb::device::cpu> rows, Vector<double> shift, Matrix<double> out, Target<double> sums) {
    const auto columns = static_cast<std::int64_t>(rows.shape(1));
    require(static_cast<std::int64_t>(shift.size()) == columns && static_cast<std::int64_t>(sums.size()) == columns,
            "shift and sums must have a number for every column");
    require(static_cast<std::int64_t>(out.shape(0)) == columns && static_cast<std::int64_t>(out.shape(1)) == columns,
            "out must have a row and a column for every column");
    nb::gil_scoped_release release;
    const Scratch<double> scratch(kernels<double>().gram_scratch(columns));
    kernels<double>().gram(rows.data(), rows.stride(0), rows.stride(1), static_cast<std::int64_t>(rows.shape(0)), columns,
                           shift.data(), out.data(), sums.data(), scratch.first);
}

void project(Matrix<const double> rows, Vector<double> shift, Matrix<const double> right, Matrix<double> out,
             Target<double> norms) {
    const auto columns = static_cast<std::int64_t>(rows.shape(1)), others = static_cast<std::int64_t>(right.shape(1));
    require(static_cast<std::int64_t>(shift.size()) == columns && static_cast<std::int64_t>(right.shape(0)) == columns,
            "shift and right must have an entry for every column");
    require(out.shape(0) == rows.shape(0) && norms.size() == rows.shape(0) && out.shape(1) == right.shape(1),
            "out and norms must have an entry for every row");
    nb::gil_scoped_release release;
    const Scratch<double> scratch(kernels<double>().project_scratch(columns, others));
    kernels<double>().project(rows.data(), static_cast<std::int64_t>(rows.shape(0)), columns, shift.data(),
                              right.data(), others, out.data(), norms.data(), scratch.first);
}

void lift_rows(Matrix<const double> rows, Vector<double> shift, Matrix<const double> vectors, Vector<double> less,
               Matrix<double> out) {
    require(shift.size() == rows.shape(1) && vectors.shape(1) == rows.shape(1), "shift and vectors must have an entry for every column");
    require(less.size() == vectors.shape(0) && out.shape(0) == rows.shape(0) && out.shape(1) == vectors.shape(0),
            "less must have an entry for every vector, and out one for every row and vector");
    nb::gil_scoped_release release;
    kernels<double>().lift_rows(rows.data(), static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(rows.shape(1)),
                                shift.data(), vectors.data(), static_cast<std::int64_t>(vectors.shape(0)), less.data(), out.data());
}

void lower_rows(Matrix<const double> rows, Vector<double> shift, Matrix<const double> left, Matrix<double> out) {
    require(shift.size() == rows.shape(1) && out.shape(1) == rows.shape(1), "shift and out must have an entry for every column");
    require(left.shape(0) == rows.shape(0) && left.shape(1) == out.shape(0),
            "left must have an entry for every row and vector");
    nb::gil_scoped_release release;
    kernels<double>().lower_rows(rows.data(), static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(rows.shape(1)),
                                 shift.data(), left.data(), static_cast<std::int64_t>(left.shape(1)), out.data());
}

void products_of_rows(Matrix<const float> rows, Matrix<const float> right, Matrix<float> out) {
    const auto others = static_cast<std::int64_t>(right.shape(0));
    require(rows.shape(1) == right.shape(1), "both sides must have equally many columns");
    require(out.shape(0) == rows.shape(0) && out.shape(1) == right.shape(0), "out must have an entry for every pair");
    nb::gil_scoped_release release;
    const Scratch<float> scratch(kernels<float>().rows_scratch(others));
    kernels<float>().products_of_rows(rows.data(), static_cast<std::int64_t>(rows.shape(0)), right.data(), others,
                                      static_cast<std::int64_t>(rows.shape(1)), out.data(), scratch.first);
}

void row_products(Matrix<const double> left, Matrix<const double> right,
                  nb::ndarray<double, nb::ndim<2>, nb::device::cpu> out) {
    const auto count = static_cast<std::int64_t>(left.shape(0)), others = static_cast<std::int64_t>(right.shape(0));
    require(left.shape(1) == right.shape(1), "both sides must have equally many columns");
    require(out.shape(0) == left.shape(0) && out.shape(1) == right.shape(0), "out must have an entry for every pair");
    require(out.stride(1) == 1, "the numbers of a row of out must lie side by side");
    nb::gil_scoped_release release;
    const Scratch<double> scratch(kernels<double>().row_products_scratch(count, others));
    kernels<double>().row_products(left.data(), count, right.data(), others, static_cast<std::int64_t>(left.shape(1)),
                                   out.data(), out.stride(0), scratch.first);
}

void products_of_bytes(Matrix<const std::int32_t> rows, Matrix<const std::int32_t> right, Vector<std::int32_t> sums,
                       Matrix<float> out) {
    const auto others = static_cast<std::int64_t>(right.shape(0)), words = static_cast<std::int64_t>(right.shape(1));
    require(byte_kernels() != nullptr, "this machine has no kernels for products of bytes");
    require(static_cast<std::int64_t>(rows.shape(1)) == words, "both sides must have equally many columns");
    require(static_cast<std::int64_t>(sums.size()) == others, "sums must have a number for every row of the right side");
    require(out.shape(0) == rows.shape(0) && out.shape(1) == right.shape(0), "out must have an entry for every pair");
    nb::gil_scoped_release release;
    const Scratch<std::int32_t> scratch(byte_kernels()->scratch(others, words));
    byte_kernels()->products(rows.data(), static_cast<std::int64_t>(rows.shape(0)), right.data(), others, words,
                             sums.data(), out.data(), scratch.first);
}

}  // namespace

void bind_products(nb::module_ &m) {
    m.def("gram", &gram, "rows"_a.noconvert(), "shift"_a.noconvert(), "out"_a.noconvert(), "sums"_a.noconvert());
    m.def("project", &project, "rows"_a.noconvert(), "shift"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert(),
          "norms"_a.noconvert());
    m.def("lift_rows", &lift_rows, "rows"_a.noconvert(), "shift"_a.noconvert(), "vectors"_a.noconvert(),
          "less"_a.noconvert(), "out"_a.noconvert());
    m.def("lower_rows", &lower_rows, "rows"_a.noconvert(), "shift"_a.noconvert(), "left"_a.noconvert(),
          "out"_a.noconvert());
    m.def("has_byte_products", [] { return byte_kernels() != nullptr; });
    m.def("products_of_bytes", &products_of_bytes, "rows"_a.noconvert(), "right"_a.noconvert(), "sums"_a.noconvert(),
          "out"_a.noconvert());
    m.def("products_of_rows", &products_of_rows, "rows"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
    m.def("row_products", &row_products, "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
