// Sides of a triangle that are longer than the other two together.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

// How many k have left[k] + right[k] below a limit, and the least of these sums; NaN is below nothing.
template <class T>
static std::int64_t around(const T *left, const T *right, std::int64_t size, T limit, T *least) {
    using L = Lanes<T>;
    constexpr int STEP = 64;
    T sums[STEP], kept[L::width];
    typename L::V low = L::fill(static_cast<T>(__builtin_inff()));
    std::int64_t found = 0, start = 0;
    for (; start + STEP <= size; start += STEP) {
        for (int i = 0; i < STEP; i += L::width) {
            const typename L::V sum = L::add(L::load(left + start + i), L::load(right + start + i));
            L::store(sums + i, sum);
            low = L::min(sum, low);  // the second operand where one is NaN
        }
        int below = 0;
        for (int i = 0; i < STEP; ++i) below += sums[i] < limit;
        found += below;
    }
    L::store(kept, low);
    T smallest = kept[0];
    for (int i = 1; i < L::width; ++i) smallest = kept[i] < smallest ? kept[i] : smallest;
    for (; start < size; ++start) {
        const T sum = left[start] + right[start];
        found += sum < limit;
        smallest = sum < smallest ? sum : smallest;
    }
    *least = smallest;
    return found;
}

}  // namespace mlcli::LEVEL
