// Python bindings of sums and counts over distances from anchors to all points.
#include "bindings.hpp"

#include "kernels.hpp"

namespace mlcli {
namespace {

constexpr std::size_t SUMS = 8;

void pair_sums(Matrix<const double> kept, Matrix<const double> embedded, double scale, Matrix<double> out) {
    const std::size_t rows = kept.shape(0), size = kept.shape(1);
    require(embedded.shape(0) == rows && embedded.shape(1) == size, "both spaces must have the same pairs");
    require(out.shape(0) == rows && out.shape(1) == SUMS, "out must have a row of sums for every anchor");
    nb::gil_scoped_release release;
    for (std::size_t row = 0; row < rows; ++row)
        kernels<double>().pair_sums(kept.data() + row * size, embedded.data() + row * size,
                                    static_cast<std::int64_t>(size), scale, out.data() + row * SUMS);
}

void keys_before(Matrix<const std::int64_t> keys, Matrix<const std::int64_t> wanted, int bits, Matrix<std::int64_t> out) {
    const std::size_t rows = keys.shape(0), size = keys.shape(1), count = wanted.shape(1);
    require(wanted.shape(0) == rows && out.shape(0) == rows && out.shape(1) == count,
            "wanted and out must have a row for every anchor");
    require(bits >= 0 && bits < 62, "bits are those of a point's number");
    nb::gil_scoped_release release;
    for (std::size_t row = 0; row < rows; ++row)
        kernels<double>().keys_before(keys.data() + row * size, static_cast<std::int64_t>(size),
                                      wanted.data() + row * count, static_cast<std::int64_t>(count), bits,
                                      out.data() + row * count);
}

}  // namespace

void bind_anchors(nb::module_ &m) {
    m.def("pair_sums", &pair_sums, "kept"_a.noconvert(), "embedded"_a.noconvert(), "scale"_a, "out"_a.noconvert());
    m.def("keys_before", &keys_before, "keys"_a.noconvert(), "wanted"_a.noconvert(), "bits"_a, "out"_a.noconvert());
}

}  // namespace mlcli
