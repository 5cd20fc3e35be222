// The distances from a block of sources to every vertex: up along their ancestors, then down the whole tree.
#pragma once
#include "tiles.hpp"
#include "plan.hpp"

namespace mlcli::LEVEL {

// Rows of LANES numbers, one lane for each source of the block.
template <class T, int LANES> struct Sweep {
    const Plan &plan;
    const T *values;
    int first, count;     // positions of the sources
    T *stack;             // finished rows by depth
    T *risen;             // rows on the way up: by depth, then those of the nodes that hold the sources
    std::uint32_t *rows;  // depth -> row of `risen`
    int from, to;         // the nodes that hold the sources

    std::int64_t risen_rows() const { return plan.depth + plan.node[to].last() - plan.node[from].first() + 1ll; }
    std::uint32_t local(int position) const {
        return static_cast<std::uint32_t>(plan.depth + position - plan.node[from].first());
    }
    T *risen_row(const Node &node, int index, int row) const {
        return risen + (index <= to ? local(node.top - row) : static_cast<std::uint32_t>(node.base + row))
                           * static_cast<std::int64_t>(LANES);
    }
};

// R rows (some may be unreached) give to the ancestors named by their list, and to one another.
template <class T, int LANES, int R>
INLINE void rise_tile(const Sweep<T, LANES> &s, const Node &node, int index, int first) {
    using L = Lanes<T>;
    constexpr int strip = VECTORS * L::width;
    const T *w = s.values + node.values + static_cast<std::int64_t>(first) * node.width;
    const std::uint32_t *list = s.plan.lists + node.list;
    for (int lane = 0; lane < LANES; lane += strip) {
        typename L::V own[R][VECTORS];
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int n = 0; n < VECTORS; ++n)
                own[r][n] = L::load(s.risen_row(node, index, first + r) + lane + n * L::width);
        UNROLL for (int v = R - 1; v > 0; --v)
            UNROLL for (int x = 0; x < v; ++x) {
                const typename L::V length = L::fill(w[v * static_cast<std::int64_t>(node.width) + node.ups + first + x]);
                UNROLL for (int n = 0; n < VECTORS; ++n) own[x][n] = L::min(own[x][n], L::add(length, own[v][n]));
            }
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int n = 0; n < VECTORS; ++n)
                L::store(s.risen_row(node, index, first + r) + lane + n * L::width, own[r][n]);
        for (int j = 0; j < node.ups + first; ++j) {
            T *row = s.risen + static_cast<std::int64_t>(s.rows[list[j]]) * LANES + lane;
            typename L::V sum[VECTORS];
            UNROLL for (int n = 0; n < VECTORS; ++n) sum[n] = L::load(row + n * L::width);
            UNROLL for (int r = 0; r < R; ++r) {
                const typename L::V length = L::fill(w[r * static_cast<std::int64_t>(node.width) + j]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[n] = L::min(sum[n], L::add(length, own[r][n]));
            }
            UNROLL for (int n = 0; n < VECTORS; ++n) L::store(row + n * L::width, sum[n]);
        }
    }
}

template <class T, int LANES> static void rise_node(const Sweep<T, LANES> &s, int index) {
    const Node &node = s.plan.node[index];
    int first = node.rows - 1;
    if (node.last() - first < s.first) first = node.last() - s.first;  // rows below the sources are unreached
    for (first = first / 4 * 4; first >= 0; first -= 4) {
        const int count = node.rows - first;
        if (count >= 4) rise_tile<T, LANES, 4>(s, node, index, first);
        else if (count == 3) rise_tile<T, LANES, 3>(s, node, index, first);
        else if (count == 2) rise_tile<T, LANES, 2>(s, node, index, first);
        else rise_tile<T, LANES, 1>(s, node, index, first);
    }
}

// The rows of a node, and of its ancestors among the nodes of the sources, by depth; or back to the path's rows.
template <class T, int LANES> static void name_rows(const Sweep<T, LANES> &s, int index, bool local) {
    for (int i = index; i != -1 && i <= s.to; i = s.plan.node[i].parent) {
        const Node &node = s.plan.node[i];
        for (int r = 0; r < node.rows; ++r)
            s.rows[node.base + r] = local ? s.local(node.top - r) : static_cast<std::uint32_t>(node.base + r);
    }
}

