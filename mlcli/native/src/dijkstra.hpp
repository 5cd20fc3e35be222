// Dijkstra's algorithm with buckets of equal distances, each of which is emptied through a heap.
#pragma once
#include <cstdint>
#include <vector>

#include "tree.hpp"

namespace mlcli {

// The work space of one thread; rows are computed one source after another.
class Dijkstra {
public:
    explicit Dijkstra(const Graph &graph);
    void row(std::int32_t source, double *distances);

private:
    struct Reached {
        double distance;
        std::int32_t vertex;

        bool operator<(const Reached &other) const { return distance > other.distance; }  // the nearest is on top
    };

    const Graph &graph_;
    double per_length_ = 1;                      // buckets in a unit of length
    std::vector<std::vector<Reached>> buckets_;  // a ring that is longer than the longest edge
    std::vector<Reached> heap_;                  // the bucket at hand
};

}  // namespace mlcli
