// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#pragma once
#include <memory>
#include <new>

#include "kernels.hpp"
#include "schedule.hpp"

namespace mlcli {

// Numbers on a boundary of 64 bytes, uninitialized.
template <class T> class Buffer {
public:
    explicit Buffer(std::int64_t size)
        : numbers_(static_cast<T *>(::operator new[](static_cast<std::size_t>(size) * sizeof(T), std::align_val_t(64)))) {}
    T *get() const { return numbers_.get(); }

private:
    struct Free { void operator()(T *p) const { ::operator delete[](p, std::align_val_t(64)); } };
    std::unique_ptr<T[], Free> numbers_;
};

template <class T> class Weights {
public:
    Weights(std::shared_ptr<const Symbolic> symbolic, const Graph &graph);

    std::int64_t blocks() const;
    void eliminate(const Task &task) const;
    // The vertices of a block, and their distances to all: one row of `out` each.
    int sources(std::int64_t block, std::int64_t *vertices) const;
    template <class Out> void distances(std::int64_t block, Out *const *out) const;
    // product: sources x columns; squares, fourths: sources.
    void fold(std::int64_t block, const double *q, int columns, double *product, double *squares, double *fourths) const;

private:
    std::shared_ptr<const Symbolic> symbolic_;
    Buffer<T> values_;

    int first(std::int64_t block) const { return static_cast<int>(block * LANES); }
    int count(std::int64_t block) const;
};

}  // namespace mlcli
