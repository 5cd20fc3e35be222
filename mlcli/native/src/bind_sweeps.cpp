// Python binding of the sweeps over the weights of non-negative parts.
#include "bindings.hpp"

#include <vector>

#include "kernels.hpp"

namespace mlcli {
namespace {

void sweep_rows(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<double> values,
                Matrix<const double> parts, Matrix<const double> gram, std::int64_t count, std::int64_t sweeps,
                Matrix<double> weights, Matrix<double> products) {
    const std::size_t rows = weights.shape(0), stride = weights.shape(1), width = parts.shape(0);
    require(stride % LANES == 0 && parts.shape(1) == stride && gram.shape(0) == stride && gram.shape(1) == stride &&
                products.shape(0) == width && products.shape(1) == stride,
            "parts, gram, weights and products must be equally wide, padded to 8 numbers");
    require(count >= 0 && static_cast<std::size_t>(count) <= stride && sweeps >= 0, "there are too many parts");
    require(starts.size() == rows + 1 && columns.size() == values.size(), "rows must have starts, and entries a column");
    require(starts.data()[0] >= 0 && static_cast<std::size_t>(starts.data()[rows]) <= values.size(),
            "starts are out of range");
    bool rising = true, inside = true;
    for (std::size_t row = 0; row < rows; ++row) rising &= starts.data()[row] <= starts.data()[row + 1];
    require(rising, "starts must not descend");
    for (std::int64_t e = starts.data()[0]; e < starts.data()[rows]; ++e)
        inside &= columns.data()[e] >= 0 && static_cast<std::size_t>(columns.data()[e]) < width;
    require(inside, "a column is out of range");
    nb::gil_scoped_release release;
    const auto lanes = static_cast<std::int64_t>(stride);
    std::vector<double> scratch(static_cast<std::size_t>(kernels<double>().sweeps_scratch(lanes)));
    kernels<double>().sweep_rows(starts.data(), columns.data(), values.data(), static_cast<std::int64_t>(rows),
                                 parts.data(), gram.data(), count, lanes, sweeps, weights.data(), products.data(),
                                 scratch.data());
}

}  // namespace

void bind_sweeps(nb::module_ &m) {
    m.def("sweep_rows", &sweep_rows, "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
          "parts"_a.noconvert(), "gram"_a.noconvert(), "count"_a, "sweeps"_a, "weights"_a.noconvert(),
          "products"_a.noconvert());
}

}  // namespace mlcli
