// Python binding of numbers written as text: lines of CSV.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "bindings.hpp"

namespace mlcli {
namespace {

constexpr std::size_t ROOM = 32;  // characters that no number needs more of

// 17 significant digits, as printf's %.17g, with names that other programs read for what is no finite number.
char *written(char *place, double value) {
    if (!std::isfinite(value)) {
        const char *name = std::isnan(value) ? "NaN" : value < 0 ? "-Inf" : "Inf";
        return std::copy_n(name, std::char_traits<char>::length(name), place);
    }
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    return std::to_chars(place, place + ROOM, value, std::chars_format::general, 17).ptr;
#else  // Python leaves the locale of numbers at C's
    return place + std::snprintf(place, ROOM, "%.17g", value);
#endif
}

nb::bytes numbered_lines(Vector<std::int64_t> numbers, Matrix<const double> values) {
    const std::size_t rows = values.shape(0), columns = values.shape(1);
    require(numbers.size() == rows, "every row must have a number");
    std::string text;
    {
        nb::gil_scoped_release release;
        text.resize(rows * (columns + 1) * ROOM);
        char *place = text.data();
        for (std::size_t row = 0; row < rows; ++row) {
            place = std::to_chars(place, place + ROOM, numbers.data()[row]).ptr;
            for (std::size_t column = 0; column < columns; ++column) {
                *place++ = ',';
                place = written(place, values.data()[row * columns + column]);
            }
            *place++ = '\n';
        }
        text.resize(static_cast<std::size_t>(place - text.data()));
    }
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_text(nb::module_ &m) { m.def("numbered_lines", &numbered_lines, "numbers"_a.noconvert(), "values"_a.noconvert()); }

}  // namespace mlcli
