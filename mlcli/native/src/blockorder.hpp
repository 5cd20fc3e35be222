// An order of points in which near ones are near each other, in whole blocks.
#pragma once
#include <cstdint>
#include <vector>

namespace mlcli {

// Halves the points again and again across the column of the largest variance, at whole multiples of `block` points, then
// of `group`. The points of a group are in the order of their numbers, equal coordinates too: it is the same everywhere.
std::vector<std::int64_t> block_order(const float *points, std::int64_t size, std::int64_t columns, std::int64_t block,
                                      std::int64_t group);

}  // namespace mlcli
