// The distances from some sources to every vertex: up along their ancestors, then down the whole tree.
#pragma once
#include "plan.hpp"
#include "tiles.hpp"

namespace mlcli::LEVEL {

// Rows of LANES numbers, one lane for each source.
template <class T, int LANES> struct Sweep {
    const Plan &plan;
    const T *values;
    const Sources &sources;
    T *stack;             // finished rows by depth
    T *risen;             // rows on the way up, those of the nodes that are reached
    std::uint32_t *rows;  // depth -> row of `risen`, along the path from the node at hand to its root

    T *risen_row(int index, int row) const {
        return risen + static_cast<std::int64_t>(sources.place[index] - row) * LANES;
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
                own[r][n] = L::load(s.risen_row(index, first + r) + lane + n * L::width);
        UNROLL for (int v = R - 1; v > 0; --v)
            UNROLL for (int x = 0; x < v; ++x) {
                const typename L::V length = L::fill(w[v * static_cast<std::int64_t>(node.width) + node.ups + first + x]);
                UNROLL for (int n = 0; n < VECTORS; ++n) own[x][n] = shorter<L>(own[x][n], length, own[v][n]);
            }
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int n = 0; n < VECTORS; ++n)
                L::store(s.risen_row(index, first + r) + lane + n * L::width, own[r][n]);
        for (int j = 0; j < node.ups + first; ++j) {
            T *row = s.risen + static_cast<std::int64_t>(s.rows[list[j]]) * LANES + lane;
            typename L::V sum[VECTORS];
            UNROLL for (int n = 0; n < VECTORS; ++n) sum[n] = L::load(row + n * L::width);
            UNROLL for (int r = 0; r < R; ++r) {
                const typename L::V length = L::fill(w[r * static_cast<std::int64_t>(node.width) + j]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[n] = shorter<L>(sum[n], length, own[r][n]);
            }
            UNROLL for (int n = 0; n < VECTORS; ++n) L::store(row + n * L::width, sum[n]);
        }
    }
}

template <class T, int LANES> static void rise_node(const Sweep<T, LANES> &s, int index) {
    const Node &node = s.plan.node[index];
    for (int first = (node.rows - 1) / 4 * 4; first >= 0; first -= 4)
        with_rows(node.rows - first, [&](auto rows) { rise_tile<T, LANES, rows.value>(s, node, index, first); });
}

// The rows of a node and of its ancestors by depth. Those of an ancestor that was named already still stand: nodes
// come in postorder, so all since then lay below it.
template <class T, int LANES> static void name_rows(const Sweep<T, LANES> &s, int index) {
    for (int i = index; i != -1; i = s.plan.node[i].parent) {
        const Node &node = s.plan.node[i];
        const auto place = static_cast<std::uint32_t>(s.sources.place[i]);
        if (s.rows[node.base] == place) return;
        for (int r = 0; r < node.rows; ++r) s.rows[node.base + r] = place - static_cast<std::uint32_t>(r);
    }
}

template <class T, int LANES> static void rise(const Sweep<T, LANES> &s) {
    const T infinity = static_cast<T>(__builtin_inff());
    for (int k = 0; k < s.sources.nodes; ++k) {
        const Node &node = s.plan.node[s.sources.node[k]];
        T *rows = s.risen_row(s.sources.node[k], node.rows - 1);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(node.rows) * LANES; ++i) rows[i] = infinity;
    }
    for (int i = 0; i < s.sources.count; ++i) {
        const int position = s.sources.position[i], index = s.plan.node_of[position];
        const Node &node = s.plan.node[index];
        s.risen_row(index, node.top - position)[i] = 0;
    }
    for (int d = 0; d < s.plan.depth; ++d) s.rows[d] = ~0u;
    for (int k = 0; k < s.sources.nodes; ++k) {
        name_rows(s, s.sources.node[k]);
        rise_node(s, s.sources.node[k]);
    }
}

