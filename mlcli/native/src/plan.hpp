// The shape of an elimination: plain structs that every kernel reads and none changes.
#pragma once
#include <cstdint>

namespace mlcli {

// Rows of neighboring vertices that share their ancestors. Row i is the vertex at position top - i;
// its entries are the lengths to the vertices at the depths list[0 .. ups + i), root first.
struct Node {
    std::int64_t values;  // where its rows x width entries begin
    std::int64_t list;    // where its list of depths begins: ups ancestors, then its own rows
    std::int32_t top, rows, ups, width;
    std::int32_t base;    // the depth of row 0 in the tree
    std::int32_t parent;  // -1 at a root
};

// Entries [low, high) of a source's list are rows of the node that this contribution goes to.
struct Contribution {
    std::int32_t source, low, high;
};

struct Plan {
    std::int32_t vertices, nodes, depth;  // depth: rows of the deepest path
    const Node *node;
    const std::uint32_t *lists;
    const std::int64_t *contribution_starts;  // nodes + 1
    const Contribution *contributions;
    const std::int32_t *node_of;   // position -> node
    const std::int32_t *original;  // position -> vertex
    const std::int32_t *position;  // vertex -> position
};

// What a block adds to D ∘ D times vectors and, unless null, to the sums of its rows, by position, from that of `base` on.
struct Folds {
    double *product, *sums;  // (vertices - base) x columns, vertices - base
    std::int64_t base;
    std::int64_t row(std::int64_t position) const { return position - base; }
};

// What a sweep starts from, one lane for each source, and the nodes that it reaches on the way up.
struct Sources {
    int count;
    const std::int32_t *position;  // of each source
    std::int32_t nodes;
    const std::int32_t *node;   // ascending: those that hold sources, and their ancestors
    const std::int32_t *place;  // node -> where its row 0 stands on the way up, its others before it; -1: not reached
};

constexpr int PANEL = 64;      // rows of a node at most
constexpr int COLUMNS = 512;   // columns that an elimination works on at once
constexpr int STRIP = 64;      // rows of a Floyd-Warshall block

}  // namespace mlcli
