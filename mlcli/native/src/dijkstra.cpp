// Dijkstra's algorithm with an indexed 4-ary heap.
#include "dijkstra.hpp"

#include <algorithm>
#include <limits>

namespace mlcli {

Dijkstra::Dijkstra(const Graph &graph) : graph_(graph), distance_(graph.vertices), place_(graph.vertices) {
    heap_.reserve(graph.vertices);
}

// Moves a vertex from an empty place toward the root until its parent is no farther.
void Dijkstra::raise(std::int32_t place, std::int32_t vertex) {
    while (place > 0) {
        const std::int32_t above = (place - 1) / 4;
        if (distance_[heap_[above]] <= distance_[vertex]) break;
        heap_[place] = heap_[above];
        place_[heap_[place]] = place;
        place = above;
    }
    heap_[place] = vertex;
    place_[vertex] = place;
}

// Moves a vertex from an empty place away from the root until no child is nearer.
void Dijkstra::lower(std::int32_t place, std::int32_t vertex) {
    const auto size = static_cast<std::int32_t>(heap_.size());
    for (std::int32_t child; (child = 4 * place + 1) < size;) {
        const std::int32_t end = std::min(child + 4, size);
        for (std::int32_t other = child + 1; other < end; ++other)
            if (distance_[heap_[other]] < distance_[heap_[child]]) child = other;
        if (distance_[heap_[child]] >= distance_[vertex]) break;
        heap_[place] = heap_[child];
        place_[heap_[place]] = place;
        place = child;
    }
    heap_[place] = vertex;
    place_[vertex] = place;
}

std::int32_t Dijkstra::pop() {
    const std::int32_t vertex = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) lower(0, last);
    place_[vertex] = -2;
    return vertex;
}

void Dijkstra::relax(std::int32_t vertex, double distance) {
    if (place_[vertex] == -2 || distance >= distance_[vertex]) return;
    distance_[vertex] = distance;
    if (place_[vertex] == -1) heap_.push_back(vertex);
    raise(place_[vertex] == -1 ? static_cast<std::int32_t>(heap_.size()) - 1 : place_[vertex], vertex);
}

void Dijkstra::row(std::int32_t source, double *out) {
    std::fill(distance_.begin(), distance_.end(), std::numeric_limits<double>::infinity());
    std::fill(place_.begin(), place_.end(), -1);
    heap_.clear();
    relax(source, 0);
    while (!heap_.empty()) {
        const std::int32_t v = pop();
        for (std::int64_t e = graph_.starts[v]; e < graph_.starts[v + 1]; ++e)
            relax(static_cast<std::int32_t>(graph_.indices[e]), distance_[v] + graph_.lengths[e]);
    }
    std::copy(distance_.begin(), distance_.end(), out);
}

}  // namespace mlcli
