// Python bindings of the forces of neighbor embeddings: of all pairs, by a tree, along a graph, and by splines on a grid.
#include "bindings.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.hpp"
#include "octree.hpp"

namespace mlcli {
namespace {

constexpr std::size_t REACH = 8;  // nodes along an axis that a point reaches

void check_rows(std::int64_t first, std::int64_t last, std::size_t size, const Matrix<double> &forces,
                const Target<double> &sums) {
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= size, "rows are out of range");
    require(forces.shape(0) == static_cast<std::size_t>(last - first) && sums.shape(0) == forces.shape(0),
            "forces and sums must have a row for every row");
}

void repel_rows(Matrix<const double> points, Matrix<const double> sources, double dof, std::int64_t first,
                std::int64_t last, bool alone, Matrix<double> forces, Target<double> totals) {
    const std::size_t axes = points.shape(1);
    check_rows(first, last, points.shape(0), forces, totals);
    require(dof > 0, "the degrees of freedom must be positive");
    require(forces.shape(1) == axes && sources.shape(0) == axes && sources.shape(1) + 1 >= LANES,
            "sources must lie axis by axis, with room behind them");
    const auto stride = static_cast<std::int64_t>(sources.shape(1));
    const std::int64_t size = stride + 1 - static_cast<std::int64_t>(LANES);
    nb::gil_scoped_release release;
    std::fill_n(forces.data(), forces.size(), 0.0);
    std::fill_n(totals.data(), totals.size(), 0.0);
    const std::int64_t step = alone ? 1 : std::max<std::int64_t>(last - first, 1);
    for (std::int64_t row = 0; row < last - first; row += step) {
        const auto at = static_cast<std::size_t>(row);
        kernels<double>().repel_rows(points.data() + (static_cast<std::size_t>(first) + at) * axes, step,
                                     sources.data(), stride, size, nullptr, static_cast<int>(axes), dof,
                                     forces.data() + at * axes, totals.data() + at);
    }
}

void build_octree(Octree *self, Matrix<const double> points) {
    require(points.shape(1) >= 1 && points.shape(1) <= 3, "a tree has one to three axes");
    for (std::size_t i = 0; i < points.size(); ++i)
        require(std::isfinite(points.data()[i]), "a coordinate is not finite");
    nb::gil_scoped_release release;
    new (self) Octree(points.data(), static_cast<std::int64_t>(points.shape(0)), static_cast<int>(points.shape(1)));
}

void repel_groups(const Octree &tree, std::int64_t first, std::int64_t last, double theta, double dof,
                  Matrix<double> forces, Target<double> totals) {
    const auto axes = static_cast<std::size_t>(tree.axes()), size = static_cast<std::size_t>(tree.size());
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= tree.groups().size(),
            "groups are out of range");
    require(forces.shape(0) == size && forces.shape(1) == axes && totals.size() == size,
            "forces and totals must have a row for every point");
    require(theta >= 0 && dof > 0, "theta must not be negative, and the degrees of freedom positive");
    nb::gil_scoped_release release;
    Octree::List list;
    std::vector<double> centers, pushed, sums;
    for (std::int64_t number = first; number < last; ++number) {
        const Octree::Group &group = tree.groups()[static_cast<std::size_t>(number)];
        const auto count = static_cast<std::size_t>(group.end - group.begin);
        tree.list(group, theta, list);
        centers.clear();
        for (std::size_t a = 0; a < axes; ++a)
            centers.insert(centers.end(), list.centers[a].begin(), list.centers[a].end());
        pushed.assign(count * axes, 0), sums.assign(count, 0);
        const auto listed = static_cast<std::int64_t>(list.masses.size());
        kernels<double>().repel_rows(tree.points() + group.begin * tree.axes(), group.end - group.begin, centers.data(),
                                     listed, listed, list.masses.data(), tree.axes(), dof, pushed.data(), sums.data());
        for (std::size_t i = 0; i < count; ++i) {
            const auto row = static_cast<std::size_t>(tree.order()[static_cast<std::size_t>(group.begin) + i]);
            totals.data()[row] = sums[i];
            std::copy_n(pushed.data() + i * axes, axes, forces.data() + row * axes);
        }
    }
}

