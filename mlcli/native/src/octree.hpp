// A tree of cells over points with one to three axes, and lists of the cells whose points act as one from afar.
#pragma once
#include <cstdint>
#include <vector>

namespace mlcli {

// Cells halved along every axis, in Morton's order of their points (Barnes and Hut, 1986).
class Octree {
public:
    Octree(const double *points, std::int64_t size, int axes);

    std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
    int axes() const { return axes_; }

    struct Group { std::int64_t begin, end; };  // points next to each other that share a list
    const std::vector<Group> &groups() const { return groups_; }
    const std::vector<std::int64_t> &order() const { return order_; }
    const double *points() const { return points_.data(); }  // in this order

    // Centers of cells (axis by axis) and how many points each stands for: every point is in one of them. A cell is as
    // wide as `theta` of its distance from all of the group, or less. Centers of no points make up whole vectors.
    struct List { std::vector<double> centers[3], masses; };
    void list(const Group &group, double theta, List &out) const;

private:
    static constexpr std::int64_t LEAF = 8;    // points that are listed one by one
    static constexpr std::int64_t GROUP = 32;  // points in a group
    static constexpr std::size_t LANES = 8;

    struct Cell {
        double center[3], width, mass;  // the mean of the points, and the longest side of their box
        std::int64_t begin, end, after;  // the points, and the first cell beyond the subtree
        bool leaf;
    };

    int axes_;
    std::vector<std::int64_t> order_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> points_;
    std::vector<Cell> cells_;
    std::vector<Group> groups_;

    struct Box { double low[3], high[3], sum[3]; };
    Box box(std::int64_t begin, std::int64_t end) const;
    Box build(std::int64_t begin, std::int64_t end, int level);
};

}  // namespace mlcli
