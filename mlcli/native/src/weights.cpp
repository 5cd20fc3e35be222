// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#include "weights.hpp"

#include <algorithm>
#include <limits>

namespace mlcli {

// The shortest length counts where two vertices are joined twice.
template <class T> Weights<T>::Weights(std::shared_ptr<const Symbolic> shape, const Graph &graph)
    : numbers_(std::move(shape), std::numeric_limits<T>::infinity()) {
    for (std::int32_t v = 0; v < graph.vertices; ++v)
        for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) {
            if (graph.indices[e] == v) continue;
            T &value = numbers_.get()[symbolic().slot(v, static_cast<std::int32_t>(graph.indices[e]))];
            value = std::min(value, static_cast<T>(graph.lengths[e]));
        }
}

template <class T> std::int64_t Weights<T>::blocks() const {
    return (symbolic().plan().vertices + BLOCK<T> - 1) / BLOCK<T>;
}

template <class T> int Weights<T>::count(std::int64_t block) const {
    return std::min(BLOCK<T>, symbolic().plan().vertices - first(block));
}

// The finished rows and the risen ones by depth, and those of the nodes that hold the sources.
template <class T> std::int64_t Weights<T>::scratch_size() const {
    return (2ll * symbolic().plan().depth + BLOCK<T> + 2 * PANEL) * BLOCK<T>;
}

template <class T> int Weights<T>::sources(std::int64_t block, std::int64_t *vertices) const {
    for (int i = 0; i < count(block); ++i) vertices[i] = symbolic().original[first(block) + i];
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
    const Plan plan = symbolic().plan();
    const Kernels<T> &kernel = kernels<T>();
    std::vector<std::uint32_t> rows(plan.depth + 1);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    const typename Pool<T>::Loan kept(kept_, static_cast<std::int64_t>(plan.vertices) * BLOCK<T>);
    write(kernel, plan, numbers_.get(), first(block), count(block), rows.data(), scratch.get(), kept.get(), out);
}

template <class T>
double Weights<T>::fold(std::int64_t block, const double *q, int columns, const Folds &out, T *kept, bool again) const {
    const Plan plan = symbolic().plan();
    const Kernels<T> &kernel = kernels<T>();
    const Buffer<double> sums(kernel.fold_scratch(columns));
    if (again) return kernel.refold(plan, kept, first(block), count(block), q, columns, out, sums.get());
    std::vector<std::uint32_t> rows(plan.depth + 1);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    return kernel.fold(plan, numbers_.get(), first(block), count(block), rows.data(), scratch.get(), q, columns, out, kept,
                       sums.get());
}

template class Weights<float>;
template class Weights<double>;
template void Weights<float>::distances(std::int64_t, float *const *) const;
template void Weights<float>::distances(std::int64_t, double *const *) const;
template void Weights<double>::distances(std::int64_t, float *const *) const;
template void Weights<double>::distances(std::int64_t, double *const *) const;

}  // namespace mlcli
