// The matrix of all distances of an eliminated graph, in stages of tasks: each pair is found once and written twice.
#include "allpairs.hpp"

#include <algorithm>
#include <stdexcept>

namespace mlcli {
namespace {

constexpr std::int32_t ROWS = 512;  // of a span at most: of these, and what they need of their ancestors, caches hold a strip
constexpr std::int64_t STRIPS = 8;  // of a task

// The rows of the matrix on the path from a node to its root, by depth.
class Path {
public:
    explicit Path(const Plan &plan) : plan_(plan), row_(plan.depth, -1) {}
    void reach(std::int32_t index) {
        for (std::int32_t i = index; i != -1; i = plan_.node[i].parent) {
            const Node &node = plan_.node[i];
            const std::int32_t top = plan_.vertices - 1 - node.top;
            if (row_[node.base] == top) return;  // nodes come in postorder backwards: its ancestors still stand
            for (std::int32_t r = 0; r < node.rows; ++r) row_[node.base + r] = top + r;
        }
    }
    std::int32_t row(std::uint32_t depth) const { return row_[depth]; }

private:
    const Plan &plan_;
    Ints row_;
};

Ints backwards(const Plan &plan) {
    Ints rows(plan.vertices);
    for (std::int32_t v = 0; v < plan.vertices; ++v) rows[v] = plan.vertices - 1 - plan.position[v];
    return rows;
}

}  // namespace

template <class T>
AllPairs<T>::AllPairs(std::shared_ptr<const Symbolic> symbolic, const T *numbers)
    : symbolic_(std::move(symbolic)), numbers_(numbers), permutation_(backwards(symbolic_->plan())) {
    divide();
    for (std::size_t i = 0; i < spans_.size(); ++i) {
        const std::int64_t above = spans_[i].begin / BLOCK<T>, end = (spans_[i].end + BLOCK<T> - 1) / BLOCK<T>;
        if (above > 0) stages_.push_back({static_cast<std::int32_t>(i), 0, above, STRIPS});
        stages_.push_back({static_cast<std::int32_t>(i), above, end, end - above});
    }
}

// Spans of whole nodes, with the rows above a span that each of its nodes is the first to need.
template <class T> void AllPairs<T>::divide() {
    const Plan plan = symbolic_->plan();
    Path path(plan);
    Ints standing(plan.depth);
    for (std::int32_t last = plan.nodes - 1, first; last >= 0; last = first - 1) {
        const std::int32_t begin = plan.vertices - 1 - plan.node[last].top;
        std::int32_t end = begin;
        std::fill(standing.begin(), standing.end(), -1);
        for (first = last + 1; first > 0 && end - begin + plan.node[first - 1].rows <= ROWS;) {
            const Node &node = plan.node[--first];
            path.reach(first);
            ancestor_starts_.push_back(static_cast<std::int64_t>(ancestors_.size()));
            for (std::int32_t j = 0; j < node.ups + node.rows; ++j) {
                const std::uint32_t depth = plan.lists[node.list + j];
                const std::int32_t row = path.row(depth);
                if (j < node.ups && standing[depth] != row) ancestors_.push_back({static_cast<std::int32_t>(depth), row});
                standing[depth] = row;
            }
            end += node.rows;
        }
        spans_.push_back({last, first, begin, end, nullptr, nullptr});
    }
    ancestor_starts_.push_back(static_cast<std::int64_t>(ancestors_.size()));
    for (Span &span : spans_) {
        span.ancestors = ancestors_.data();
        span.ancestor_starts = ancestor_starts_.data() + (plan.nodes - 1 - span.last);
    }
}

template <class T> std::vector<std::int64_t> AllPairs<T>::stages() const {
    std::vector<std::int64_t> counts;
    for (const Stage &stage : stages_) counts.push_back(stage.tasks());
    counts.push_back(permutation_.saves());
    counts.push_back(permutation_.moves());
    return counts;
}

template <class T>
void AllPairs<T>::sweep(const Stage &stage, std::int64_t task, double *matrix) const {
    const Plan plan = symbolic_->plan();
    const typename Pool<T>::Loan stack(stack_, static_cast<std::int64_t>(plan.depth) * BLOCK<T>);
    const typename Pool<T>::Loan kept(kept_, static_cast<std::int64_t>(ROWS) * BLOCK<T>);
    std::vector<std::int32_t> standing(plan.depth, -1);
    const std::int64_t low = stage.first + task * stage.step, high = std::min(low + stage.step, stage.end);
    for (std::int64_t first = low * BLOCK<T>; first < high * BLOCK<T>; first += BLOCK<T>) {
        const int count = static_cast<int>(std::min<std::int64_t>(BLOCK<T>, plan.vertices - first));
        kernels<T>().pairs(plan, numbers_, spans_[stage.span], {first, count}, stack.get(), kept.get(), standing.data(),
                           matrix);
    }
}

template <class T>
void AllPairs<T>::run(std::int64_t stage, std::int64_t task, double *matrix) const {
    const std::vector<std::int64_t> counts = stages();
    const auto sweeps = static_cast<std::int64_t>(stages_.size());
    if (stage < 0 || stage >= sweeps + 2) throw std::invalid_argument("no such stage");
    if (task < 0 || task >= counts[stage]) throw std::invalid_argument("no such task");
    if (stage < sweeps) sweep(stages_[stage], task, matrix);
    else if (stage == sweeps) permutation_.save(task, matrix);
    else permutation_.move(task, matrix);
}

template class AllPairs<float>;
template class AllPairs<double>;

}  // namespace mlcli