// N vectors of R rows take from the ancestors named by their list, and from one another; `start` holds what rose, or null.
template <class T, int LANES, int R, int N>
INLINE void sink_strip(const Sweep<T, LANES> &s, const Node &node, int first, const T *const *start, int lane) {
    using L = Lanes<T>;
    const std::int64_t width = node.width;
    const T *w = s.values + node.values + first * width;
    const std::uint32_t *list = s.plan.lists + node.list;
    T *out = s.stack + static_cast<std::int64_t>(node.base + first) * LANES + lane;
    typename L::V sum[R][N];
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n)
            sum[r][n] = start ? L::load(start[r] + lane + n * L::width) : L::fill(static_cast<T>(__builtin_inff()));
    for (int j = 0; j < node.ups + first; ++j) {
        const T *const lengths[2] = {w + j, w + j + (R > 4 ? 4 * width : 0)};  // eight rows take two registers of addresses
        const T *row = s.stack + static_cast<std::int64_t>(list[j]) * LANES + lane;
        typename L::V far[N];
        UNROLL for (int n = 0; n < N; ++n) far[n] = L::load(row + n * L::width);
        UNROLL for (int r = 0; r < R; ++r) {
            const typename L::V length = L::fill(lengths[r / 4][r % 4 * width]);
            UNROLL for (int n = 0; n < N; ++n) sum[r][n] = shorter<L>(sum[r][n], length, far[n]);
        }
    }
    UNROLL for (int r = 1; r < R; ++r)
        UNROLL for (int x = 0; x < r; ++x) {
            const typename L::V length = L::fill(w[r * width + node.ups + first + x]);
            UNROLL for (int n = 0; n < N; ++n) sum[r][n] = shorter<L>(sum[r][n], length, sum[x][n]);
        }
    UNROLL for (int r = 0; r < R; ++r)
        UNROLL for (int n = 0; n < N; ++n) L::store(out + r * LANES + n * L::width, sum[r][n]);
}

template <class T, int LANES, int R>
INLINE void sink_tile(const Sweep<T, LANES> &s, const Node &node, int first, const T *const *start) {
    for (int lane = 0; lane < LANES; lane += VECTORS * Lanes<T>::width)
        sink_strip<T, LANES, R, VECTORS>(s, node, first, start, lane);
}

// Tiles of eight rows, from `first` on as many as there are, half as wide: what they take of their ancestors stays near.
template <class T, int LANES> static int sink_wide(const Sweep<T, LANES> &s, const Node &node, int first, int index) {
    constexpr int N = VECTORS / 2;
    const int end = first + (node.rows - first) / 8 * 8;
    for (int lane = 0; lane < LANES; lane += N * Lanes<T>::width)
        for (int r = first; r < end; r += 8) {
            const T *rows[8];
            for (int i = 0; index >= 0 && i < 8; ++i) rows[i] = s.risen_row(index, r + i);
            sink_strip<T, LANES, 8, N>(s, node, r, index >= 0 ? rows : nullptr, lane);
        }
    return end;
}

template <class T, int LANES> static void sink_node(const Sweep<T, LANES> &s, int index) {
    const Node &node = s.plan.node[index];
    const bool reached = s.sources.place[index] >= 0;
    for (int first = sink_wide(s, node, 0, reached ? index : -1); first < node.rows; first += 4) {
        const int count = node.rows - first;
        const T *rows[4];
        for (int r = 0; reached && r < 4 && r < count; ++r) rows[r] = s.risen_row(index, first + r);
        const T *const *start = reached ? rows : nullptr;
        with_rows(count, [&](auto some) { sink_tile<T, LANES, some.value>(s, node, first, start); });
    }
}

// Nodes are taken backwards, which no hardware foresees: the numbers of the next one are called while one is swept.
constexpr std::int64_t NEAR = 16384;  // bytes of a node's numbers that are called; hardware foresees the others
template <class T, int LANES> INLINE void fetch_node(const Sweep<T, LANES> &s, int index) {
    const Node &node = s.plan.node[index];
    const char *values = reinterpret_cast<const char *>(s.values + node.values);
    const char *list = reinterpret_cast<const char *>(s.plan.lists + node.list);
    const std::int64_t bytes = static_cast<std::int64_t>(node.rows) * node.width * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t byte = 0; byte < bytes && byte < NEAR; byte += 64) __builtin_prefetch(values + byte);
    for (std::int64_t byte = 0; byte < node.width * 4; byte += 64) __builtin_prefetch(list + byte);
}

// Hands the finished rows (rows x LANES) of the nodes down to `lowest` to `take` with their node, the last node first.
template <class T, int LANES, class Take> static void sweep(const Sweep<T, LANES> &s, int lowest, Take &take) {
    rise(s);
    for (int i = s.plan.nodes - 1; i >= lowest; --i) {
        if (i > lowest) fetch_node(s, i - 1);
        sink_node(s, i);
        const Node &node = s.plan.node[i];
        take(node, s.stack + static_cast<std::int64_t>(node.base) * LANES);
    }
}

}  // namespace mlcli::LEVEL
