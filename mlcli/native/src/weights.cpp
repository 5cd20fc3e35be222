// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#include "weights.hpp"

#include <algorithm>
#include <limits>

namespace mlcli {

template <class T> Weights<T>::Weights(std::shared_ptr<const Symbolic> symbolic, const Graph &graph)
    : symbolic_(std::move(symbolic)), values_(symbolic_->values()) {
    std::fill_n(values_.get(), symbolic_->values(), std::numeric_limits<T>::infinity());
    symbolic_->place(graph, values_.get());
}

template <class T> void Weights<T>::eliminate(const Task &task) const {
    const Plan plan = symbolic_->plan();
    const Kernels<T> &kernel = kernels<T>();
    const typename Pool<T>::Loan scratch(factors_, kernel.factor_scratch());
    std::vector<std::uint32_t> where(plan.depth);
    auto run = [&](std::int32_t node, std::int32_t low, std::int32_t high) {
        if (low < high) kernel.eliminate(plan, values_.get(), node, low, high, where.data(), scratch.get());
    };
    if (task.high > 0) return run(task.first, task.low, task.high);
    for (std::int32_t i = task.first; i <= task.last; ++i) {
        const std::int32_t ups = plan.node[i].ups, all = ups + plan.node[i].rows;
        if (all <= COLUMNS) {
            run(i, 0, all);
        } else {
            run(i, ups, all);
            run(i, 0, ups);
        }
    }
}

template <class T> std::int64_t Weights<T>::blocks() const {
    return (symbolic_->plan().vertices + BLOCK<T> - 1) / BLOCK<T>;
}

template <class T> int Weights<T>::count(std::int64_t block) const {
    return std::min(BLOCK<T>, symbolic_->plan().vertices - first(block));
}

// The finished rows and the risen ones by depth, and those of the nodes that hold the sources.
template <class T> std::int64_t Weights<T>::scratch_size() const {
    return (2ll * symbolic_->plan().depth + BLOCK<T> + 2 * PANEL) * BLOCK<T>;
}

template <class T> int Weights<T>::sources(std::int64_t block, std::int64_t *vertices) const {
    for (int i = 0; i < count(block); ++i) vertices[i] = symbolic_->original[first(block) + i];
    return count(block);
}

namespace {

void write(const Kernels<float> &k, const Plan &p, const float *v, int first, int count, std::uint32_t *rows, float *scratch,
           float *kept, float *const *out) {
    k.distances32(p, v, first, count, rows, scratch, kept, out);
}
template <class T>
void write(const Kernels<T> &k, const Plan &p, const T *v, int first, int count, std::uint32_t *rows, T *scratch, T *kept,
           double *const *out) {
    k.distances64(p, v, first, count, rows, scratch, kept, out);
}
void write(const Kernels<double> &k, const Plan &p, const double *v, int first, int count, std::uint32_t *rows,
           double *scratch, double *kept, float *const *out) {
    k.distances32(p, v, first, count, rows, scratch, kept, out);
}

}  // namespace

template <class T> template <class Out> void Weights<T>::distances(std::int64_t block, Out *const *out) const {
    const Plan plan = symbolic_->plan();
    const Kernels<T> &kernel = kernels<T>();
    std::vector<std::uint32_t> rows(plan.depth + 1);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    const typename Pool<T>::Loan kept(kept_, static_cast<std::int64_t>(plan.vertices) * BLOCK<T>);
    write(kernel, plan, values_.get(), first(block), count(block), rows.data(), scratch.get(), kept.get(), out);
}

template <class T>
void Weights<T>::fold(std::int64_t block, const double *q, int columns, double *product, double *squares,
                      double *fourths, T *kept, bool again) const {
    const Plan plan = symbolic_->plan();
    const Kernels<T> &kernel = kernels<T>();
    const int lanes = count(block);
    std::vector<double> sums((columns + 2) * BLOCK<T>, 0.0);
    double *const second = sums.data() + columns * BLOCK<T>, *const fourth = second + BLOCK<T>;
    if (again) {
        kernel.refold(plan, kept, q, columns, sums.data(), second, fourth);
    } else {
        std::vector<std::uint32_t> rows(plan.depth + 1);
        const typename Pool<T>::Loan scratch(scratch_, scratch_size());
        kernel.fold(plan, values_.get(), first(block), lanes, rows.data(), scratch.get(), q, columns, sums.data(), second,
                    fourth, kept);
    }
    for (int lane = 0; lane < lanes; ++lane) {
        for (int j = 0; j < columns; ++j) product[lane * columns + j] = sums[j * BLOCK<T> + lane];
        squares[lane] = second[lane];
        fourths[lane] = fourth[lane];
    }
}

template class Weights<float>;
template class Weights<double>;
template void Weights<float>::distances(std::int64_t, float *const *) const;
template void Weights<float>::distances(std::int64_t, double *const *) const;
template void Weights<double>::distances(std::int64_t, float *const *) const;
template void Weights<double>::distances(std::int64_t, double *const *) const;

}  // namespace mlcli
