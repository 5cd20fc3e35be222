// An undirected graph with weights of vertices and edges, and its contractions to smaller ones.
#pragma once
#include "tree.hpp"

namespace mlcli {

struct Web {
    std::int32_t vertices = 0;
    Longs starts{0};  // vertices + 1
    Ints joined;      // both directions of every edge, no loops
    Ints lengths;     // edges of the finest graph that an entry stands for; empty: one each
    Ints weights;     // vertices of the finest graph that a vertex stands for; empty: one each

    std::int32_t weight(std::int32_t v) const { return weights.empty() ? 1 : weights[v]; }
    std::int32_t length(std::int64_t e) const { return lengths.empty() ? 1 : lengths[e]; }
    std::int64_t total() const;
};

// Which vertex of a smaller graph each vertex becomes a part of.
struct Contraction {
    Ints into;
    std::int32_t count = 0;
};

// Vertices with neighbors that no other has taken: clusters of `most`, and a few larger or smaller.
Contraction clusters(const Web &web, std::int32_t most);
// Pairs of vertices joined by many edges, none of them heavy; where few are joined, also pairs that share a neighbor.
Contraction matching(const Web &web, std::uint64_t seed);
Web contracted(const Web &web, const Contraction &to);
// The graph among the vertices on a side, with these vertices in their order.
Web part(const Web &web, const std::vector<std::int8_t> &side, std::int8_t wanted, Ints &original);
Adjacency adjacency(const Web &web, const Ints &position, Side side);  // no repeats

}  // namespace mlcli
