// Python binding of products of a kernel with permuted columns of a design.
#include "bindings.hpp"

#include "buffer.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

void permuted_products(Matrix<const double> tile, std::int64_t first, std::int64_t low, Matrix<const std::int32_t> orders,
                       Matrix<const std::int32_t> codes, Matrix<const double> numbers, Matrix<double> out) {
    const auto rows = static_cast<std::int64_t>(tile.shape(0)), columns = static_cast<std::int64_t>(tile.shape(1));
    const auto count = static_cast<std::int64_t>(orders.shape(0)), size = static_cast<std::int64_t>(orders.shape(1));
    const int terms = static_cast<int>(codes.shape(0));
    require(first >= 0 && low >= 0 && first + rows <= size && low + columns <= size, "the tile is not in the kernel");
    require(codes.shape(1) == orders.shape(1) && numbers.shape(0) == codes.shape(0) && numbers.shape(1) == codes.shape(1),
            "codes and numbers must have one for each row");
    require(out.shape(0) == orders.shape(0), "out must have products for each permutation");
    std::int64_t width = 1;
    while (width * width < static_cast<std::int64_t>(out.shape(1))) ++width;
    require(width * width == static_cast<std::int64_t>(out.shape(1)), "products must be square");
    for (std::size_t k = 0; k < codes.size(); ++k)
        require(codes.data()[k] == -1 || (codes.data()[k] >= 1 && codes.data()[k] < width), "a code has no column");
    for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t k = 0; k < rows + columns; ++k) {
            const std::int32_t row = orders.data()[p * size + (k < rows ? first + k : low + k - rows)];
            require(row >= 0 && row < size, "a row is not there");
        }
    nb::gil_scoped_release release;
    const Kernels<double> &kernel = kernels<double>();
    const Buffer<double> scratch(kernel.trace_scratch(rows, columns, terms, static_cast<int>(width)));
    kernel.permuted_products(tile.data(), rows, columns, first, low, orders.data(), count, size, codes.data(),
                             numbers.data(), terms, static_cast<int>(width), out.data(), scratch.get());
}

}  // namespace

void bind_traces(nb::module_ &m) {
    m.def("permuted_products", &permuted_products, "tile"_a.noconvert(), "first"_a, "low"_a, "orders"_a.noconvert(),
          "codes"_a.noconvert(), "numbers"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
