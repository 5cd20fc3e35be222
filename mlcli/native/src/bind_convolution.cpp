// Python bindings of the convolution of a grid with an even kernel.
#include "bindings.hpp"

#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

template <class T> using Columns = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;  // of an array that lies row by row
template <class T> using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t SIDE = FOLD / 2;
constexpr std::int64_t LONGEST = std::int64_t{1} << 28;  // half of a transform

// A transform and what it is made with, checked once.
class HeldTransform {
public:
    HeldTransform(Vector<std::int32_t> radices, Vector<double> twiddles, Vector<double> turns,
                  Vector<std::int32_t> position)
        : radices_(radices.data(), radices.data() + radices.size()),
          twiddles_(twiddles.data(), twiddles.data() + twiddles.size()),
          turns_(turns.data(), turns.data() + turns.size()),
          position_(position.data(), position.data() + position.size()) {
        std::int64_t half = 1, factors = 0;
        for (const std::int32_t radix : radices_) {
            require(radix >= 2 && radix <= 5 && half <= LONGEST / radix, "radices are 2 to 5, with a smaller product");
            half *= radix;
        }
        std::int64_t rest = half;
        for (const std::int32_t radix : radices_) rest /= radix, factors += (radix - 1) * rest;
        require(twiddles_.size() == static_cast<std::size_t>(2 * factors) &&
                    turns_.size() == static_cast<std::size_t>(2 * half) && position_.size() == turns_.size(),
                "a transform must have factors for its stages and its turns, and a place for each frequency");
        for (const std::int32_t place : position_) require(place >= 0 && place < 2 * half, "a place is out of range");
        transform_ = {half, radices_.data(), static_cast<int>(radices_.size()), twiddles_.data(), turns_.data(),
                      position_.data()};
    }
    HeldTransform(const HeldTransform &) = delete;

    const Transform &get() const { return transform_; }
    std::int64_t half() const { return transform_.half; }
    Buffer<double> scratch() const { return Buffer<double>(2 * half() * FOLD); }

    // Raises unless some columns have a place in lines of this transform.
    template <class T, class U> void check(const Columns<T> &grid, const Cube<U> &lines, std::int64_t first) const {
        const auto width = static_cast<std::int64_t>(grid.shape(1));
        const auto columns = static_cast<std::int64_t>(lines.shape(1));
        require(grid.stride(1) == 1 && grid.stride(0) >= width, "a grid must lie row by row");
        require(static_cast<std::int64_t>(lines.shape(0)) == half() / SIDE + 1 && lines.shape(2) == FOLD,
                "lines must have a strip for every eight frequencies");
        require(width % FOLD == 0 && columns % FOLD == 0 && first >= 0 && first % FOLD == 0 && first + width <= columns,
                "columns are out of range, or not by sixteen");
    }

private:
    std::vector<std::int32_t> radices_;
    std::vector<double> twiddles_, turns_;
    std::vector<std::int32_t> position_;
    Transform transform_;
};

void columns_forth(const HeldTransform &held, Columns<const double> grid, Cube<double> lines, std::int64_t first) {
    held.check(grid, lines, first);
    const auto rows = static_cast<std::int64_t>(grid.shape(0));
    require(rows <= 2 * held.half(), "there are too many rows");
    nb::gil_scoped_release release;
    const Buffer<double> scratch = held.scratch();
    kernels<double>().columns_forth(grid.data(), rows, grid.stride(0), static_cast<std::int64_t>(grid.shape(1)),
                                    held.get(), lines.data(), static_cast<std::int64_t>(lines.shape(1)), first,
                                    scratch.get());
}

void columns_back(const HeldTransform &held, Cube<const double> lines, Columns<double> grid, std::int64_t first) {
    held.check(grid, lines, first);
    const auto rows = static_cast<std::int64_t>(grid.shape(0));
    require(rows <= held.half(), "there are too many rows");
    nb::gil_scoped_release release;
    const Buffer<double> scratch = held.scratch();
    kernels<double>().columns_back(lines.data(), static_cast<std::int64_t>(lines.shape(1)), first, held.get(),
                                   grid.data(), rows, grid.stride(0), static_cast<std::int64_t>(grid.shape(1)),
                                   scratch.get());
}

// Strips of lines that are multiplied by a spectrum, or whose spectrum is taken; those of a long line have steps.
template <bool MEASURES, class T>
void run_strips(const HeldTransform &held, Cube<double> lines, std::int64_t first, std::int64_t last,
                Matrix<const double> steps, Cube<T> spectrum) {
    const std::size_t strips = lines.shape(0), half = static_cast<std::size_t>(held.half());
    const bool is_long = steps.shape(0) != 0;
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= strips, "strips are out of range");
    require(lines.shape(2) == FOLD && (!is_long || (steps.shape(0) == strips && steps.shape(1) == FOLD)),
            "lines have folds, and a long one a step for each strip");
    require(is_long ? lines.shape(1) == half : MEASURES ? lines.shape(1) > half : lines.shape(1) <= half,
            "the number of columns is not that of the transform");
    require(spectrum.shape(0) == strips && spectrum.shape(1) == half + (is_long ? 0 : 1) && spectrum.shape(2) == SIDE,
            "a spectrum must have eight numbers for each frequency of a strip");
    nb::gil_scoped_release release;
    const Buffer<double> scratch = held.scratch();
    const Kernels<double>::Strips run = MEASURES ? kernels<double>().measure_strips : kernels<double>().convolve_strips;
    run(lines.data(), static_cast<std::int64_t>(lines.shape(1)), first, last, held.get(),
        is_long ? steps.data() : nullptr, const_cast<double *>(spectrum.data()), scratch.get());
}

}  // namespace

void bind_convolution(nb::module_ &m) {
    nb::class_<HeldTransform>(m, "Transform")
        .def(nb::init<Vector<std::int32_t>, Vector<double>, Vector<double>, Vector<std::int32_t>>(),
             "radices"_a.noconvert(), "twiddles"_a.noconvert(), "turns"_a.noconvert(), "position"_a.noconvert())
        .def("columns_forth", &columns_forth, "grid"_a.noconvert(), "lines"_a.noconvert(), "first"_a)
        .def("columns_back", &columns_back, "lines"_a.noconvert(), "grid"_a.noconvert(), "first"_a)
        .def("convolve_strips", &run_strips<false, const double>, "lines"_a.noconvert(), "first"_a, "last"_a,
             "steps"_a.noconvert(), "spectrum"_a.noconvert())
        .def("measure_strips", &run_strips<true, double>, "lines"_a.noconvert(), "first"_a, "last"_a,
             "steps"_a.noconvert(), "spectrum"_a.noconvert());
}

}  // namespace mlcli
