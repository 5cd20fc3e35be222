// What the bindings share: array types, checks, and arrays made for Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcli {

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Target = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // a vector to be written
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Numbers of the widest instruction set: arrays that kernels read as whole vectors are padded to these, or have one less
// of them behind their numbers.
constexpr std::size_t LANES = 8;

inline void require(bool holds, const char *message) {
    if (!holds) throw std::invalid_argument(message);  // a ValueError in Python
}

// A NumPy array that owns a copy of the numbers.
template <class T> nb::object array(const T *numbers, std::size_t rows, std::size_t columns = SIZE_MAX) {
    const bool flat = columns == SIZE_MAX;
    const std::size_t size = rows * (flat ? 1 : columns);
    T *copy = new T[size > 0 ? size : 1];
    std::copy_n(numbers, size, copy);
    nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    if (flat) return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy, {rows}, owner));
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(copy, {rows, columns}, owner));
}

// All raise a ValueError. Everything that an index is taken from must have passed one of them.
void check_links(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices);
void check_graph(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices, const Vector<double> &lengths);
// The same of a matrix with so many columns, whose entries are finite.
void check_rows(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices, const Vector<double> &values,
                std::int64_t columns);
void check_order(const Vector<std::int64_t> &order, std::int64_t size);

void bind_anchors(nb::module_ &m);
void bind_convolution(nb::module_ &m);
void bind_differences(nb::module_ &m);
void bind_elementary(nb::module_ &m);
void bind_elimination(nb::module_ &m);
void bind_gaussian(nb::module_ &m);
void bind_near(nb::module_ &m);
void bind_nearest(nb::module_ &m);
void bind_normal(nb::module_ &m);
void bind_paths(nb::module_ &m);
void bind_products(nb::module_ &m);
void bind_radial(nb::module_ &m);
void bind_ranks(nb::module_ &m);
void bind_sampling(nb::module_ &m);
void bind_sparse(nb::module_ &m);
void bind_stress(nb::module_ &m);
void bind_student(nb::module_ &m);
void bind_sweeps(nb::module_ &m);
void bind_text(nb::module_ &m);
void bind_traces(nb::module_ &m);
void bind_triangles(nb::module_ &m);

}  // namespace mlcli
