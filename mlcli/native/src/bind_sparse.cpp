// Python bindings of products of sparse rows with a few vectors.
#include "bindings.hpp"

#include "kernels.hpp"

namespace mlcli {
namespace {

constexpr std::size_t BAND = 8;  // that of sparse.hpp

struct Entries {
    const std::int64_t *starts;
    const std::int32_t *columns;
    const double *values;
    std::int64_t rows;
};

// Raises a ValueError where the entries are no rows of `size` columns.
Entries entries(const Vector<std::int64_t> &starts, const Vector<std::int32_t> &columns, const Vector<double> &values,
                std::size_t size) {
    const std::size_t count = columns.size();
    require(starts.size() > 0 && starts(0) == 0 && static_cast<std::size_t>(starts(starts.size() - 1)) == count &&
                values.size() == count && std::is_sorted(starts.data(), starts.data() + starts.size()),
            "starts must cut the entries into rows");
    std::int32_t least = 0, most = -1;
    for (std::size_t k = 0; k < count; ++k) {
        least = std::min(least, columns(k));
        most = std::max(most, columns(k));
    }
    require(least >= 0 && most < static_cast<std::int64_t>(size), "columns must be those of the matrix");
    return {starts.data(), columns.data(), values.data(), static_cast<std::int64_t>(starts.size()) - 1};
}

void multiply_sparse(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<double> values,
                     Matrix<const double> right, Vector<double> less, Matrix<double> out, Matrix<double> images) {
    const std::size_t stride = right.shape(1);
    require(stride % BAND == 0 && less.size() == stride && out.shape(1) == stride && images.shape(1) == stride,
            "vectors must be padded to whole bands");
    require(out.shape(0) + 1 == starts.size() && (images.shape(0) == 0 || images.shape(0) == right.shape(0)),
            "out must have a row for every row, and images one for every column");
    nb::gil_scoped_release release;
    const Entries some = entries(starts, columns, values, right.shape(0));
    kernels<double>().multiply_sparse(some.starts, some.columns, some.values, some.rows, right.data(), less.data(),
                                      static_cast<std::int64_t>(stride), out.data(),
                                      images.shape(0) == 0 ? nullptr : images.data());
}

void lower_sparse(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<double> values,
                  Matrix<const double> left, Matrix<double> out) {
    const std::size_t stride = left.shape(1);
    require(stride % BAND == 0 && out.shape(1) == stride, "vectors must be padded to whole bands");
    require(left.shape(0) + 1 == starts.size(), "left must have a row for every row");
    nb::gil_scoped_release release;
    const Entries some = entries(starts, columns, values, out.shape(0));
    kernels<double>().lower_sparse(some.starts, some.columns, some.values, some.rows, left.data(),
                                   static_cast<std::int64_t>(stride), out.data());
}

}  // namespace

void bind_sparse(nb::module_ &m) {
    m.def("multiply_sparse", &multiply_sparse, "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
          "right"_a.noconvert(), "less"_a.noconvert(), "out"_a.noconvert(), "images"_a.noconvert());
    m.def("lower_sparse", &lower_sparse, "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
          "left"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
