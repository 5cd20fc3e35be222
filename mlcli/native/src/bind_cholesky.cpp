// Python binding of the sparse Cholesky factorization: everything that comes from outside is checked here.
#include "bindings.hpp"

#include <cmath>

#include "cholesky.hpp"

namespace mlcli {
namespace {

// A matrix analyzed for one order of elimination, and its factor.
struct Factorization {
    std::shared_ptr<const Symbolic> symbolic;
    std::vector<Stage> stages;
    std::unique_ptr<const Cholesky> factors;

    Factorization(Vector<std::int64_t> starts, Vector<std::int64_t> indices, Vector<double> values,
                  Vector<std::int64_t> order) {
        check_pattern(starts, indices, values);
        for (std::size_t e = 0; e < values.size(); ++e) require(std::isfinite(values(e)), "an entry is not finite");
        const Graph graph{static_cast<std::int32_t>(starts.size() - 1), starts.data(), indices.data(), values.data()};
        check_order(order, graph.vertices);
        nb::gil_scoped_release release;
        symbolic = std::make_shared<const Symbolic>(graph, order.data());
        stages = schedule(*symbolic);
        factors = std::make_unique<const Cholesky>(symbolic, graph);
    }
    bool factor(std::int64_t stage, std::int64_t task) const {
        const Task &chosen = task_at(stages, stage, task);
        nb::gil_scoped_release release;
        return factors->factor(chosen);
    }
    void solve(Matrix<const double> sides, Matrix<double> out) const {
        const auto size = static_cast<std::size_t>(symbolic->plan().vertices);
        require(sides.shape(0) == size && out.shape(0) == size && sides.shape(1) == out.shape(1),
                "sides and out must have a row for every vertex, and be equally wide");
        nb::gil_scoped_release release;
        factors->solve(sides.data(), static_cast<int>(sides.shape(1)), out.data());
    }
};

}  // namespace

void bind_cholesky(nb::module_ &m) {
    nb::class_<Factorization>(m, "Cholesky")
        .def(nb::init<Vector<std::int64_t>, Vector<std::int64_t>, Vector<double>, Vector<std::int64_t>>(),
             "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(), "order"_a.noconvert())
        .def_prop_ro("fill", [](const Factorization &f) { return f.symbolic->fill(); })
        .def("tasks", [](const Factorization &f) { return task_counts(f.stages); })
        .def("factor", &Factorization::factor, "stage"_a, "task"_a)
        .def("solve", &Factorization::solve, "sides"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace mlcli
