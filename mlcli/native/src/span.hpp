// Parts of the matrix of all distances in the order of elimination backwards, where ancestors come first.
#pragma once
#include <cstdint>

namespace mlcli {

// A finished row of the matrix that a sweep needs at a depth.
struct Ancestor {
    std::int32_t depth, row;
};

// Consecutive nodes whose rows are found together, the last node first. Row i is the vertex at position vertices - 1 - i.
struct Span {
    std::int32_t last, first;             // nodes
    std::int32_t begin, end;              // rows
    const Ancestor *ancestors;            // those above the span that a node is the first to need
    const std::int64_t *ancestor_starts;  // of node last - i at i
};

// Sources that stand one after the other in the matrix, one lane each.
struct Strip {
    std::int64_t first;
    int count;
};

}  // namespace mlcli
