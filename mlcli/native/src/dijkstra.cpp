// Dijkstra's algorithm with buckets of equal distances (Dial, 1969; Denardo and Fox, 1979), each of which is emptied
// through a heap: this holds some tens of vertices and not the whole front of the search. A vertex that is reached anew
// by a shorter path is entered again, and its older entries are passed over. Distances are the least sums along paths,
// added from the source, in whatever order the vertices are taken.
#include "dijkstra.hpp"

#include <algorithm>
#include <limits>

namespace mlcli {

constexpr double shortest = 0.2;  // the width of a bucket in mean lengths of an edge, or more, so that
constexpr double most = 4000;     // the longest edge spans no more buckets than this

Dijkstra::Dijkstra(const Graph &graph) : graph_(graph) {
    const std::int64_t entries = graph.starts[graph.vertices];
    double longest = 0, sum = 0;
    for (std::int64_t e = 0; e < entries; ++e) {
        if (graph.lengths[e] == std::numeric_limits<double>::infinity()) continue;  // joins nothing
        longest = std::max(longest, graph.lengths[e]);
        sum += graph.lengths[e];
    }
    const double width = std::max({shortest * sum / static_cast<double>(std::max<std::int64_t>(entries, 1)),
                                   longest / most, std::numeric_limits<double>::min()});
    per_length_ = 1 / width;
    buckets_.resize(static_cast<std::size_t>(longest * per_length_) + 3);
}

void Dijkstra::row(std::int32_t source, double *distances) {
    std::fill_n(distances, graph_.vertices, std::numeric_limits<double>::infinity());
    const std::size_t ring = buckets_.size();
    distances[source] = 0;
    buckets_[0].push_back({0, source});
    std::size_t waiting = 1, place = 0;
    for (std::int64_t number = 0; waiting; ++number, place = place + 1 == ring ? 0 : place + 1) {
        heap_.swap(buckets_[place]);
        waiting -= heap_.size();
        std::make_heap(heap_.begin(), heap_.end());
        while (!heap_.empty()) {
            const Reached nearest = heap_.front();
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
            if (nearest.distance > distances[nearest.vertex]) continue;
            for (std::int64_t e = graph_.starts[nearest.vertex]; e < graph_.starts[nearest.vertex + 1]; ++e) {
                const auto vertex = static_cast<std::int32_t>(graph_.indices[e]);
                const double distance = nearest.distance + graph_.lengths[e];
                if (distance >= distances[vertex]) continue;
                distances[vertex] = distance;
                const auto ahead = static_cast<std::int64_t>(distance * per_length_) - number;
                if (ahead <= 0) {
                    heap_.push_back({distance, vertex});
                    std::push_heap(heap_.begin(), heap_.end());
                } else {
                    const std::size_t next = place + static_cast<std::size_t>(ahead);
                    buckets_[next < ring ? next : next - ring].push_back({distance, vertex});
                    ++waiting;
                }
            }
        }
    }
}

}  // namespace mlcli
