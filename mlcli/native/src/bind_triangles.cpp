// Python binding of the search for sides that are longer than a way around.
#include "bindings.hpp"

#include "kernels.hpp"

namespace mlcli {
namespace {

void undercuts(Matrix<const double> lengths, std::int64_t first, Matrix<const bool> wanted, double slack,
               Target<std::int64_t> counts, Matrix<double> least) {
    const std::size_t size = lengths.shape(0), rows = wanted.shape(0);
    require(lengths.shape(1) == size && wanted.shape(1) == size && least.shape(1) == size,
            "lengths must be square, and wanted and least as wide");
    require(counts.size() == rows && least.shape(0) == rows, "counts and least must have an entry for every row of wanted");
    require(first >= 0 && static_cast<std::size_t>(first) + rows <= size, "the rows are out of range");
    const double *from = lengths.data() + static_cast<std::size_t>(first) * size;
    nb::gil_scoped_release release;
    std::fill_n(counts.data(), rows, std::int64_t{0});
    for (std::size_t right = 0; right < size; ++right)  // its row stays near while the others pass
        for (std::size_t row = 0; row < rows; ++row)
            if (wanted.data()[row * size + right])
                counts.data()[row] += kernels<double>().around(
                    from + row * size, lengths.data() + right * size, static_cast<std::int64_t>(size),
                    from[row * size + right] - slack, least.data() + row * size + right);
}

}  // namespace

void bind_triangles(nb::module_ &m) {
    m.def("undercuts", &undercuts, "lengths"_a.noconvert(), "first"_a, "wanted"_a.noconvert(), "slack"_a,
          "counts"_a.noconvert(), "least"_a.noconvert());
}

}  // namespace mlcli
