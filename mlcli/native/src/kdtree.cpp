// A k-d tree of points: the nearest of them to others, by the quick distances of a plain sum of squares.
#include "kdtree.hpp"

#include <algorithm>
#include <numeric>

namespace mlcli {

struct KdTree::Search {
    const double *point;
    std::size_t count;
    Found &found;
    std::vector<double> &offsets;  // from the point to the node's cell, column by column

    double farthest() const { return found.front().first; }
};

KdTree::KdTree(const double *points, std::int64_t size, int columns) : columns_(columns), order_(size) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    build(points, 0, size);
    points_.resize(static_cast<std::size_t>(size) * columns);
    for (std::int64_t i = 0; i < size; ++i)
        std::copy_n(points + order_[i] * columns, columns, points_.data() + i * columns);
}

std::int64_t KdTree::build(const double *points, std::int64_t begin, std::int64_t end) {
    const auto number = static_cast<std::int64_t>(nodes_.size());
    nodes_.push_back({-1, 0, 0, begin, end});
    if (end - begin <= LEAF) return number;
    int widest = 0;
    double width = -1;
    for (int c = 0; c < columns_; ++c) {
        double low = points[order_[begin] * columns_ + c], high = low;
        for (std::int64_t i = begin + 1; i < end; ++i) {
            const double x = points[order_[i] * columns_ + c];
            low = std::min(low, x);
            high = std::max(high, x);
        }
        if (high - low > width) width = high - low, widest = c;
    }
    const auto at = [&](std::int64_t i) { return points[i * columns_ + widest]; };
    const std::int64_t middle = begin + (end - begin) / 2;
    std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                     [&](std::int64_t a, std::int64_t b) { return at(a) < at(b); });
    const double high = at(order_[middle]);
    double low = at(order_[begin]);
    for (std::int64_t i = begin + 1; i < middle; ++i) low = std::max(low, at(order_[i]));
    const std::int64_t left = build(points, begin, middle);
    const std::int64_t right = build(points, middle, end);
    nodes_[number] = {widest, low, high, left, right};
    return number;
}

double KdTree::nearest(const double *point, int count, std::int64_t *indices) const {
    thread_local Found found;
    thread_local std::vector<double> offsets;
    found.clear();
    offsets.assign(columns_, 0);
    Search search{point, static_cast<std::size_t>(count), found, offsets};
    descend(0, 0, search);
    for (int i = 0; i < count; ++i) indices[i] = found[i].second;
    return search.farthest();
}

void KdTree::leaf(const Node &node, Search &search) const {
    for (std::int64_t i = node.begin; i < node.end; ++i) {
        const double *other = points_.data() + i * columns_;
        double squared = 0;
        for (int c = 0; c < columns_; ++c) squared += (search.point[c] - other[c]) * (search.point[c] - other[c]);
        if (search.found.size() == search.count) {
            if (squared >= search.farthest()) continue;
            std::pop_heap(search.found.begin(), search.found.end());
            search.found.back() = {squared, order_[i]};
        } else {
            search.found.emplace_back(squared, order_[i]);
        }
        std::push_heap(search.found.begin(), search.found.end());
    }
}

// `squared` is the squared distance from the point to the node's cell.
void KdTree::descend(std::int64_t number, double squared, Search &search) const {
    const Node &node = nodes_[number];
    if (node.column < 0) return leaf(node, search);
    const double x = search.point[node.column];
    const bool left = x - node.low < node.high - x;
    descend(left ? node.begin : node.end, squared, search);
    const double before = search.offsets[node.column];
    const double across = std::max(left ? node.high - x : x - node.low, before);
    const double beyond = squared - before * before + across * across;
    if (search.found.size() == search.count && beyond * (1 - 1e-12) >= search.farthest()) return;
    search.offsets[node.column] = across;
    descend(left ? node.end : node.begin, beyond, search);
    search.offsets[node.column] = before;
}

}  // namespace mlcli
