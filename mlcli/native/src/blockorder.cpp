// An order of points in which near ones are near each other: recursive halves across the column of the largest variance.
#include "blockorder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mlcli {
namespace {

constexpr std::int64_t SAMPLE = 1024;  // points whose variances choose a column

struct Halving {
    const float *points;
    std::int64_t columns, block, group;
    std::vector<std::int64_t> order, room;
    std::vector<std::pair<float, std::int64_t>> keys;

    std::int64_t widest(std::int64_t begin, std::int64_t end) const {
        const std::int64_t step = (end - begin + SAMPLE - 1) / SAMPLE;
        std::vector<double> sums(columns, 0), squares(columns, 0);
        double seen = 0;
        for (std::int64_t i = begin; i < end; i += step, ++seen) {
            const float *point = points + order[i] * columns;
            for (std::int64_t c = 0; c < columns; ++c) {
                sums[c] += point[c];
                squares[c] += static_cast<double>(point[c]) * point[c];
            }
        }
        for (std::int64_t c = 0; c < columns; ++c) squares[c] -= sums[c] * sums[c] / seen;
        return std::max_element(squares.begin(), squares.end()) - squares.begin();
    }

    void halve(std::int64_t begin, std::int64_t end) {
        const std::int64_t size = end - begin, unit = size > block ? block : group;
        if (size <= group) return;
        const std::int64_t column = widest(begin, end), middle = begin + (size + unit - 1) / unit / 2 * unit;
        for (std::int64_t i = begin; i < end; ++i) keys[i] = {points[order[i] * columns + column], order[i]};
        std::nth_element(keys.begin() + begin, keys.begin() + middle, keys.begin() + end);
        const auto pivot = keys[middle];
        std::int64_t low = begin, high = middle;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::pair<float, std::int64_t> key{points[order[i] * columns + column], order[i]};
            (key < pivot ? room[low++] : room[high++]) = order[i];
        }
        std::copy(room.begin() + begin, room.begin() + end, order.begin() + begin);
        halve(begin, middle);
        halve(middle, end);
    }
};

}  // namespace

std::vector<std::int64_t> block_order(const float *points, std::int64_t size, std::int64_t columns, std::int64_t block,
                                      std::int64_t group) {
    Halving work{points, columns, block, group, std::vector<std::int64_t>(size), std::vector<std::int64_t>(size),
                 std::vector<std::pair<float, std::int64_t>>(size)};
    std::iota(work.order.begin(), work.order.end(), std::int64_t{0});
    work.halve(0, size);
    return work.order;
}

}  // namespace mlcli
