// The matrix of all distances of an eliminated graph, in stages of tasks: each pair is found once and written twice.
#pragma once
#include "permutation.hpp"
#include "weights.hpp"

namespace mlcli {

// Rows of the matrix come in the order of elimination backwards, so that those of all ancestors are finished; in the
// last two stages it is brought into the order of the vertices.
template <class T> class AllPairs {
public:
    AllPairs(std::shared_ptr<const Symbolic> symbolic, const T *numbers);

    std::int64_t vertices() const { return symbolic_->plan().vertices; }
    std::vector<std::int64_t> stages() const;  // how many tasks each has
    // A task, or std::invalid_argument; `matrix` (vertices x vertices) is the same for all.
    void run(std::int64_t stage, std::int64_t task, double *matrix) const;

private:
    // The strips of a span: those above it in many tasks, then in one those of its own rows, each of which needs the one
    // before it.
    struct Stage {
        std::int32_t span;
        std::int64_t first, end, step;  // strips, and how many a task has
        std::int64_t tasks() const { return (end - first + step - 1) / step; }
    };

    std::shared_ptr<const Symbolic> symbolic_;
    const T *numbers_;
    std::vector<Ancestor> ancestors_;
    Longs ancestor_starts_;
    std::vector<Span> spans_;
    std::vector<Stage> stages_;
    Permutation permutation_;
    mutable Pool<T> stack_, kept_;

    void divide();
    void sweep(const Stage &stage, std::int64_t task, double *matrix) const;
};

}  // namespace mlcli
