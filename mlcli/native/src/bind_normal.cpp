// Python binding of the Cholesky factorization of RᵀR: everything that comes from outside is checked here.
#include "bindings.hpp"

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
    void solve(Matrix<const double> sides, Matrix<double> out) const {
        require(symbolic && !normal, "steps must come before solutions");
        const std::size_t size = symbolic->plan().vertices;
        require(sides.shape(0) == size && out.shape(0) == size && sides.shape(1) == out.shape(1),
                "sides and out must have a row for every vertex, and be equally wide");
        nb::gil_scoped_release release;
        factors->solve(sides.data(), static_cast<int>(sides.shape(1)), out.data());
    }
};

}  // namespace

void bind_normal(nb::module_ &m) {
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
        .def("factor", &NormalCholesky::factor, "stage"_a, "task"_a)
        .def("solve", &NormalCholesky::solve, "sides"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
