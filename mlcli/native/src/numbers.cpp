// The numbers that an elimination works on, one for every entry of its nodes' rows.
#include "numbers.hpp"

#include <algorithm>

namespace mlcli {

template <class T> Numbers<T>::Numbers(std::shared_ptr<const Symbolic> symbolic)
    : symbolic_(std::move(symbolic)), numbers_(symbolic_->values()) {}

template <class T> Numbers<T>::Numbers(std::shared_ptr<const Symbolic> symbolic, T start) : Numbers(std::move(symbolic)) {
    std::fill_n(get(), symbolic_->values(), start);
}

template <class T> void Numbers<T>::eliminate(const Task &task, typename Kernels<T>::Eliminate kernel) const {
    const Plan plan = symbolic_->plan();
    const typename Pool<T>::Loan scratch(scratch_, kernels<T>().factor_scratch());
    std::vector<std::uint32_t> where(plan.depth);
    auto run = [&](std::int32_t node, std::int32_t low, std::int32_t high) {
        if (low < high) kernel(plan, get(), node, low, high, where.data(), scratch.get());
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

template class Numbers<float>;
template class Numbers<double>;

}  // namespace mlcli
