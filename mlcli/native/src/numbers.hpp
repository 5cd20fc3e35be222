// The numbers that an elimination works on, one for every entry of its nodes' rows.
#pragma once
#include <memory>

#include "buffer.hpp"
#include "kernels.hpp"
#include "schedule.hpp"

namespace mlcli {

template <class T> class Numbers {
public:
    explicit Numbers(std::shared_ptr<const Symbolic> symbolic);  // uninitialized
    Numbers(std::shared_ptr<const Symbolic> symbolic, T start);

    T *get() const { return numbers_.get(); }
    const Symbolic &symbolic() const { return *symbolic_; }
    // A task, by the kernel that eliminates columns of a node.
    void eliminate(const Task &task, typename Kernels<T>::Eliminate kernel) const;

private:
    std::shared_ptr<const Symbolic> symbolic_;
    Buffer<T> numbers_;
    mutable Pool<T> scratch_;
};

}  // namespace mlcli
