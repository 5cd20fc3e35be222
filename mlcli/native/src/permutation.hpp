// A square matrix brought into another order of its rows and columns in place, in two stages of tasks.
#pragma once
#include <vector>

#include "buffer.hpp"
#include "tree.hpp"

namespace mlcli {

// Rows go along cycles, which are cut into chains. The first row of a chain is saved for the chain before it.
class Permutation {
public:
    explicit Permutation(Ints source);  // row and column i become row and column source[i] of before

    std::int64_t saves() const { return static_cast<std::int64_t>(heads_.size()); }
    std::int64_t moves() const { return static_cast<std::int64_t>(moves_.size()) - 1; }
    // The tasks of both stages; any number of them may run at the same time, on the same matrix.
    template <class T> void save(std::int64_t task, const T *matrix) const;
    template <class T> void move(std::int64_t task, T *matrix) const;

private:
    struct Chain {
        std::int64_t start, end;  // of `cycles_`: each row is replaced by the next one
        std::int64_t next;        // the saved row that replaces the last one; -1: the chain's own first
    };

    Ints source_, cycles_, heads_;
    std::vector<Chain> chains_;
    Longs moves_;           // where the chains of a task start, and their number
    Buffer<double> saved_;  // a row for each head

    void cut(std::int64_t start, std::int64_t most);
    template <class T> void move(const Chain &chain, T *row, T *matrix) const;
};

}  // namespace mlcli