template <class T, int LANES> static void rise(const Sweep<T, LANES> &s) {
    const T infinity = static_cast<T>(__builtin_inff());
    for (std::int64_t i = 0; i < s.risen_rows() * LANES; ++i) s.risen[i] = infinity;
    for (int i = 0; i < s.count; ++i) s.risen[static_cast<std::int64_t>(s.local(s.first + i)) * LANES + i] = 0;
    for (int d = 0; d < s.plan.depth; ++d) s.rows[d] = static_cast<std::uint32_t>(d);
    for (int i = s.from; i <= s.to; ++i) {
        name_rows(s, i, true);
        rise_node(s, i);
        name_rows(s, i, false);
    }
    for (int i = s.plan.node[s.to].parent; i != -1; i = s.plan.node[i].parent) rise_node(s, i);
}

// R rows take from the ancestors named by their list, and from one another; `start` holds what rose, or null.
template <class T, int LANES, int R>
INLINE void sink_tile(const Sweep<T, LANES> &s, const Node &node, int first, const T *const *start) {
    using L = Lanes<T>;
    constexpr int strip = VECTORS * L::width;
    const std::int64_t width = node.width;
    const T *w = s.values + node.values + first * width;
    const std::uint32_t *list = s.plan.lists + node.list;
    T *out = s.stack + static_cast<std::int64_t>(node.base + first) * LANES;
    for (int lane = 0; lane < LANES; lane += strip) {
        typename L::V sum[R][VECTORS];
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int n = 0; n < VECTORS; ++n)
                sum[r][n] = start ? L::load(start[r] + lane + n * L::width) : L::fill(static_cast<T>(__builtin_inff()));
        for (int j = 0; j < node.ups + first; ++j) {
            const T *row = s.stack + static_cast<std::int64_t>(list[j]) * LANES + lane;
            typename L::V far[VECTORS];
            UNROLL for (int n = 0; n < VECTORS; ++n) far[n] = L::load(row + n * L::width);
            UNROLL for (int r = 0; r < R; ++r) {
                const typename L::V length = L::fill(w[r * width + j]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[r][n] = L::min(sum[r][n], L::add(length, far[n]));
            }
        }
        UNROLL for (int r = 1; r < R; ++r)
            UNROLL for (int x = 0; x < r; ++x) {
                const typename L::V length = L::fill(w[r * width + node.ups + first + x]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[r][n] = L::min(sum[r][n], L::add(length, sum[x][n]));
            }
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int n = 0; n < VECTORS; ++n) L::store(out + r * LANES + lane + n * L::width, sum[r][n]);
    }
}

template <class T, int LANES> static void sink_node(const Sweep<T, LANES> &s, int index, bool reached) {
    const Node &node = s.plan.node[index];
    for (int first = 0; first < node.rows; first += 4) {
        const int count = node.rows - first;
        const T *rows[4];
        for (int r = 0; reached && r < 4 && r < count; ++r) rows[r] = s.risen_row(node, index, first + r);
        const T *const *start = reached ? rows : nullptr;
        if (count >= 4) sink_tile<T, LANES, 4>(s, node, first, start);
        else if (count == 3) sink_tile<T, LANES, 3>(s, node, first, start);
        else if (count == 2) sink_tile<T, LANES, 2>(s, node, first, start);
        else sink_tile<T, LANES, 1>(s, node, first, start);
    }
}

// Hands the finished rows (rows x LANES) of the nodes down to `lowest` to `take` with their node, the last node first.
template <class T, int LANES, class Take> static void sweep(const Sweep<T, LANES> &s, int lowest, Take &take) {
    rise(s);
    int path = s.plan.node[s.to].parent;  // the path's nodes come in descending order: find them from the root
    for (int i = s.to; i != -1; i = s.plan.node[i].parent) s.rows[s.plan.node[i].base] = static_cast<std::uint32_t>(i);
    path = static_cast<int>(s.rows[0]);
    for (int i = s.plan.nodes - 1; i >= lowest; --i) {
        const bool on_path = i == path;
        sink_node(s, i, on_path || (i >= s.from && i <= s.to));
        const Node &node = s.plan.node[i];
        take(node, s.stack + static_cast<std::int64_t>(node.base) * LANES);
        if (on_path && i != s.to) path = static_cast<int>(s.rows[node.base + node.rows]);
    }
}

}  // namespace mlcli::LEVEL
