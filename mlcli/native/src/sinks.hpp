// What becomes of finished rows of distances: written out by source, or folded into products and sums.
#pragma once
#include "sweep.hpp"
#include "turn.hpp"

namespace mlcli::LEVEL {

// Keeps every row (positions x LANES) until the block is done.
template <class T, int LANES> struct Keep {
    T *rows;
    void operator()(const Node &node, const T *finished) const {
        for (int r = 0; r < node.rows; ++r)
            std::memcpy(rows + static_cast<std::int64_t>(node.top - r) * LANES, finished + r * LANES, LANES * sizeof(T));
    }
};

// product[j][lane] += sum over rows of squared[row][lane] q[row][j]; J columns of q at once.
template <int J, int LANES>
INLINE void multiply(const double *squared, const double *const *q, int rows, int j, double *product) {
    using L = Lanes<double>;
    constexpr int strip = VECTORS * L::width;
    for (int lane = 0; lane < LANES; lane += strip) {
        L::V sum[J][VECTORS];
        UNROLL for (int c = 0; c < J; ++c)
            UNROLL for (int n = 0; n < VECTORS; ++n) sum[c][n] = L::load(product + (j + c) * LANES + lane + n * L::width);
        for (int r = 0; r < rows; ++r) {
            L::V row[VECTORS];
            UNROLL for (int n = 0; n < VECTORS; ++n) row[n] = L::load(squared + r * LANES + lane + n * L::width);
            UNROLL for (int c = 0; c < J; ++c) {
                const L::V factor = L::fill(q[r][j + c]);
                UNROLL for (int n = 0; n < VECTORS; ++n) sum[c][n] = L::fma(row[n], factor, sum[c][n]);
            }
        }
        UNROLL for (int c = 0; c < J; ++c)
            UNROLL for (int n = 0; n < VECTORS; ++n) L::store(product + (j + c) * LANES + lane + n * L::width, sum[c][n]);
    }
}

// The sources of a block and what becomes of their distances squared, the block's and the later positions' only: a pair
// of positions is found once, and counts for both. Without PAIRS sources are anywhere, every position counts as later,
// and nothing is summed for the sources.
template <class T, int LANES, bool PAIRS = true> struct Fold {
    static constexpr int BATCH = 32, TOGETHER = 8;
    using L = Lanes<double>;
    const Plan &plan;
    int first, count;     // positions of the sources
    const double *q;      // positions x columns
    int columns;
    Folds out;            // of the later positions
    T *kept;              // (vertices - first) x LANES, or null
    double *product;      // columns x LANES, of the sources: starts at zero, as the sums
    double *squares, *fourths;
    double *own;          // LANES x padded: the sources' rows of q, zeros beyond them
    int rows = 0, position = 0;  // of a batch, and its first position; they descend
    const double *factors[BATCH];
    alignas(64) double squared[BATCH * LANES];

    static int padded(int columns) { return (columns + L::width - 1) / L::width * L::width; }
    static std::int64_t scratch(int columns) { return (columns + 2ll + padded(columns)) * LANES; }

    Fold(const Plan &plan, int first, int count, const double *q, int columns, const Folds &out, T *kept, double *scratch)
        : plan(plan), first(first), count(count), q(q), columns(columns), out(out), kept(kept), product(scratch),
          squares(product + columns * LANES), fourths(squares + LANES), own(fourths + LANES) {
        begin(source(first), count);
    }
    // From `count` sources anywhere, with rows of their own (count x columns) instead of those of q.
    Fold(const Plan &plan, int count, const double *rows, int columns, const Folds &out, double *scratch)
        : plan(plan), first(0), count(0), q(rows), columns(columns), out(out), kept(nullptr), product(scratch),
          squares(product + columns * LANES), fourths(squares + LANES), own(fourths + LANES) {
        static_assert(!PAIRS, "sources anywhere have no pairs");
        begin(rows, count);
    }
    // All sums at zero, and the rows of some sources.
    void begin(const double *from, int some) {
        std::memset(product, 0, static_cast<std::size_t>(scratch(columns)) * sizeof(double));
        for (std::int64_t i = 0; i < some; ++i)
            std::memcpy(own + i * padded(columns), from + i * columns, columns * sizeof(double));
    }
    const double *source(int p) const { return q + static_cast<std::int64_t>(p) * columns; }
    bool later() const { return position >= first + count; }

    void operator()(const Node &node, const T *finished) {
        for (int r = 0; r < node.rows && node.top - r >= first; ++r) {
            const T *row = finished + r * LANES;
            if (kept) std::memcpy(kept + (node.top - r - static_cast<std::int64_t>(first)) * LANES, row, LANES * sizeof(T));
            take(node.top - r, row);
        }
    }
    void take(int p, const T *row) {
        if (rows == BATCH || p == first + count - 1) flush();
        if (rows == 0) position = p;
        if constexpr (PAIRS) factors[rows] = source(p);
        square(row, squared + rows * LANES);
        ++rows;
        fetch(p - BATCH);
    }
    static void square(const T *__restrict row, double *__restrict result) {
        for (int lane = 0; lane < LANES; ++lane) {
            const double x = static_cast<double>(row[lane]);
            result[lane] = x * x;
        }
    }
    // Positions descend, which no hardware foresees: their rows are called a batch before they are multiplied.
    void fetch(int p) const {
        if (p < first) return;
        for (int c = 0; c < columns; c += 8) {
            if constexpr (PAIRS) __builtin_prefetch(source(p) + c);
            __builtin_prefetch(out.product + out.row(p) * columns + c, 1);
        }
    }
    // The sums of squares and of fourth powers; a later position counts for both of its pair.
    void sum() const {
        const L::V times = L::fill(later() ? 2.0 : 1.0);
        for (int lane = 0; lane < LANES; lane += L::width) {
            L::V second = L::load(squares + lane), fourth = L::load(fourths + lane);
            for (int r = 0; r < rows; ++r) {
                const L::V xx = L::load(squared + r * LANES + lane);
                second = L::add(second, xx);
                fourth = L::fma(L::multiply(times, xx), xx, fourth);
            }
            L::store(squares + lane, second);
            L::store(fourths + lane, fourth);
        }
    }
    // A sweep has used the cache since the batch began: its rows and what they are multiplied with are called at once.
    void call() const {
        const auto lines = [](const double *from, std::int64_t numbers) {
            for (std::int64_t i = 0; i < numbers; i += 8) __builtin_prefetch(from + i);
        };
        lines(squared, static_cast<std::int64_t>(rows) * LANES);
        if constexpr (PAIRS) lines(product, static_cast<std::int64_t>(columns) * LANES);
        lines(own, static_cast<std::int64_t>(padded(columns)) * LANES);
    }
    void flush() {
        call();
        if constexpr (PAIRS) {
            if (out.sums) sum();
            int j = 0;
            for (; j + 4 <= columns; j += 4) multiply<4, LANES>(squared, factors, rows, j, product);
            for (; j < columns; ++j) multiply<1, LANES>(squared, factors, rows, j, product);
        }
        for (int r = 0; later() && r < rows; r += TOGETHER) turned(r, rows - r < TOGETHER ? rows - r : TOGETHER);
        rows = 0;
    }
    // What some rows of the batch give to their own positions: the products of their lanes with the sources' rows of q.
    void turned(int from, int some) const {
        const double *row[TOGETHER];
        for (int r = 0; r < TOGETHER; ++r) row[r] = squared + (from + (r < some ? r : 0)) * LANES;
        for (int c = 0; c < columns; c += L::width) {
            L::V sum[TOGETHER];
            UNROLL for (int r = 0; r < TOGETHER; ++r) sum[r] = L::fill(0);
            const double *factor = own + c;
            for (int lane = 0; lane < LANES; ++lane, factor += padded(columns)) {
                const L::V known = L::load(factor);
                UNROLL for (int r = 0; r < TOGETHER; ++r) sum[r] = L::fma(L::fill(row[r][lane]), known, sum[r]);
            }
            double *place = out.product + out.row(position - from) * columns + c;  // positions descend
            const int wide = columns - c;
            UNROLL for (int r = 0; r < TOGETHER; ++r, place -= columns) {
                if (r >= some) break;
                if (wide >= L::width) L::store(place, L::add(L::load(place), sum[r]));
                else store_some(place, L::add(load_some(place, wide), sum[r]), wide);
            }
        }
        for (int r = 0; out.sums && r < some; ++r) {
            Line<double> sum = fill_line(0.0);
            for (int lane = 0; lane < LANES; lane += Line<double>::size)
                for (int p = 0; p < Line<double>::parts; ++p)
                    sum.part[p] = L::add(sum.part[p], L::load(row[r] + lane + p * L::width));
            out.sums[out.row(position - from - r)] += sum_of(sum);
        }
    }
    // The sources' own sums; returns the sum of fourth powers, zero without sums of rows.
    double finish() {
        flush();
        double total = 0;
        for (int lane = 0; lane < count; ++lane) {
            const std::int64_t row = out.row(first + lane);
            for (int j = 0; j < columns; ++j) out.product[row * columns + j] += product[j * LANES + lane];
            if (out.sums) out.sums[row] += squares[lane];
            total += fourths[lane];
        }
        return total;
    }
};

}  // namespace mlcli::LEVEL
