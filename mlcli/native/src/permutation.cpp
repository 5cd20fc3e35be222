// A square matrix brought into another order of its rows and columns in place, in two stages of tasks.
#include "permutation.hpp"

#include <algorithm>

namespace mlcli {
namespace {

constexpr std::int64_t CHAINS = 64;      // chains of the longest cycle at most, and rows that are saved
constexpr std::int64_t NUMBERS = 1 << 17;  // that a task moves at least, where there are so many

Longs task_starts(std::int64_t most, const Longs &ends) {
    Longs starts{0};
    std::int64_t done = 0;
    for (std::size_t i = 0; i < ends.size(); ++i)
        if (ends[i] - done >= most || i + 1 == ends.size()) {
            starts.push_back(static_cast<std::int64_t>(i) + 1);
            done = ends[i];
        }
    return starts;
}

}  // namespace

Permutation::Permutation(Ints source) : source_(std::move(source)), saved_(0) {
    const auto size = static_cast<std::int64_t>(source_.size());
    const std::int64_t most = std::max((size + CHAINS - 1) / CHAINS, NUMBERS / std::max<std::int64_t>(size, 1));
    std::vector<bool> known(source_.size(), false);
    for (std::int32_t first = 0; first < size; ++first) {
        if (known[first]) continue;
        const auto start = static_cast<std::int64_t>(cycles_.size());
        for (std::int32_t row = first; !known[row]; row = source_[row]) {
            known[row] = true;
            cycles_.push_back(row);
        }
        cut(start, most);
    }
    Longs ends;
    for (const Chain &chain : chains_) ends.push_back(chain.end);
    moves_ = task_starts(most, ends);
    saved_ = Buffer<double>(saves() * size);
}

// The last cycle, from `start` on, in chains of `most` rows; in one of its own where it is no longer.
void Permutation::cut(std::int64_t start, std::int64_t most) {
    const auto end = static_cast<std::int64_t>(cycles_.size());
    const std::int64_t first = saves();
    if (end - start <= most) return chains_.push_back({start, end, -1});
    for (std::int64_t from = start; from < end; from += most) {
        heads_.push_back(cycles_[from]);
        chains_.push_back({from, std::min(from + most, end), from + most < end ? saves() : first});
    }
}

template <class T> void Permutation::save(std::int64_t task, const T *matrix) const {
    const auto size = static_cast<std::int64_t>(source_.size());
    std::copy_n(matrix + heads_[task] * size, size, reinterpret_cast<T *>(saved_.get() + task * size));
}

template <class T> void Permutation::move(std::int64_t task, T *matrix) const {
    std::vector<T> row(source_.size());
    for (std::int64_t i = moves_[task]; i < moves_[task + 1]; ++i) move(chains_[i], row.data(), matrix);
}

// A row is copied in its order before its numbers are taken in another, so that memory is read and written in turn.
template <class T> void Permutation::move(const Chain &chain, T *row, T *matrix) const {
    const auto size = static_cast<std::int64_t>(source_.size());
    std::vector<T> own;
    const T *const first = matrix + cycles_[chain.start] * size;
    if (chain.next < 0) own.assign(first, first + size);
    const T *const last = chain.next < 0 ? own.data() : reinterpret_cast<const T *>(saved_.get() + chain.next * size);
    for (std::int64_t i = chain.start; i < chain.end; ++i) {
        std::copy_n(i + 1 < chain.end ? matrix + cycles_[i + 1] * size : last, size, row);
        T *const to = matrix + cycles_[i] * size;
        for (std::int64_t column = 0; column < size; ++column) to[column] = row[source_[column]];
    }
}

template void Permutation::save(std::int64_t, const float *) const;
template void Permutation::save(std::int64_t, const double *) const;
template void Permutation::move(std::int64_t, float *) const;
template void Permutation::move(std::int64_t, double *) const;

}  // namespace mlcli
