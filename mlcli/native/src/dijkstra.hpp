// Dijkstra's algorithm with an indexed 4-ary heap.
#pragma once
#include <cstdint>
#include <vector>

#include "tree.hpp"

namespace mlcli {

// The work space of one thread; rows are computed one source after another.
class Dijkstra {
public:
    explicit Dijkstra(const Graph &graph);
    void row(std::int32_t source, double *out);

private:
    const Graph &graph_;
    std::vector<double> distance_;
    Ints heap_, place_;  // place_: where a vertex stands in the heap; -1 before, -2 after

    void raise(std::int32_t place, std::int32_t vertex);
    void lower(std::int32_t place, std::int32_t vertex);
    std::int32_t pop();
    void relax(std::int32_t vertex, double distance);
};

}  // namespace mlcli
