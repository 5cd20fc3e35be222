// What a step of sampled forces is given: the curve of memberships, the edges with their rates, and what is drawn.
#pragma once
#include <cstdint>

namespace mlcli {

constexpr int PAIRS = 64;  // whose forces are computed at once: some vectors, so that their steps overlap

struct Curve {
    double a, b;   // membership 1 / (1 + a d^2b) at distance d
    double gamma;  // weight of sampled points
    double near;   // squared distance, and cost, that keep the force of equal points finite
    double most;   // largest force on an axis
};

struct Schedule {
    const std::int64_t *starts;   // rows + 1
    const std::int32_t *columns;  // the other end of each edge
    const std::uint32_t *rates;   // share of the epochs in which it is due, times 2^32
    const std::int32_t *numbers;  // of the edge, for its samples; below zero: none
};

struct Draw {
    std::int64_t samples;  // of an edge that is due
    std::uint32_t epoch;
    std::uint64_t key;  // of the counter
};

}  // namespace mlcli
