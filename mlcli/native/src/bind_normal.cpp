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
};

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
