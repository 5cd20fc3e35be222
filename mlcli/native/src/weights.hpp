// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#pragma once
#include <memory>

#include "buffer.hpp"
#include "kernels.hpp"
#include "schedule.hpp"

namespace mlcli {

template <class T> class Weights {
public:
    Weights(std::shared_ptr<const Symbolic> symbolic, const Graph &graph);

    std::int64_t blocks() const;
    void eliminate(const Task &task) const;
    // The vertices of a block, and their distances to all: one row of `out` each.
    int sources(std::int64_t block, std::int64_t *vertices) const;
    template <class Out> void distances(std::int64_t block, Out *const *out) const;
    // The distances from any vertices, BLOCK at most.
    template <class Out> void rows(const std::int64_t *vertices, int count, Out *const *out) const;
    // product: sources x columns; squares, fourths: sources. `kept` (vertices x BLOCK) may be null; with `again`, it
    // holds what an earlier fold of the block has kept there, and nothing is swept.
    void fold(std::int64_t block, const double *q, int columns, double *product, double *squares, double *fourths,
              T *kept, bool again) const;

private:
    std::shared_ptr<const Symbolic> symbolic_;
    Buffer<T> values_;
    mutable Pool<T> factors_, scratch_, kept_;

    int first(std::int64_t block) const { return static_cast<int>(block * BLOCK<T>); }
    int count(std::int64_t block) const;
    std::int64_t scratch_size() const;
    template <class Out> void sweep(const Ints &positions, Out *const *out) const;
};

}  // namespace mlcli
