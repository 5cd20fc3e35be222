// Python bindings of the Cholesky factorization of RᵀR and of the dissection that orders it: everything that comes from
// outside is checked here.
#include "bindings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cholesky.hpp"
#include "dissection.hpp"
#include "normal.hpp"

namespace mlcli {
namespace {

// R and the factor of RᵀR + shift, made step by step. Tasks of a step may run at the same time.
struct NormalCholesky {
    enum Step { JOIN, DISSECT, ORDER, ANALYZE, FILL, RENAME, STEPS };
    static constexpr std::int64_t PARTS = 16;  // of a dissection, at most

    double shift;
    std::optional<Normal> normal;
    std::optional<Dissection> dissection;
    std::shared_ptr<Symbolic> symbolic;
    std::vector<Stage> stages;
    std::optional<Cholesky> factors;

    NormalCholesky(Vector<std::int64_t> starts, Vector<std::int64_t> indices, Vector<double> values,
                   std::int64_t columns, double by)
        : shift(by) {
        check_rows(starts, indices, values, columns);
        require(std::isfinite(shift), "shift is not finite");
        nb::gil_scoped_release release;
        const auto rows = static_cast<std::int64_t>(starts.size()) - 1;
        normal.emplace(rows, static_cast<std::int32_t>(columns), starts.data(), indices.data(), values.data());
    }
    static std::vector<std::int64_t> steps() { return {Normal::BLOCKS, 1, PARTS, 1, Normal::BLOCKS, 1}; }
    void prepare(std::int64_t step, std::int64_t task) {
        require(step >= 0 && step < STEPS && task >= 0 && task < steps()[step], "no such task");
        require(step < ORDER ? normal && !dissection : step < FILL ? dissection && !symbolic : normal && symbolic,
                "steps must follow one another");
        nb::gil_scoped_release release;
        if (step == JOIN) normal->join(static_cast<int>(task));
        if (step == DISSECT) dissection.emplace(normal->web());
        if (step == ORDER && task < dissection->parts()) dissection->order_part(static_cast<std::int32_t>(task));
        if (step == ANALYZE) {
            symbolic = std::make_shared<Symbolic>(dissection->web(), dissection->order().data());
            stages = schedule(*symbolic);
            factors.emplace(symbolic);
        }
        if (step == FILL) normal->fill(*symbolic, dissection->web(), shift, static_cast<int>(task), factors->numbers());
        if (step == RENAME) {
            symbolic->rename(normal->names());
            normal.reset();
            dissection.reset();
        }
    }
    bool factor(std::int64_t stage, std::int64_t task) const {
        const Task &chosen = task_at(stages, stage, task);
        nb::gil_scoped_release release;
        return factors->factor(chosen);
    }
};

// A graph that lists each edge at both of its vertices; loops are left out.
Web web_of(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices) {
    check_links(starts, indices);
    Web web;
    web.vertices = static_cast<std::int32_t>(starts.size()) - 1;
    for (std::int32_t v = 0; v < web.vertices; ++v) {
        for (std::int64_t e = starts(v); e < starts(v + 1); ++e)
            if (indices(e) != v) web.joined.push_back(static_cast<std::int32_t>(indices(e)));
        std::sort(web.joined.begin() + web.starts.back(), web.joined.end());
        web.starts.push_back(static_cast<std::int64_t>(web.joined.size()));
    }
    Longs next(web.starts.begin(), web.starts.end() - 1);  // where each row continues as the others are read in order
    for (std::int32_t v = 0; v < web.vertices; ++v)
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) {
            const std::int32_t other = web.joined[e];
            require(next[other] < web.starts[other + 1] && web.joined[next[other]] == v, "an edge is in one row only");
            ++next[other];
        }
    return web;
}

// Solutions for some columns of an array, step by step. Tasks of a step may run at the same time.
struct NormalSolution {
    Matrix<const double> sides;
    Matrix<double> out;
    Solution solution;

    NormalSolution(const NormalCholesky &f, Matrix<const double> given, Matrix<double> result, std::int64_t first)
        : sides(std::move(given)), out(std::move(result)), solution(checked(f, sides, out, first)) {}
    static Solution checked(const NormalCholesky &f, const Matrix<const double> &sides, const Matrix<double> &out,
                            std::int64_t first) {
        require(f.symbolic && !f.normal, "steps must come before solutions");
        const std::size_t size = f.symbolic->plan().vertices;
        require(sides.shape(0) == size && out.shape(0) == size && sides.shape(1) == out.shape(1),
                "sides and out must have a row for every vertex, and be equally wide");
        const auto columns = static_cast<std::int64_t>(sides.shape(1));
        require(first >= 0 && first < columns, "there is no such column");
        return Solution(*f.factors, sides.data(), static_cast<int>(columns), static_cast<int>(first), out.data());
    }
    std::vector<std::int64_t> steps() const { return {solution.subtrees(), 1, solution.subtrees()}; }
    void run(std::int64_t step, std::int64_t task) {
        require(step >= 0 && step < 3 && task >= 0 && task < steps()[step], "no such task");
        nb::gil_scoped_release release;
        if (step == 0) solution.up(task);
        if (step == 1) solution.top();
        if (step == 2) solution.down(task);
    }
};

}  // namespace

void bind_normal(nb::module_ &m) {
    nb::class_<Dissection>(m, "Dissection")
        .def("__init__", [](Dissection *self, const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices) {
            nb::gil_scoped_release release;
            new (self) Dissection(web_of(starts, indices));
        }, "starts"_a.noconvert(), "indices"_a.noconvert())
        .def_prop_ro("parts", &Dissection::parts)
        .def("order_part", [](Dissection &d, std::int32_t number) {
            require(number >= 0 && number < d.parts(), "no such part");
            nb::gil_scoped_release release;
            d.order_part(number);
        }, "number"_a)
        .def_prop_ro("order", [](const Dissection &d) {  // after all parts
            const std::vector<std::int64_t> order(d.order().begin(), d.order().end());
            return array(order.data(), order.size());
        });
    nb::class_<NormalCholesky>(m, "NormalCholesky")
        .def(nb::init<Vector<std::int64_t>, Vector<std::int64_t>, Vector<double>, std::int64_t, double>(),
             "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(), "columns"_a, "shift"_a)
        .def_prop_ro("fill", [](const NormalCholesky &f) {
            require(f.symbolic != nullptr, "the order must come before the fill");
            return f.symbolic->fill();
        })
        .def("steps", [](const NormalCholesky &) { return NormalCholesky::steps(); })
        .def("prepare", &NormalCholesky::prepare, "step"_a, "task"_a)
        .def("tasks", [](const NormalCholesky &f) { return task_counts(f.stages); })
        .def("factor", &NormalCholesky::factor, "stage"_a, "task"_a);
    nb::class_<NormalSolution>(m, "NormalSolution")
        .def(nb::init<const NormalCholesky &, Matrix<const double>, Matrix<double>, std::int64_t>(), "factors"_a,
             "sides"_a.noconvert(), "out"_a.noconvert(), "first"_a, nb::keep_alive<1, 2>())
        .def_prop_ro_static("columns", [](nb::handle) { return SIDES; })
        .def_prop_ro("steps", &NormalSolution::steps)
        .def("run", &NormalSolution::run, "step"_a, "task"_a);
}

}  // namespace mlcli
