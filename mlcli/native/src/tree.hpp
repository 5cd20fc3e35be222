// The elimination tree of an undirected graph, its postorder, and the sizes of the up-sets.
#pragma once
#include <cstdint>
#include <vector>

namespace mlcli {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;

struct Graph {
    std::int32_t vertices;
    const std::int64_t *starts, *indices;
    const double *lengths;
};

// For each position, the positions joined to it on one side of the order (repeats allowed).
struct Adjacency {
    Longs starts;
    Ints joined;
};

enum class Side { earlier, later };

Adjacency adjacency(const Graph &graph, const Ints &position, Side side);
Ints elimination_tree(const Adjacency &earlier);
Ints postorder(const Ints &parent);
Ints up_counts(const Adjacency &earlier, const Ints &parent);

}  // namespace mlcli
