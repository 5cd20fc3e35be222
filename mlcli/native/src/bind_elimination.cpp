// Python bindings of the elimination: everything that comes from outside is checked here.
#include "bindings.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "allpairs.hpp"

namespace mlcli {
namespace {

// The analysis, with the graph that it is of.
struct Elimination {
    Vector<std::int64_t> starts, indices;
    Vector<double> lengths;
    std::shared_ptr<const Symbolic> symbolic;
    std::vector<Stage> stages;

    Elimination(Vector<std::int64_t> s, Vector<std::int64_t> i, Vector<double> l, Vector<std::int64_t> order)
        : starts(std::move(s)), indices(std::move(i)), lengths(std::move(l)) {
        check_graph(starts, indices, lengths);
        check_order(order, graph().vertices);
        nb::gil_scoped_release release;
        symbolic = std::make_shared<const Symbolic>(graph(), order.data());
        stages = schedule(*symbolic);
    }
    Graph graph() const {
        return {static_cast<std::int32_t>(starts.size() - 1), starts.data(), indices.data(), lengths.data()};
    }
    double work() const {
        double sum = 0;
        for (std::size_t i = 0; i < symbolic->nodes.size(); ++i) sum += symbolic->work(static_cast<std::int32_t>(i));
        return sum;
    }
};

template <class T> struct Sweeper {
    const Elimination &elimination;  // kept alive by its Python object
    Weights<T> weights;

    explicit Sweeper(const Elimination &e) : elimination(e), weights(e.symbolic, e.graph()) {}
    Sweeper(const Elimination &e, const T *numbers) : elimination(e), weights(e.symbolic, numbers) {}

    void check_block(std::int64_t block) const { require(block >= 0 && block < weights.blocks(), "no such block"); }
    void factor(std::int64_t stage, std::int64_t task) const {
        const Task &chosen = task_at(elimination.stages, stage, task);
        nb::gil_scoped_release release;
        weights.eliminate(chosen);
    }
    void distances(std::int64_t block, Matrix<double> out) const {
        check_block(block);
        const std::int64_t size = elimination.graph().vertices;
        std::int64_t vertices[BLOCK<T>];
        const int count = weights.sources(block, vertices);
        require(static_cast<std::int64_t>(out.shape(1)) == size, "out must have a column for every vertex");
        const bool whole = static_cast<std::int64_t>(out.shape(0)) == size && size != count;
        require(whole || out.shape(0) == static_cast<std::size_t>(count),
                "out must have a row for every source of the block, or for every vertex");
        const bool by_vertex = static_cast<std::int64_t>(out.shape(0)) == size;
        double *rows[BLOCK<T>];
        for (int i = 0; i < count; ++i) rows[i] = out.data() + (by_vertex ? vertices[i] : i) * size;
        nb::gil_scoped_release release;
        weights.distances(block, rows);
    }
    void rows(Vector<std::int64_t> vertices, Matrix<double> out) const {
        const std::int64_t size = elimination.graph().vertices;
        require(out.shape(0) == vertices.size() && static_cast<std::int64_t>(out.shape(1)) == size,
                "out must have a row for every source and a column for every vertex");
        for (std::size_t i = 0; i < vertices.size(); ++i)
            require(vertices(i) >= 0 && vertices(i) < size, "a source is out of range");
        nb::gil_scoped_release release;
        const auto count = static_cast<std::int64_t>(vertices.size());
        for (std::int64_t first = 0; first < count; first += BLOCK<T>) {
            const int lanes = static_cast<int>(std::min<std::int64_t>(BLOCK<T>, count - first));
            double *rows[BLOCK<T>];
            for (int i = 0; i < lanes; ++i) rows[i] = out.data() + (first + i) * size;
            weights.rows(vertices.data() + first, lanes, rows);
        }
    }
    double fold(std::int64_t block, Matrix<const double> q, Matrix<double> product, std::optional<Target<double>> sums,
                std::optional<Matrix<T>> kept, bool again) const {
        check_block(block);
        const std::int64_t size = elimination.graph().vertices, base = size - static_cast<std::int64_t>(product.shape(0));
        require(kept || !again, "nothing was kept");
        require(!kept || (static_cast<std::int64_t>(kept->shape(0)) == size - weights.first(block) &&
                          kept->shape(1) == BLOCK<T>),
                "kept must have a row for every vertex from the block's first on, and a column for every lane");
        require(static_cast<std::int64_t>(q.shape(0)) == size, "q must have a row for every vertex");
        require(product.shape(1) == q.shape(1) && (!sums || product.shape(0) == sums->shape(0)),
                "product and sums must fit q");
        require(base >= 0 && base <= weights.first(block), "product must have a row for the block's vertices and all later");
        require(elimination.symbolic->pieces() == 1, "the graph must be in one piece");
        nb::gil_scoped_release release;
        const Folds out{product.data(), sums ? sums->data() : nullptr, base};
        return weights.fold(block, q.data(), static_cast<int>(q.shape(1)), out, kept ? kept->data() : nullptr, again);
    }
    void fold_columns(Vector<std::int64_t> vertices, Matrix<const double> factors, Matrix<double> product) const {
        const std::int64_t size = elimination.graph().vertices;
        require(factors.shape(0) == vertices.size() && factors.shape(1) == product.shape(1),
                "factors must have a row for every source and a column for each of product");
        require(static_cast<std::int64_t>(product.shape(0)) == size, "product must have a row for every vertex");
        for (std::size_t i = 0; i < vertices.size(); ++i)
            require(vertices(i) >= 0 && vertices(i) < size, "a source is out of range");
        require(elimination.symbolic->pieces() == 1, "the graph must be in one piece");
        nb::gil_scoped_release release;
        const auto count = static_cast<std::int64_t>(vertices.size()), columns = static_cast<std::int64_t>(factors.shape(1));
        for (std::int64_t first = 0; first < count; first += BLOCK<T>)
            weights.fold_columns(vertices.data() + first, static_cast<int>(std::min<std::int64_t>(BLOCK<T>, count - first)),
                                 factors.data() + first * columns, static_cast<int>(columns), product.data());
    }
    nb::object order() const {
        const Ints &original = elimination.symbolic->original;
        const std::vector<std::int64_t> vertices(original.begin(), original.end());
        return array(vertices.data(), vertices.size());
    }
};

template <class T> void bind_sweeper(nb::module_ &m, const char *name) {
    using S = Sweeper<T>;
    nb::class_<S>(m, name)
        .def("__init__", [](S *self, const Elimination &e) {
            nb::gil_scoped_release release;
            new (self) S(e);
        }, nb::keep_alive<1, 2>(), "elimination"_a)
        .def("__init__", [](S *self, const Elimination &e, const Vector<T> &numbers) {
            require(static_cast<std::int64_t>(numbers.size()) == e.symbolic->values(), "numbers are not as many as the graph has");
            for (std::size_t i = 0; i < numbers.size(); ++i) require(numbers(i) >= 0, "a number is negative or not a number");
            nb::gil_scoped_release release;
            new (self) S(e, numbers.data());
        }, nb::keep_alive<1, 2>(), "elimination"_a, "numbers"_a.noconvert())
        .def_prop_ro("numbers", [](const S &s) {  // not copied, and alive as long as the sweeper
            const auto size = static_cast<std::size_t>(s.elimination.symbolic->values());
            return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(s.weights.numbers(), {size}, nb::find(s));
        })
        .def_prop_ro("lanes", [](const S &) { return BLOCK<T>; })
        .def_prop_ro("blocks", [](const S &s) { return s.weights.blocks(); })
        .def("factor", &S::factor, "stage"_a, "task"_a)
        .def("distances", &S::distances, "block"_a, "out"_a.noconvert())
        .def("rows", &S::rows, "vertices"_a.noconvert(), "out"_a.noconvert())
        .def_prop_ro("order", &S::order)
        .def("fold", &S::fold, "block"_a, "q"_a.noconvert(), "product"_a.noconvert(), "sums"_a.noconvert().none(),
             "kept"_a.noconvert().none(), "again"_a)
        .def("fold_columns", &S::fold_columns, "vertices"_a.noconvert(), "factors"_a.noconvert(), "product"_a.noconvert());
}

template <class T>
void run_pairs(const AllPairs<T> &pairs, std::int64_t stage, std::int64_t task, Matrix<double> out) {
    const auto size = static_cast<std::size_t>(pairs.vertices());
    require(out.shape(0) == size && out.shape(1) == size, "out must have a row and a column for every vertex");
    nb::gil_scoped_release release;
    pairs.run(stage, task, out.data());
}

template <class T> void bind_pairs(nb::module_ &m, const char *name) {
    nb::class_<AllPairs<T>>(m, name)
        .def("__init__", [](AllPairs<T> *self, const Sweeper<T> &s) {
            nb::gil_scoped_release release;
            new (self) AllPairs<T>(s.elimination.symbolic, s.weights.numbers());
        }, nb::keep_alive<1, 2>(), "weights"_a)
        .def_prop_ro("stages", &AllPairs<T>::stages)
        .def("run", &run_pairs<T>, "stage"_a, "task"_a, "out"_a.noconvert());
}

}  // namespace

void bind_elimination(nb::module_ &m) {
    nb::class_<Elimination>(m, "Elimination")
        .def(nb::init<Vector<std::int64_t>, Vector<std::int64_t>, Vector<double>, Vector<std::int64_t>>(),
             "starts"_a.noconvert(), "indices"_a.noconvert(), "lengths"_a.noconvert(), "order"_a.noconvert())
        .def_prop_ro("fill", [](const Elimination &e) { return e.symbolic->fill(); })
        .def_prop_ro("entries", [](const Elimination &e) { return e.symbolic->entries(); })
        .def_prop_ro("values", [](const Elimination &e) { return e.symbolic->values(); })
        .def_prop_ro("pieces", [](const Elimination &e) { return e.symbolic->pieces(); })
        .def_prop_ro("depth", [](const Elimination &e) { return e.symbolic->plan().depth; })
        .def_prop_ro("nodes", [](const Elimination &e) { return e.symbolic->nodes.size(); })
        .def_prop_ro("bytes", [](const Elimination &e) { return e.symbolic->bytes(); })
        .def("relaxations", [](const Elimination &e, int lanes) {
            require(lanes > 0, "there must be lanes");
            return e.symbolic->relaxations(lanes);
        }, "lanes"_a)
        .def_prop_ro("work", &Elimination::work)
        .def("tasks", [](const Elimination &e) { return task_counts(e.stages); });
    bind_sweeper<float>(m, "SweeperSingle");
    bind_sweeper<double>(m, "SweeperDouble");
    bind_pairs<float>(m, "AllPairsSingle");
    bind_pairs<double>(m, "AllPairsDouble");
}

}  // namespace mlcli
