// Distances from an anchor to all points, in two spaces: sums over the pairs, and counts of nearer points.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int PAIR_SUMS = 8;              // sums over pairs: those of native/points.py, in that order
constexpr int LANES_OF_SUMS = 8;           // pairs that are summed side by side, at any instruction set
constexpr std::int64_t STRETCH = 1024;    // pairs whose sums are added to those before them
constexpr std::int64_t GLANCE = 64;       // keys that are compared before one of them is looked at
constexpr std::int64_t CROWD = 4;         // times as many keys as are wanted, among which the nearest are chosen

// Adds pairs to sums, from squares.
INLINE void add_pairs(const double *kept, const double *embedded, double scale, double (*sums)[LANES_OF_SUMS]) {
    using Row = Lanes<double>;
    const Row::V none = Row::fill(0), one = Row::fill(1);
    for (int i = 0; i < LANES_OF_SUMS; i += Row::width) {
        const Row::V delta = Row::root(Row::load(kept + i)), d = Row::root(Row::load(embedded + i)) * Row::fill(scale);
        const Row::V inverse = (delta > none ? one : none) / (delta > none ? delta : one), off = delta - d;
        const Row::V terms[PAIR_SUMS] = {delta, d, delta * delta, d * d, delta * d, off * off, d * (d * inverse),
                                         off * (off * inverse)};
        for (int k = 0; k < PAIR_SUMS; ++k) Row::store(sums[k] + i, Row::load(sums[k] + i) + terms[k]);
    }
}

// Sums over pairs of their distances delta in one space and d in another, from squares; d is multiplied by `scale`.
static void pair_sums(const double *kept, const double *embedded, std::int64_t size, double scale, double *out) {
    for (int k = 0; k < PAIR_SUMS; ++k) out[k] = 0.0;
    for (std::int64_t first = 0; first < size; first += STRETCH) {
        const std::int64_t end = first + STRETCH < size ? first + STRETCH : size;
        double sums[PAIR_SUMS][LANES_OF_SUMS] = {};
        for (std::int64_t j = first; j < end; j += LANES_OF_SUMS) {
            double delta[LANES_OF_SUMS] = {}, d[LANES_OF_SUMS] = {};  // pairs at distance zero add nothing
            const auto some = static_cast<std::size_t>(end - j < LANES_OF_SUMS ? end - j : LANES_OF_SUMS);
            std::memcpy(delta, kept + j, some * sizeof *delta);
            std::memcpy(d, embedded + j, some * sizeof *d);
            add_pairs(delta, d, scale, sums);
        }
        for (int k = 0; k < PAIR_SUMS; ++k)
            for (int i = 0; i < LANES_OF_SUMS; ++i) out[k] += sums[k][i];
    }
}

// How many keys are before each of some others: by their step, where this is more than one apart, else by the number in
// their last bits. A key is the number of a step and, in the last `bits`, a number of its own.
static void keys_before(const std::int64_t *keys, std::int64_t size, const std::int64_t *wanted, std::int64_t count,
                        int bits, std::int64_t *out) {
    const std::int64_t step = std::int64_t{1} << bits, numbers = step - 1;
    for (std::int64_t k = 0; k < count; ++k) out[k] = 0;
    for (std::int64_t first = 0; first < size; first += STRETCH) {
        const std::int64_t end = first + STRETCH < size ? first + STRETCH : size;
        for (std::int64_t k = 0; k < count; ++k) {
            const std::int64_t low = ((wanted[k] >> bits) - 1) * step, high = ((wanted[k] >> bits) + 2) * step;
            std::int64_t below = 0, within = 0;
            for (std::int64_t j = first; j < end; ++j) {
                below += keys[j] < low;
                within += keys[j] < high;
            }
            if (within > below)
                for (std::int64_t j = first; j < end; ++j)
                    below += keys[j] >= low && keys[j] < high && (keys[j] & numbers) < (wanted[k] & numbers);
            out[k] += below;
        }
    }
}

// Appends the keys below a bound to some that are kept, up to `most` of them; returns how many there are then, and in
// `from` the first key that was not looked at.
static std::int64_t keys_below(const std::int64_t *keys, std::int64_t size, std::int64_t bound, std::int64_t kept,
                               std::int64_t most, std::int64_t &from, std::int64_t *out) {
    for (; from < size && kept < most; from += GLANCE) {
        const std::int64_t end = from + GLANCE < size ? from + GLANCE : size;
        std::int64_t below = 0;
        for (std::int64_t j = from; j < end; ++j) below += keys[j] < bound;
        for (std::int64_t j = from; below > 0; ++j) {
            if (!(keys[j] < bound)) continue;
            out[kept++] = keys[j];
            --below;
        }
    }
    return kept;
}

// Moves keys of successive steps to the first of these steps, in sorted keys and in those of all points.
static void join_steps(std::int64_t *nearest, std::int64_t size, int bits, std::int64_t *keys) {
    const std::int64_t numbers = (std::int64_t{1} << bits) - 1;
    std::int64_t before = nearest[0] & ~numbers, first = before;
    bool moved = false;
    for (std::int64_t k = 1; k < size; ++k) {
        const std::int64_t step = nearest[k] & ~numbers, point = nearest[k] & numbers;
        if (step - before > numbers + 1) first = step;
        before = step;
        if (first == step) continue;
        nearest[k] = keys[point] = first | point;
        moved = true;
    }
    if (moved) std::sort(nearest, nearest + size);
}

// Keys of all points by squared distances from an anchor, and in order those of its `count` nearest and of all at the
// distance of the last. Returns how many these are; all keys below `limit` are among them. `nearest` holds `size`
// numbers. A key is a distance whose last `bits` are replaced by the point's number; the anchor's own is the largest.
static std::int64_t order_points(const double *squared, std::int64_t size, std::int64_t own, std::int64_t count,
                                 int bits, std::int64_t *keys, std::int64_t *nearest, std::int64_t *limit) {
    const std::int64_t numbers = (std::int64_t{1} << bits) - 1, most = CROWD * count;
    for (std::int64_t j = 0; j < size; ++j) {
        std::int64_t key;
        std::memcpy(&key, squared + j, sizeof key);
        keys[j] = (key & ~numbers) | j;
    }
    std::int64_t bound = keys[own] = std::numeric_limits<std::int64_t>::max();
    std::int64_t kept = 0, from = 0;
    while (from < size) {
        kept = keys_below(keys, size, bound, kept, most, from, nearest);
        if (kept < count) break;
        std::nth_element(nearest, nearest + count - 1, nearest + kept);
        bound = nearest[count - 1];
        kept = count;
    }
    *limit = (bound & ~numbers) + 2 * (numbers + 1);
    from = 0;
    kept = keys_below(keys, size, *limit, 0, size, from, nearest);
    std::sort(nearest, nearest + kept);
    join_steps(nearest, kept, bits, keys);
    return kept;
}

}  // namespace mlcli::LEVEL
