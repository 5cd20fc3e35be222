// Points in blocks, as the search for near pairs of them takes them, and the pairs that it finds.
#pragma once
#include <cstdint>

namespace mlcli {

constexpr int BUNDLE = 16;  // points whose coordinates lie together, column by column: a group

struct NearPoints {
    std::int64_t columns;
    const float *packed;        // groups x columns x BUNDLE
    const float *halves;        // ‖x‖²/2 of each point
    const float *kept;          // half the squared distance above which a point keeps no other
    const float *reach;         // the largest of these in a group, with what rounding may change
    std::int64_t stages;        // how often it is asked whether products may stop
    const std::int64_t *ends;   // the columns up to then; the last are all
    const float *rests;         // stages x points: the norm of the other columns
    std::int64_t size;          // points, of whole groups
};

struct NearPair {
    std::int32_t left, right;
    float value;  // half the squared distance
};

}  // namespace mlcli
