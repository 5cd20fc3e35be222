// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#pragma once
#include "numbers.hpp"

namespace mlcli {

template <class T> class Weights {
public:
    Weights(std::shared_ptr<const Symbolic> shape, const Graph &graph);
    // Those that were eliminated before, as `numbers` of the same graph in the same order gave them.
    Weights(std::shared_ptr<const Symbolic> shape, const T *numbers);

    const T *numbers() const { return numbers_.get(); }  // symbolic().values() of them
    std::int64_t blocks() const;
    void eliminate(const Task &task) const { numbers_.eliminate(task, kernels<T>().eliminate); }
    // The vertices of a block, and their distances to all: one row of `out` each.
    int sources(std::int64_t block, std::int64_t *vertices) const;
    void distances(std::int64_t block, double *const *out) const;
    // The distances from any vertices, BLOCK at most.
    void rows(const std::int64_t *vertices, int count, double *const *out) const;
    // Distances squared times q (positions x columns), added to `out`; returns the sum of fourth powers, zero without sums
    // of rows. A pair of vertices counts for both, in the earlier one's block. `kept` ((vertices - first) x BLOCK) may be
    // null; with `again`, it holds what an earlier fold of the block has kept there, and nothing is swept.
    double fold(std::int64_t block, const double *q, int columns, const Folds &out, T *kept, bool again) const;
    // Distances squared from any vertices, BLOCK at most, to all, times factors (vertices given x columns), added to `out`
    // (positions x columns).
    void fold_columns(const std::int64_t *vertices, int count, const double *factors, int columns, double *out) const;
    int first(std::int64_t block) const { return static_cast<int>(block * BLOCK<T>); }

private:
    Numbers<T> numbers_;
    mutable Pool<T> scratch_, kept_;

    const Symbolic &symbolic() const { return numbers_.symbolic(); }

    int count(std::int64_t block) const;
    std::int64_t scratch_size() const;
    void sweep(const Ints &positions, double *const *out) const;
};

}  // namespace mlcli
