// The matrix of all distances in the order of elimination backwards, where each pair is found once and written twice.
#pragma once
#include "span.hpp"
#include "sweep.hpp"
#include "turn.hpp"

namespace mlcli::LEVEL {

template <class To, class From> INLINE void convert(To *__restrict to, const From *__restrict from, int count) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

// The rows of a span at the columns of a strip. All rows above the span are finished there, and so are those of the
// span above the strip: they stand in the matrix, from which a sweep starts without a way up.
template <class T, int LANES> struct SpanStrip {
    const Plan &plan;
    const Span &span;
    const Strip strip;
    const Sweep<T, LANES> &sweep;
    T *kept;                 // rows of the span x LANES
    std::int32_t *standing;  // depth -> row of the matrix on the stack
    double *matrix;

    double *cell(std::int64_t row) const { return matrix + row * plan.vertices + strip.first; }
    T *stack(int depth) const { return sweep.stack + static_cast<std::int64_t>(depth) * LANES; }

    void load(int depth, std::int32_t row) const {
        convert(stack(depth), cell(row), strip.count);
        standing[depth] = row;
    }
    void call(const Ancestor *from, const Ancestor *to) const {
        for (; from < to; ++from)
            for (int lane = 0; lane < LANES; lane += 64 / static_cast<int>(sizeof(double)))
                __builtin_prefetch(cell(from->row) + lane);
    }
    void load_ancestors(int node) const {
        constexpr int AHEAD = 8;
        const Ancestor *from = span.ancestors + span.ancestor_starts[span.last - node];
        const Ancestor *to = span.ancestors + span.ancestor_starts[span.last - node + 1];
        call(from, from + AHEAD < to ? from + AHEAD : to);
        for (; from < to; ++from) {
            if (from + AHEAD < to) call(from + AHEAD, from + AHEAD + 1);
            load(from->depth, from->row);
        }
    }
    // A row of the strip's own: what it finds of earlier ones is also theirs.
    void own_row(const Node &node, int r, std::int64_t row) const {
        T *const found = stack(node.base + r);
        sink_tile<T, LANES, 1>(sweep, node, r, nullptr);
        const int lane = static_cast<int>(row - strip.first);
        found[lane] = 0;
        standing[node.base + r] = static_cast<std::int32_t>(row);
        convert(cell(row), found, lane + 1);
        for (int i = 0; i < lane; ++i) {
            const std::int64_t other = strip.first + i, position = plan.vertices - 1 - other;
            const Node &holder = plan.node[plan.node_of[position]];
            const int depth = holder.base + holder.top - static_cast<int>(position);
            if (standing[depth] == other) stack(depth)[lane] = found[i];
            cell(other)[lane] = found[i];
        }
    }
    void take(int index) const {
        const Node &node = plan.node[index];
        const std::int64_t top = plan.vertices - 1 - node.top, after = strip.first + strip.count;
        int r = 0;
        for (; r < node.rows && top + r < strip.first; ++r) load(node.base + r, static_cast<std::int32_t>(top + r));
        for (; r < node.rows && top + r < after; ++r) own_row(node, r, top + r);
        const int low = r;
        for (r = sink_wide(sweep, node, r, -1); r < node.rows; r += 4)
            with_rows(node.rows - r, [&](auto some) { sink_tile<T, LANES, some.value>(sweep, node, r, nullptr); });
        if (low < node.rows)
            std::memcpy(kept + (top + low - span.begin) * LANES, stack(node.base + low),
                        static_cast<std::size_t>(node.rows - low) * LANES * sizeof(T));
        for (r = low; r < node.rows && strip.first + LANES > span.begin; ++r)
            standing[node.base + r] = static_cast<std::int32_t>(top + r);
    }
    void write_rows() const {
        const std::int64_t after = strip.first + strip.count, low = after > span.begin ? after : span.begin;
        const T *const rows = kept + (low - span.begin) * LANES;
        double numbers[LANES];
        for (std::int64_t row = low; row < span.end; ++row) {
            convert(numbers, rows + (row - low) * LANES, LANES);
            stream(cell(row), numbers, strip.count);
        }
        turn_rows<T, LANES>(rows, static_cast<int>(span.end - low), strip.count, matrix + strip.first * plan.vertices + low,
                            plan.vertices);
        finish_streams();
    }
    void run() const {
        for (int i = span.last; i >= span.first; --i) {
            if (i > span.first) fetch_node(sweep, i - 1);
            load_ancestors(i);
            take(i);
        }
        write_rows();
    }
};

template <class T>
static void pairs(const Plan &plan, const T *values, const Span &span, const Strip &strip, T *stack, T *kept,
                  std::int32_t *standing, double *matrix) {
    const Sources none{};
    const Sweep<T, BLOCK<T>> sweep{plan, values, none, stack, nullptr, nullptr};
    SpanStrip<T, BLOCK<T>>{plan, span, strip, sweep, kept, standing, matrix}.run();
}

}  // namespace mlcli::LEVEL
