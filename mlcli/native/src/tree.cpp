// The elimination tree of an undirected graph, its postorder, and the sizes of the up-sets.
#include "tree.hpp"

#include <algorithm>

namespace mlcli {

// Every stored entry joins its two ends, so a graph given in one direction only is understood as well.
Adjacency adjacency(const Graph &graph, const Ints &position, Side side) {
    const bool later = side == Side::later;
    Adjacency result;
    result.starts.assign(graph.vertices + 1, 0);
    auto each = [&](auto &&visit) {
        for (std::int32_t v = 0; v < graph.vertices; ++v)
            for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) {
                const std::int32_t a = position[v], b = position[graph.indices[e]];
                if (a != b) visit(later ? std::min(a, b) : std::max(a, b), later ? std::max(a, b) : std::min(a, b));
            }
    };
    each([&](std::int32_t key, std::int32_t) { ++result.starts[key + 1]; });
    for (std::int32_t v = 0; v < graph.vertices; ++v) result.starts[v + 1] += result.starts[v];
    result.joined.resize(result.starts.back());
    Longs next(result.starts.begin(), result.starts.end() - 1);
    each([&](std::int32_t key, std::int32_t other) { result.joined[next[key]++] = other; });
    return result;
}

// Liu's algorithm with path compression.
Ints elimination_tree(const Adjacency &earlier) {
    const auto size = static_cast<std::int32_t>(earlier.starts.size() - 1);
    Ints parent(size, -1), ancestor(size, -1);
    for (std::int32_t v = 0; v < size; ++v)
        for (std::int64_t e = earlier.starts[v]; e < earlier.starts[v + 1]; ++e)
            for (std::int32_t r = earlier.joined[e]; r != -1 && r != v;) {
                const std::int32_t next = ancestor[r];
                ancestor[r] = v;
                if (next == -1) parent[r] = v;
                r = next;
            }
    return parent;
}

// New positions such that every subtree is an interval that ends at its root.
Ints postorder(const Ints &parent) {
    const auto size = static_cast<std::int32_t>(parent.size());
    Ints subtree(size, 1), cursor(size), position(size);
    for (std::int32_t v = 0; v < size; ++v)
        if (parent[v] != -1) subtree[parent[v]] += subtree[v];
    std::int32_t roots = size - 1;
    for (std::int32_t v = size - 1; v >= 0; --v) {
        std::int32_t &end = parent[v] == -1 ? roots : cursor[parent[v]];
        position[v] = end;
        end -= subtree[v];
        cursor[v] = position[v] - 1;
    }
    return position;
}

// The size of up(v) for each v, by walking the row subtrees: as many steps as there are entries.
Ints up_counts(const Adjacency &earlier, const Ints &parent) {
    const auto size = static_cast<std::int32_t>(parent.size());
    Ints counts(size, 0), mark(size, -1);
    for (std::int32_t v = 0; v < size; ++v) {
        mark[v] = v;
        for (std::int64_t e = earlier.starts[v]; e < earlier.starts[v + 1]; ++e)
            for (std::int32_t r = earlier.joined[e]; mark[r] != v; r = parent[r]) {
                ++counts[r];
                mark[r] = v;
            }
    }
    return counts;
}

}  // namespace mlcli
