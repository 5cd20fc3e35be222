// Python bindings of the k-d tree, and of nearest-neighbor selection and refinement.
#include "bindings.hpp"

#include <cmath>
#include <new>
#include <vector>

#include "kdtree.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

template <class T>
void select(Matrix<const T> quick, Vector<std::int64_t> own, Matrix<std::int64_t> indices, Matrix<T> values) {
    const std::size_t rows = quick.shape(0), columns = quick.shape(1), count = indices.shape(1);
    require(own.size() == rows && indices.shape(0) == rows && values.shape(0) == rows && values.shape(1) == count,
            "own, indices and values must have a row for every row of quick");
    require(count <= columns, "there are fewer columns than neighbors asked for");
    if (count == 0) return;
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows; ++r)
        kernels<T>().select(quick.data() + r * columns, static_cast<std::int64_t>(columns), own(r),
                            static_cast<int>(count), values.data() + r * count, indices.data() + r * count);
}

// What each row of some products keeps of its columns, or `turned`, each column of its rows, besides what it has kept:
// the `count` smallest of norm - 2 product, with the index, which counts from `first`. Row r leaves out index own + r.
void select_pairs(Matrix<const float> products, Vector<float> norms, std::int64_t first, std::int64_t own,
                  Matrix<std::int64_t> indices, Matrix<float> values, bool turned) {
    const std::size_t rows = products.shape(0), columns = products.shape(1), count = indices.shape(1);
    const std::size_t keeping = turned ? columns : rows, named = turned ? rows : columns;
    require(norms.size() == named, "there must be a norm for every index");
    require(indices.shape(0) == keeping && values.shape(0) == keeping && values.shape(1) == count,
            "indices and values must have a row for every point");
    if (count == 0) return;
    nb::gil_scoped_release release;
    const Kernels<float> &kernel = kernels<float>();
    std::vector<float> last(turned ? columns : 0);
    for (std::size_t c = 0; c < last.size(); ++c) last[c] = values.data()[c * count + count - 1];
    for (std::size_t r = 0; r < rows; ++r) {
        const float *row = products.data() + r * columns;
        const auto number = static_cast<std::int64_t>(r);
        if (turned)
            kernel.select_columns(row, norms(r), static_cast<int>(columns), first + number, static_cast<int>(count),
                                  last.data(), values.data(), indices.data());
        else
            kernel.select_row(row, norms.data(), static_cast<int>(columns), first, own < 0 ? -1 : own + number,
                              static_cast<int>(count), values.data() + r * count, indices.data() + r * count);
    }
}

void refine(Matrix<const double> rows, Matrix<const double> points, Matrix<const std::int64_t> candidates,
            Vector<std::int64_t> own, Matrix<std::int64_t> indices, Matrix<double> squared) {
    const std::size_t count = rows.shape(0), columns = points.shape(1), kept = indices.shape(1);
    const std::size_t listed = candidates.shape(1);
    require(rows.shape(1) == columns, "rows and points must have equally many columns");
    require(candidates.shape(0) == count && own.size() == count && indices.shape(0) == count && squared.shape(0) == count,
            "candidates, own, indices and squared must have a row for every row");
    require(squared.shape(1) == kept && kept <= listed, "there are fewer candidates than neighbors asked for");
    const std::int64_t *list = candidates.data();
    for (std::size_t i = 0; i < count * listed; ++i)
        require(list[i] >= -1 && list[i] < static_cast<std::int64_t>(points.shape(0)), "a candidate is out of range");
    if (kept == 0) return;
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < count; ++r)
        kernels<double>().refine(rows.data() + r * columns, points.data(), static_cast<std::int64_t>(columns),
                                 list + r * listed, static_cast<int>(listed), own(r), static_cast<int>(kept),
                                 squared.data() + r * kept, indices.data() + r * kept);
}

void build_tree(KdTree *self, Matrix<const double> points) {
    require(points.shape(0) > 0 && points.shape(1) > 0 && points.shape(1) < 1024, "there must be points with columns");
    const std::size_t size = points.shape(0) * points.shape(1);
    for (std::size_t i = 0; i < size; ++i) require(std::isfinite(points.data()[i]), "a coordinate is not finite");
    nb::gil_scoped_release release;
    new (self) KdTree(points.data(), static_cast<std::int64_t>(points.shape(0)), static_cast<int>(points.shape(1)));
}

void query_tree(const KdTree &tree, Matrix<const double> rows, Matrix<std::int64_t> indices,
                Target<double> last) {
    const std::size_t count = rows.shape(0), kept = indices.shape(1);
    require(static_cast<int>(rows.shape(1)) == tree.columns(), "rows and points must have equally many columns");
    require(indices.shape(0) == count && last.shape(0) == count, "indices and last must have a row for every row");
    require(kept >= 1 && static_cast<std::int64_t>(kept) <= tree.size(), "there are fewer points than neighbors asked for");
    for (std::size_t i = 0; i < count * rows.shape(1); ++i)
        require(std::isfinite(rows.data()[i]), "a coordinate is not finite");
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < count; ++r)
        last.data()[r] = tree.nearest(rows.data() + r * rows.shape(1), static_cast<int>(kept), indices.data() + r * kept);
}

}  // namespace

void bind_nearest(nb::module_ &m) {
    nb::class_<KdTree>(m, "KdTree")
        .def("__init__", &build_tree, "points"_a.noconvert())
        .def("query", &query_tree, "rows"_a.noconvert(), "indices"_a.noconvert(), "last"_a.noconvert());
    m.def("select_neighbors", &select<float>, "quick"_a.noconvert(), "own"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert());
    m.def("select_neighbors", &select<double>, "quick"_a.noconvert(), "own"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert());
    m.def("select_pairs", &select_pairs, "products"_a.noconvert(), "norms"_a.noconvert(), "first"_a, "own"_a,
          "indices"_a.noconvert(), "values"_a.noconvert(), "turned"_a);
    m.def("refine", &refine, "rows"_a.noconvert(), "points"_a.noconvert(), "candidates"_a.noconvert(),
          "own"_a.noconvert(), "indices"_a.noconvert(), "squared"_a.noconvert());
}

}  // namespace mlcli
