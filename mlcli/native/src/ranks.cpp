#include "ranks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlcli {
namespace {

constexpr std::int64_t PATIENCE = 12;  // moves for each pair after which insertion gives way to another sort

std::int64_t left(std::uint64_t pair) { return static_cast<std::int64_t>(pair >> 32); }
std::int64_t right(std::uint64_t pair) { return static_cast<std::int64_t>(pair & 0xffffffffU); }

double weight(const double *counts, std::uint64_t pair) {
    return counts == nullptr ? 1.0 : counts[left(pair)] * counts[right(pair)];
}

struct Entry {
    double distance;
    std::uint64_t pair;
    bool operator<(const Entry &other) const {
        return distance < other.distance || (distance == other.distance && pair < other.pair);
    }
};

// Sorts a group by (distance, pair): the order of an evaluation before is nearly right.
void sort_group(double *distances, std::uint64_t *pairs, std::int64_t size, std::vector<Entry> &entries) {
    std::int64_t patience = PATIENCE * size;
    for (std::int64_t k = 1; k < size && patience >= 0; ++k) {
        if (distances[k - 1] < distances[k]) continue;
        const Entry entry{distances[k], pairs[k]};
        std::int64_t to = k;
        for (; to > 0 && entry < Entry{distances[to - 1], pairs[to - 1]}; --to) {
            distances[to] = distances[to - 1];
            pairs[to] = pairs[to - 1];
        }
        distances[to] = entry.distance;
        pairs[to] = entry.pair;
        patience -= k - to;
    }
    if (patience >= 0) return;
    entries.clear();
    for (std::int64_t k = 0; k < size; ++k) entries.push_back({distances[k], pairs[k]});
    std::sort(entries.begin(), entries.end());
    for (const Entry &entry : entries) {
        *distances++ = entry.distance;
        *pairs++ = entry.pair;
    }
}

// Blocks whose means rise: their sums, weights and ends. Returns how many there are.
template <bool Weighted>
std::int64_t pool(const double *distances, const std::uint64_t *pairs, const std::int64_t *starts, std::int64_t groups,
                  bool secondary, const double *counts, double *sums, double *weights, std::int64_t *ends) {
    double sum = 0, heavy = 0;  // of the last block, which is at hand
    std::int64_t end = 0, count = 0, k = 0;
    const std::int64_t steps = secondary ? groups : starts[groups];
    for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t last = secondary ? starts[step + 1] : step + 1;
        double more = 0, heavier = 0;
        for (; k < last; ++k) {
            const double w = Weighted ? weight(counts, pairs[k]) : 1.0;
            more += w * distances[k];
            heavier += w;
        }
        if (sum * heavier < more * heavy) {
            sums[count] = sum;
            weights[count] = heavy;
            ends[count++] = end;
            sum = more;
            heavy = heavier;
        } else {  // what is added joins the blocks before it until their means rise
            sum += more;
            heavy += heavier;
            while (count > 0 && sums[count - 1] * heavy >= sum * weights[count - 1]) {
                --count;
                sum += sums[count];
                heavy += weights[count];
            }
        }
        end = last;
    }
    sums[count] = sum;
    weights[count] = heavy;
    ends[count] = end;
    return count + 1;
}

// Disparities of blocks that end at `ends`. Their means are summed anew, in the order of their pairs: the sums of `pool`
// follow the order in which blocks were joined, which another algorithm does not have.
template <bool Weighted>
void fit_blocks(const double *distances, const std::uint64_t *pairs, const std::int64_t *ends, std::int64_t count,
                const double *counts, double *disparities, double *sums) {
    for (std::int64_t b = 0, first = 0; b < count; first = ends[b++]) {
        double sum = 0, heavy = 0, far = 0, square = 0;
        for (std::int64_t k = first; k < ends[b]; ++k) {
            const double w = Weighted ? weight(counts, pairs[k]) : 1.0;
            sum += w * distances[k];
            heavy += w;
        }
        const double fitted = sum / heavy;
        for (std::int64_t k = first; k < ends[b]; ++k) {
            const double w = Weighted ? weight(counts, pairs[k]) : 1.0, error = distances[k] - fitted;
            disparities[k] = fitted;
            far += w * error * error;
            square += w * distances[k] * distances[k];
        }
        sums[0] += far;
        sums[1] += square;
    }
}

template <int N>
void distances_of(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
                  double *distances) {
    const std::int64_t width = N > 0 ? N : columns;
    for (std::int64_t k = 0; k < size; ++k) {
        const double *x = points + left(pairs[k]) * width, *y = points + right(pairs[k]) * width;
        double sum = 0;
        for (std::int64_t c = 0; c < width; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
        distances[k] = std::sqrt(sum);
    }
}

template <int N>
void forces_of(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
               const double *distances, const double *disparities, const double *counts, double share, double *out) {
    const std::int64_t width = N > 0 ? N : columns;
    for (std::int64_t k = 0; k < size; ++k) {
        const double d = distances[k];
        if (!(d > 0)) continue;
        const double force = weight(counts, pairs[k]) * (d - disparities[k] - share * d) / d;
        const std::int64_t i = left(pairs[k]) * width, j = right(pairs[k]) * width;
        for (std::int64_t c = 0; c < width; ++c) {
            const double pull = force * (points[i + c] - points[j + c]);
            out[i + c] += pull;
            out[j + c] -= pull;
        }
    }
}

}  // namespace

void rank_distances(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
                    double *distances) {
    if (columns == 2) return distances_of<2>(points, columns, pairs, size, distances);
    if (columns == 3) return distances_of<3>(points, columns, pairs, size, distances);
    distances_of<0>(points, columns, pairs, size, distances);
}

void rank_forces(const double *points, std::int64_t columns, const std::uint64_t *pairs, std::int64_t size,
                 const double *distances, const double *disparities, const double *counts, double share, double *out) {
    if (columns == 2) return forces_of<2>(points, columns, pairs, size, distances, disparities, counts, share, out);
    if (columns == 3) return forces_of<3>(points, columns, pairs, size, distances, disparities, counts, share, out);
    forces_of<0>(points, columns, pairs, size, distances, disparities, counts, share, out);
}

void fit_disparities(double *distances, std::uint64_t *pairs, const std::int64_t *starts, std::int64_t groups,
                     bool secondary, const double *counts, double *disparities, double *sums, double *scratch) {
    static_assert(sizeof(std::int64_t) == sizeof(double), "ends of blocks stand where numbers may");
    const std::int64_t size = starts[groups];
    sums[0] = sums[1] = 0;
    if (size == 0) return;
    std::vector<Entry> entries;
    for (std::int64_t g = 0; g < groups && !secondary; ++g)
        sort_group(distances + starts[g], pairs + starts[g], starts[g + 1] - starts[g], entries);
    auto *ends = reinterpret_cast<std::int64_t *>(scratch + size);
    const std::int64_t count = (counts == nullptr ? pool<false> : pool<true>)(distances, pairs, starts, groups, secondary,
                                                                             counts, disparities, scratch, ends);
    (counts == nullptr ? fit_blocks<false> : fit_blocks<true>)(distances, pairs, ends, count, counts, disparities, sums);
}

}  // namespace mlcli