template <class T>
void attract_rows(Vector<std::int64_t> starts, Vector<std::int32_t> indices, Vector<T> values,
                  Matrix<const double> points, double dof, Vector<std::int64_t> chosen, Matrix<double> forces,
                  Target<double> energies) {
    const std::size_t size = points.shape(0);
    require(dof > 0, "the degrees of freedom must be positive");
    require(forces.shape(0) == size && forces.shape(1) == points.shape(1) && energies.size() == size &&
                starts.size() == size + 1 && indices.size() == values.size(),
            "rows must have starts, forces and energies, and entries a value");
    nb::gil_scoped_release release;
    const std::int64_t *start = starts.data();
    const auto entries = static_cast<std::int64_t>(values.size());
    for (std::size_t at = 0; at < chosen.size(); ++at) {
        const std::int64_t row = chosen.data()[at];
        require(row >= 0 && static_cast<std::size_t>(row) < size, "rows are out of range");
        require(start[row] >= 0 && start[row] <= start[row + 1] && start[row + 1] <= entries, "starts are out of range");
    }
    require(kernels<T>().attract_rows(start, indices.data(), values.data(), points.data(),
                                      static_cast<std::int64_t>(size), static_cast<int>(points.shape(1)), dof,
                                      chosen.data(), static_cast<std::int64_t>(chosen.size()), forces.data(),
                                      energies.data()),
            "an index is out of range");
}

void check_grid(const Matrix<const double> &points, const Vector<std::int64_t> &chosen, const Vector<double> &low,
                std::size_t rows, std::size_t columns) {
    const std::size_t axes = points.shape(1);
    require(axes == 1 || axes == 2, "a grid has one or two axes");
    require(low.size() == axes && columns >= REACH && (axes == 1 ? rows == 1 : rows >= REACH), "the grid is too small");
    bool inside = true;
    for (std::size_t p = 0; p < chosen.size(); ++p)
        inside &= chosen.data()[p] >= 0 && static_cast<std::size_t>(chosen.data()[p]) < points.shape(0);
    require(inside, "a point that is chosen is not there");
}

void spread_points(Matrix<const double> points, Vector<std::int64_t> chosen, Vector<double> low, double scale,
                   Matrix<double> grid) {
    check_grid(points, chosen, low, grid.shape(0), grid.shape(1));
    nb::gil_scoped_release release;
    require(kernels<double>().spread_points(points.data(), chosen.data(), static_cast<std::int64_t>(chosen.size()),
                                            static_cast<int>(points.shape(1)), low.data(), scale,
                                            static_cast<std::int64_t>(grid.shape(0)),
                                            static_cast<std::int64_t>(grid.shape(1)), grid.data()),
            "a point lies beyond the grid");
}

void collect_points(Matrix<const double> points, Vector<std::int64_t> chosen, Vector<double> low, double scale,
                    Matrix<const double> grid, double factor, Matrix<double> slopes, Target<double> values) {
    check_grid(points, chosen, low, grid.shape(0), grid.shape(1));
    require(slopes.shape(0) == points.shape(0) && slopes.shape(1) == points.shape(1) && values.size() == points.shape(0),
            "slopes and values must have a row for every point");
    nb::gil_scoped_release release;
    require(kernels<double>().collect_points(points.data(), chosen.data(), static_cast<std::int64_t>(chosen.size()),
                                             static_cast<int>(points.shape(1)), low.data(), scale,
                                             static_cast<std::int64_t>(grid.shape(0)),
                                             static_cast<std::int64_t>(grid.shape(1)), grid.data(), factor, slopes.data(),
                                             values.data()),
            "a point lies beyond the grid");
}

}  // namespace

void bind_student(nb::module_ &m) {
    nb::class_<Octree>(m, "Octree")
        .def("__init__", &build_octree, "points"_a.noconvert())
        .def_prop_ro("groups", [](const Octree &tree) { return tree.groups().size(); })
        .def("repel", &repel_groups, "first"_a, "last"_a, "theta"_a, "dof"_a, "forces"_a.noconvert(),
             "totals"_a.noconvert());
    m.def("repel_rows", &repel_rows, "points"_a.noconvert(), "sources"_a.noconvert(), "dof"_a, "first"_a, "last"_a,
          "alone"_a, "forces"_a.noconvert(), "totals"_a.noconvert());
    m.def("attract_rows", &attract_rows<double>, "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "points"_a.noconvert(), "dof"_a, "chosen"_a.noconvert(), "forces"_a.noconvert(), "energies"_a.noconvert());
    m.def("attract_rows", &attract_rows<float>, "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "points"_a.noconvert(), "dof"_a, "chosen"_a.noconvert(), "forces"_a.noconvert(), "energies"_a.noconvert());
    m.def("spread_points", &spread_points, "points"_a.noconvert(), "chosen"_a.noconvert(), "low"_a.noconvert(),
          "scale"_a, "grid"_a.noconvert());
    m.def("collect_points", &collect_points, "points"_a.noconvert(), "chosen"_a.noconvert(), "low"_a.noconvert(),
          "scale"_a, "grid"_a.noconvert(), "factor"_a, "slopes"_a.noconvert(), "values"_a.noconvert());
}

}  // namespace mlcli
