// Python binding of products with a tile of a Gaussian kernel.
#include "bindings.hpp"

#include "buffer.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

constexpr std::size_t MOST = 1 << 15;  // rows, columns, parts and vectors of a tile: products of two fit

template <class T>
double gaussian_tile(Matrix<const T> left, Matrix<const T> right, Matrix<const T> column_vectors,
                     Matrix<const T> row_vectors, Matrix<double> out_rows, Matrix<double> out_columns) {
    const std::size_t rows = left.shape(0), columns = right.shape(0), parts = left.shape(1);
    const std::size_t width = column_vectors.shape(1);
    require(std::max({rows, columns, parts, width}) <= MOST, "the tile is too large");
    require(right.shape(1) == parts, "left and right must be equally wide");
    require(column_vectors.shape(0) == columns && out_rows.shape(0) == rows && out_rows.shape(1) == width,
            "vectors must have a row for every column, and out_rows for every row");
    const bool both = row_vectors.shape(0) != 0;
    require(!both || (row_vectors.shape(0) == rows && row_vectors.shape(1) == width && out_columns.shape(0) == columns &&
                      out_columns.shape(1) == width),
            "vectors must have a row for every row, and out_columns for every column");
    nb::gil_scoped_release release;
    const Kernels<T> &kernel = kernels<T>();
    const auto m = static_cast<std::int64_t>(rows), n = static_cast<std::int64_t>(columns);
    const int c = static_cast<int>(parts), w = static_cast<int>(width);
    const Buffer<T> scratch(kernel.gaussian_scratch(m, n, c, w));
    return kernel.gaussian_tile(left.data(), m, right.data(), n, c, column_vectors.data(),
                                both ? row_vectors.data() : nullptr, w, out_rows.data(), out_columns.data(),
                                scratch.get());
}

template <class T> void bind_tiles(nb::module_ &m) {
    m.def("gaussian_tile", &gaussian_tile<T>, "left"_a.noconvert(), "right"_a.noconvert(),
          "column_vectors"_a.noconvert(), "row_vectors"_a.noconvert(), "out_rows"_a.noconvert(),
          "out_columns"_a.noconvert());
}

}  // namespace

void bind_gaussian(nb::module_ &m) {
    bind_tiles<float>(m);
    bind_tiles<double>(m);
}

}  // namespace mlcli
