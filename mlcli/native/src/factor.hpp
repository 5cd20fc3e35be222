// Numeric elimination of one node, or of some of its columns: shortest ways, or a Cholesky factor L of a matrix.
// Row v of a node holds the lengths of the ways from v to its ancestors, or column v of L.
#pragma once
#include <cmath>

#include "plan.hpp"
#include "tiles.hpp"

namespace mlcli::LEVEL {

template <class Ring, class T> struct Factor {
    const Plan &plan;
    T *values;
    std::uint32_t *where;  // depth -> column of the node at hand
    T *packed;             // PANEL x PANEL
    T *wide;               // PANEL x COLUMNS

    static std::int64_t scratch() { return PANEL * PANEL + PANEL * COLUMNS; }
};

INLINE int lower_bound(const std::uint32_t *list, int low, int high, std::uint32_t depth) {
    while (low < high) {
        const int middle = (low + high) / 2;
        if (list[middle] < depth) low = middle + 1;
        else high = middle;
    }
    return low;
}

// A source's columns [from, to) of its list, each with the target's column that it stands for.
struct Stretch {
    int from, to;
    std::uint32_t column[COLUMNS];
    int span() const { return static_cast<int>(column[to - from - 1] - column[0]) + 1; }
};

// The source's rows spread out to the target's columns, so that the product runs over whole vectors.
template <class Ring, class T>
static void spread(const Factor<Ring, T> &f, const T *rows, const Node &source, const Stretch &s, T *const *c, int count) {
    const int low = static_cast<int>(s.column[0]), span = s.span();
    for (int v = 0; v < source.rows; ++v) {
        T *out = f.wide + static_cast<std::int64_t>(v) * span;
        for (int i = 0; i < span; ++i) out[i] = Ring::template nothing<T>();
        const T *row = rows + static_cast<std::int64_t>(v) * source.width + s.from;
        for (int j = 0; j < s.to - s.from; ++j) out[s.column[j] - low] = row[j];
    }
    update<Ring>(c, count, f.packed, f.wide - low, span, source.rows, low, low + span);
}

// The product in the source's columns, its entries then taken to the target's one by one.
template <class Ring, class T>
static void scatter(const Factor<Ring, T> &f, const T *rows, const Node &source, const Stretch &s, T *const *c, int count) {
    const int size = s.to - s.from;
    T *product[PANEL] = {};
    for (int r = 0; r < count; ++r) {
        product[r] = f.wide + r * size - s.from;
        for (int j = 0; j < size; ++j) product[r][s.from + j] = Ring::template nothing<T>();
    }
    update<Ring>(product, count, f.packed, rows, source.width, source.rows, s.from, s.to);
    for (int r = 0; r < count; ++r)
        for (int j = 0; j < size; ++j) {
            const T found = product[r][s.from + j];
            T &value = c[r][s.column[j]];
            value = Ring::joined(value, found);
        }
}

// What one deeper node adds to columns [low, high) of the target.
template <class Ring, class T>
static void contribute(const Factor<Ring, T> &f, const Node &target, const Contribution &part, int low, int high) {
    const Node &source = f.plan.node[part.source];
    const std::uint32_t *list = f.plan.lists + source.list, *columns = f.plan.lists + target.list;
    Stretch s;
    s.from = low == 0 ? 0 : lower_bound(list, 0, part.high, columns[low]);
    s.to = high == target.ups + target.rows ? part.high : lower_bound(list, s.from, part.high, columns[high]);
    if (s.from == s.to) return;
    for (int j = s.from; j < s.to; ++j) s.column[j - s.from] = f.where[list[j]];
    const T *rows = f.values + source.values;
    const int count = part.high - part.low, size = s.to - s.from, first = static_cast<int>(s.column[0]);
    T *c[PANEL];
    for (int r = 0; r < count; ++r)
        c[r] = f.values + target.values
               + static_cast<std::int64_t>(f.where[list[part.low + r]] - target.ups) * target.width;
    pack(rows + part.low, source.width, source.rows, count, f.packed);
    const double spreading = source.rows * (count * (s.span() - size) / 8.0 + s.span() + 2 * size);
    if (s.span() == size)
        update<Ring>(c, count, f.packed, rows + (s.from - first), source.width, source.rows, first, first + size);
    else if (spreading < 3.0 * count * size)
        spread(f, rows, source, s, c, count);
    else
        scatter(f, rows, source, s, c, count);
}

// A row that is done, over columns [low, high) with its diagonal among them or done before.
template <class T> INLINE void scale(MinPlus, T *, std::int64_t, std::int64_t, std::int64_t) {}
template <class T> INLINE void scale(MinusTimes, T *row, std::int64_t diagonal, std::int64_t low, std::int64_t high) {
    if (low <= diagonal && diagonal < high) row[diagonal] = std::sqrt(row[diagonal]);  // not a number where it was negative
    const T factor = 1 / row[diagonal];
    for (std::int64_t j = low; j < high; ++j)
        if (j != diagonal) row[j] *= factor;
}

// Eliminates the node's own rows, deepest first, over columns [low, high): four rows at a time take what all
// deeper rows give, then settle among themselves.
template <class Ring, class T> static void settle(const Factor<Ring, T> &f, const Node &node, int low, int high) {
    T *rows[PANEL];
    for (int i = 0; i < node.rows; ++i) rows[i] = f.values + node.values + static_cast<std::int64_t>(i) * node.width;
    for (int first = (node.rows - 1) / 4 * 4; first >= 0; first -= 4) {
        const int count = node.rows - first < 4 ? node.rows - first : 4, deeper = node.rows - first - count;
        const int end = high < node.ups + first + count ? high : node.ups + first + count;
        if (end <= low) continue;
        if (deeper > 0) {
            pack(rows[first + count] + node.ups + first, node.width, deeper, count, f.packed);
            update<Ring>(rows + first, count, f.packed, rows[first + count], node.width, deeper, low, end);
        }
        for (int v = first + count - 1; v >= first; --v) {
            scale(Ring(), rows[v], node.ups + v, low, end < node.ups + v + 1 ? end : node.ups + v + 1);
            for (int x = first; x < v; ++x) {
                const T length = rows[v][node.ups + x];
                const int stop = end < node.ups + x + 1 ? end : node.ups + x + 1;
                update_rows<Ring, T, 1>(rows + x, &length, rows[v], 0, 1, low, stop);
            }
        }
    }
}

// Columns [low, high) of a node: all that deeper nodes give, then its own rows. The columns of its own rows
// must be done before (or with) the others.
template <class Ring, class T> static void eliminate_columns(const Factor<Ring, T> &f, int index, int low, int high) {
    const Node &node = f.plan.node[index];
    const std::uint32_t *columns = f.plan.lists + node.list;
    for (int j = 0; j < node.ups + node.rows; ++j) f.where[columns[j]] = static_cast<std::uint32_t>(j);
    for (std::int64_t i = f.plan.contribution_starts[index]; i < f.plan.contribution_starts[index + 1]; ++i)
        contribute(f, node, f.plan.contributions[i], low, high);
    settle(f, node, low, high);
}

template <class Ring, class T>
static void eliminate(const Plan &plan, T *values, int node, int low, int high, std::uint32_t *where, T *scratch) {
    const Factor<Ring, T> f{plan, values, where, scratch, scratch + PANEL * PANEL};
    for (int start = low; start < high; start += COLUMNS)
        eliminate_columns(f, node, start, start + COLUMNS < high ? start + COLUMNS : high);
}

}  // namespace mlcli::LEVEL
