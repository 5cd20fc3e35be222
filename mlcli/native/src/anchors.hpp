// Distances from an anchor to all points, in two spaces: sums over the pairs, and counts of nearer points.
#pragma once
#include <cstdint>

#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int PAIR_SUMS = 8;              // sums over pairs: those of native/anchors.py, in that order
constexpr int LANES_OF_SUMS = 8;           // pairs that are summed side by side, at any instruction set
constexpr std::int64_t STRETCH = 1024;    // pairs whose sums are added to those before them

// Sums over pairs of their distances delta in one space and d in another, from squares; d is multiplied by `scale`.
static void pair_sums(const double *kept, const double *embedded, std::int64_t size, double scale, double *out) {
    for (int k = 0; k < PAIR_SUMS; ++k) out[k] = 0.0;
    for (std::int64_t first = 0; first < size; first += STRETCH) {
        const std::int64_t end = first + STRETCH < size ? first + STRETCH : size;
        double sums[PAIR_SUMS][LANES_OF_SUMS] = {};
        for (std::int64_t j = first; j < end; j += LANES_OF_SUMS) {
            double delta[LANES_OF_SUMS] = {}, d[LANES_OF_SUMS] = {}, inverse[LANES_OF_SUMS], off[LANES_OF_SUMS];
            if (j + LANES_OF_SUMS <= end) {
                for (int i = 0; i < LANES_OF_SUMS; ++i) delta[i] = __builtin_sqrt(kept[j + i]);
                for (int i = 0; i < LANES_OF_SUMS; ++i) d[i] = __builtin_sqrt(embedded[j + i]) * scale;
            } else {  // pairs at distance zero add nothing
                for (int i = 0; i < end - j; ++i) delta[i] = __builtin_sqrt(kept[j + i]);
                for (int i = 0; i < end - j; ++i) d[i] = __builtin_sqrt(embedded[j + i]) * scale;
            }
            for (int i = 0; i < LANES_OF_SUMS; ++i) inverse[i] = delta[i] > 0 ? 1.0 / delta[i] : 0.0;
            for (int i = 0; i < LANES_OF_SUMS; ++i) off[i] = delta[i] - d[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[0][i] += delta[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[1][i] += d[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[2][i] += delta[i] * delta[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[3][i] += d[i] * d[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[4][i] += delta[i] * d[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[5][i] += off[i] * off[i];
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[6][i] += d[i] * (d[i] * inverse[i]);
            for (int i = 0; i < LANES_OF_SUMS; ++i) sums[7][i] += off[i] * (off[i] * inverse[i]);
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

}  // namespace mlcli::LEVEL
