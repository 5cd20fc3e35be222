// Python bindings of exponentials and logarithms.
#include "bindings.hpp"

#include "kernels.hpp"

namespace mlcli {
namespace {

using Elementary = void (*)(const double *, std::int64_t, double *);

template <Elementary Kernels<double>::*function> void each_number(Vector<double> values, Target<double> out) {
    require(values.size() == out.size(), "there must be a place for every number");
    nb::gil_scoped_release release;
    (kernels<double>().*function)(values.data(), static_cast<std::int64_t>(values.size()), out.data());
}

}  // namespace

void bind_elementary(nb::module_ &m) {
    m.def("exponentials", &each_number<&Kernels<double>::exponentials>, "values"_a.noconvert(), "out"_a.noconvert());
    m.def("logarithms", &each_number<&Kernels<double>::logarithms>, "values"_a.noconvert(), "out"_a.noconvert());
    m.def("powers_of_two", &each_number<&Kernels<double>::powers_of_two>, "values"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
