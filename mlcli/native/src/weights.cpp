// The numbers of an elimination in one precision: they are eliminated task by task, then swept block by block.
#include "weights.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

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

template <class T> Weights<T>::Weights(std::shared_ptr<const Symbolic> shape, const T *numbers)
    : numbers_(std::move(shape), std::numeric_limits<T>::infinity()) {
    std::copy_n(numbers, symbolic().values(), numbers_.get());
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

// Sources at some positions, with the nodes that they reach; a row's place on the way up is its position, or, packed,
// its number among the rows reached.
class Reach {
public:
    Reach(const Plan &plan, const Ints &positions, bool packed) : positions_(positions), place_(plan.nodes, -1) {
        for (const std::int32_t position : positions)
            for (std::int32_t i = plan.node_of[position]; i != -1 && place_[i] < 0; i = plan.node[i].parent) {
                place_[i] = plan.node[i].top;
                nodes_.push_back(i);
            }
        std::sort(nodes_.begin(), nodes_.end());
        for (const std::int32_t i : nodes_) {
            rows_ += plan.node[i].rows;
            if (packed) place_[i] = rows_ - 1;
        }
    }
    std::int32_t rows() const { return rows_; }
    Sources sources() const {
        return {static_cast<int>(positions_.size()), positions_.data(), static_cast<std::int32_t>(nodes_.size()),
                nodes_.data(), place_.data()};
    }

private:
    const Ints &positions_;
    Ints nodes_, place_;
    std::int32_t rows_ = 0;  // of all nodes
};

Ints consecutive(std::int32_t first, int count) {
    Ints positions(count);
    std::iota(positions.begin(), positions.end(), first);
    return positions;
}

}  // namespace

template <class T> void Weights<T>::sweep(const Ints &positions, double *const *out) const {
    const Plan plan = symbolic().plan();
    const Reach reach(plan, positions, false);
    std::vector<std::uint32_t> rows(plan.depth);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    const typename Pool<T>::Loan kept(kept_, static_cast<std::int64_t>(plan.vertices) * BLOCK<T>);
    kernels<T>().distances(plan, numbers_.get(), reach.sources(), rows.data(), scratch.get(), kept.get(), out);
}

template <class T> void Weights<T>::distances(std::int64_t block, double *const *out) const {
    sweep(consecutive(first(block), count(block)), out);
}

template <class T>
void Weights<T>::rows(const std::int64_t *vertices, int count, double *const *out) const {
    Ints positions(count);
    for (int i = 0; i < count; ++i) positions[i] = symbolic().position[vertices[i]];
    sweep(positions, out);
}

template <class T>
double Weights<T>::fold(std::int64_t block, const double *q, int columns, const Folds &out, T *kept, bool again) const {
    const Plan plan = symbolic().plan();
    const Kernels<T> &kernel = kernels<T>();
    const Buffer<double> sums(kernel.fold_scratch(columns));
    if (again) return kernel.refold(plan, kept, first(block), count(block), q, columns, out, sums.get());
    const Ints positions = consecutive(first(block), count(block));
    const Reach reach(plan, positions, true);
    std::vector<std::uint32_t> rows(plan.depth);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    T *const risen = scratch.get() + static_cast<std::int64_t>(plan.depth) * BLOCK<T>;
    return kernel.fold(plan, numbers_.get(), reach.sources(), rows.data(), scratch.get(), risen, q, columns, out, kept,
                       sums.get());
}

template <class T>
void Weights<T>::fold_columns(const std::int64_t *vertices, int count, const double *factors, int columns,
                              double *out) const {
    const Plan plan = symbolic().plan();
    Ints positions(BLOCK<T>);  // a lane without a source would hold infinities, which no factor makes zero
    for (int i = 0; i < BLOCK<T>; ++i) positions[i] = symbolic().position[vertices[std::min(i, count - 1)]];
    const Reach reach(plan, positions, true);
    std::vector<std::uint32_t> rows(plan.depth);
    const typename Pool<T>::Loan scratch(scratch_, scratch_size());
    const Buffer<T> risen(static_cast<std::int64_t>(reach.rows()) * BLOCK<T>);
    const Buffer<double> sums(kernels<T>().fold_scratch(columns));
    kernels<T>().fold_columns(plan, numbers_.get(), reach.sources(), rows.data(), scratch.get(), risen.get(), factors,
                              count, columns, out, sums.get());
}

template class Weights<float>;
template class Weights<double>;

}  // namespace mlcli
