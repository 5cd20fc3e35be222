// Pairs of points in two blocks of which one may keep the other, by products that stop where a bound tells enough.
#pragma once
#include "lanes.hpp"
#include "near.hpp"
#include "nearest.hpp"

namespace mlcli::LEVEL {

constexpr int NEAR_ROWS = VECTORS == 4 ? (Lanes<float>::width == 16 ? 16 : 4) : Lanes<float>::width == 8 ? 4 : 2;
constexpr int NEAR_PARTS = BUNDLE / Lanes<float>::width;
constexpr float BEYOND = 1e30f;  // above all bounds
#define MLCLI_EACH _Pragma("GCC unroll 16")

// c - a b, in one rounding or, so that all levels have the same bits, in two.
template <bool fused> INLINE Lanes<float>::V taken(Lanes<float>::V c, Lanes<float>::V a, Lanes<float>::V b) {
    using L = Lanes<float>;
    return fused ? L::less(c, a, b) : L::subtract(c, L::multiply(a, b));
}

// Half the squared distances of NEAR_ROWS points from `i` on to a group from `j` on, in `out` (NEAR_ROWS x BUNDLE), and
// whether one may keep another. ‖x‖²/2 + ‖y‖²/2 - x·y over some columns is at most the product of the norms of the others
// from its whole (Cauchy and Schwarz), which is above `bound` where no pair is near enough. `passed` counts the pairs that
// each stage has left.
template <bool fused>
INLINE bool near_tile(const NearPoints &points, std::int64_t i, std::int64_t j, float bound, float *out,
                      std::int64_t *passed) {
    using L = Lanes<float>;
    typename L::V sums[NEAR_ROWS][NEAR_PARTS], right[NEAR_PARTS], least[NEAR_PARTS];
    MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) right[v] = L::load(points.halves + j + v * L::width);
    MLCLI_EACH for (int r = 0; r < NEAR_ROWS; ++r) {
        const typename L::V half = L::fill(points.halves[i + r]);
        MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) sums[r][v] = L::add(half, right[v]);
    }
    const float *one = points.packed + i / BUNDLE * BUNDLE * points.columns + i % BUNDLE, *other = points.packed + j * points.columns;
    std::int64_t column = 0;
    for (std::int64_t stage = 0; stage < points.stages; ++stage) {
        for (; column < points.ends[stage]; ++column, one += BUNDLE, other += BUNDLE) {
            MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) right[v] = L::load(other + v * L::width);
            MLCLI_EACH for (int r = 0; r < NEAR_ROWS; ++r) {
                const typename L::V left = L::fill(one[r]);
                MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) sums[r][v] = taken<fused>(sums[r][v], left, right[v]);
            }
        }
        const bool last = stage + 1 == points.stages;
        const float *const rest = (last ? points.kept : points.rests + stage * points.size), *const own = rest + i;
        MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) {
            right[v] = L::load(rest + j + v * L::width);
            least[v] = L::fill(BEYOND);
        }
        MLCLI_EACH for (int r = 0; r < NEAR_ROWS; ++r) {
            const typename L::V left = L::fill(own[r]);
            MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) {
                const typename L::V sum = sums[r][v];
                const typename L::V over = last ? L::min(L::subtract(sum, left), L::subtract(sum, right[v]))
                                                : L::less(sum, left, right[v]);
                least[v] = L::min(least[v], over);
            }
        }
        const float limit = last ? 0 : bound;
        float lanes[BUNDLE];
        MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) L::store(lanes + v * L::width, least[v]);
        int near = 0;
        for (int l = 0; l < BUNDLE; ++l) near += lanes[l] <= limit;
        if (near == 0) return false;
        passed[stage] += NEAR_ROWS * BUNDLE;
    }
    MLCLI_EACH for (int r = 0; r < NEAR_ROWS; ++r)
        MLCLI_EACH for (int v = 0; v < NEAR_PARTS; ++v) L::store(out + r * BUNDLE + v * L::width, sums[r][v]);
    return true;
}

// The pairs of points of `lefts` groups from `left` on with those of `rights` groups from `right` on, each pair once if
// both are the same, of which one may keep the other. Returns their number; `out` has room for all pairs.
template <bool fused>
static std::int64_t near_pairs(const NearPoints &points, std::int64_t left, std::int64_t lefts, std::int64_t right,
                               std::int64_t rights, NearPair *out, std::int64_t *passed) {
    std::int64_t found = 0;
    float tile[NEAR_ROWS * BUNDLE];
    for (std::int64_t other = right; other < right + rights; ++other) {
        const std::int64_t j = other * BUNDLE, end = left == right ? other + 1 : left + lefts;
        const float *across = points.kept + j;
        for (std::int64_t group = left; group < end; ++group) {
            const float one = points.reach[group], two = points.reach[other], bound = one < two ? two : one;
            for (std::int64_t i = group * BUNDLE; i < (group + 1) * BUNDLE; i += NEAR_ROWS) {
                if (!near_tile<fused>(points, i, j, bound, tile, passed)) continue;
                for (int r = 0; r < NEAR_ROWS; ++r) {
                    const float *row = tile + r * BUNDLE, own = points.kept[i + r];
                    int near = 0;
                    for (int l = 0; l < BUNDLE; ++l) near += (row[l] <= own) | (row[l] <= across[l]);
                    if (near == 0) continue;
                    for (int l = 0; l < BUNDLE; ++l)
                        if ((row[l] <= own || row[l] <= across[l]) && (group != other || i + r < j + l))
                            out[found++] = {static_cast<std::int32_t>(i + r), static_cast<std::int32_t>(j + l), row[l]};
                }
            }
        }
    }
    return found;
}

// Offers pairs to their points on the left or, `turned`, on the right, which keep `count` each under the numbers `names`.
static void keep_near(const NearPair *pairs, std::int64_t size, const std::int64_t *names, bool turned, int count,
                      float *values, std::int64_t *indices) {
    for (const NearPair *pair = pairs; pair < pairs + size; ++pair) {
        const std::int64_t own = turned ? pair->right : pair->left, other = turned ? pair->left : pair->right;
        offer(pair->value, names[other], -1, count, values + own * count, indices + own * count);
    }
}

}  // namespace mlcli::LEVEL
