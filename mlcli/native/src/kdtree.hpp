// A k-d tree of points: the nearest of them to others, by the quick distances of a plain sum of squares.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace mlcli {

// Friedman, Bentley and Finkel, 1977: each inner node halves its points across their widest column.
class KdTree {
public:
    KdTree(const double *points, std::int64_t size, int columns);

    std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
    int columns() const { return columns_; }

    // The `count` nearest points (1 <= count <= size) by squared distance, in no order, and the largest of those.
    double nearest(const double *point, int count, std::int64_t *indices) const;

private:
    static constexpr std::int64_t LEAF = 12;  // points that are compared one by one

    struct Node {
        int column;  // of the cut; -1: a leaf
        double low, high;  // the last coordinate before the cut, the first after it
        std::int64_t begin, end;  // of a leaf: its points; of an inner node: its children's numbers
    };
    using Found = std::vector<std::pair<double, std::int64_t>>;  // a heap, the farthest first
    struct Search;

    int columns_;
    std::vector<std::int64_t> order_;
    std::vector<double> points_;  // in the order of the leaves
    std::vector<Node> nodes_;

    std::int64_t build(const double *points, std::int64_t begin, std::int64_t end);
    void leaf(const Node &node, Search &search) const;
    void descend(std::int64_t number, double squared, Search &search) const;
};

}  // namespace mlcli
