// Python bindings of undirected graphs and their pieces, of Dijkstra's algorithm and of blocked Floyd-Warshall.
#include "bindings.hpp"

#include "dijkstra.hpp"
#include "kernels.hpp"
#include "weights.hpp"

#include <vector>

namespace mlcli {
namespace {

void dijkstra_rows(Vector<std::int64_t> starts, Vector<std::int64_t> indices, Vector<double> lengths,
                   Vector<std::int64_t> sources, Matrix<double> out) {
    check_graph(starts, indices, lengths);
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(out.shape(0) == sources.size() && static_cast<std::int64_t>(out.shape(1)) == size,
            "out must have a row for every source and a column for every vertex");
    for (std::size_t i = 0; i < sources.size(); ++i)
        require(sources(i) >= 0 && sources(i) < size, "a source is out of range");
    nb::gil_scoped_release release;
    const Graph graph{static_cast<std::int32_t>(size), starts.data(), indices.data(), lengths.data()};
    Dijkstra search(graph);
    for (std::size_t i = 0; i < sources.size(); ++i)
        search.row(static_cast<std::int32_t>(sources(i)), out.data() + static_cast<std::int64_t>(i) * size);
}

// The number of the piece that each vertex lies in, pieces numbered in the order of their first vertex.
void pieces(Vector<std::int64_t> starts, Vector<std::int64_t> indices, Vector<double> lengths,
            Target<std::int64_t> out) {
    check_graph(starts, indices, lengths);
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(static_cast<std::int64_t>(out.shape(0)) == size, "out must have an entry for every vertex");
    nb::gil_scoped_release release;
    std::int64_t *piece = out.data(), count = 0;
    std::fill_n(piece, size, std::int64_t{-1});
    std::vector<std::int64_t> waiting;
    for (std::int64_t first = 0; first < size; ++first) {
        if (piece[first] >= 0) continue;
        piece[first] = count;
        waiting.push_back(first);
        while (!waiting.empty()) {
            const std::int64_t v = waiting.back();
            waiting.pop_back();
            for (std::int64_t e = starts(v); e < starts(v + 1); ++e)
                if (piece[indices(e)] < 0) {
                    piece[indices(e)] = count;
                    waiting.push_back(indices(e));
                }
        }
        ++count;
    }
}

// The order of pairs by a vertex of each, those of one vertex in the order in which they are given.
void sort_by(const std::vector<std::int64_t> &vertex, std::int64_t size, const std::vector<std::int64_t> &given,
             std::vector<std::int64_t> &order) {
    std::vector<std::int64_t> next(static_cast<std::size_t>(size) + 1);
    for (const std::int64_t v : vertex) ++next[v + 1];
    for (std::int64_t v = 0; v < size; ++v) next[v + 1] += next[v];
    for (const std::int64_t pair : given) order[next[vertex[pair]]++] = pair;
}

// The edges of an undirected graph, in both rows, from pairs that list each other: once or, for a `mutual` one, twice or
// more. An edge has the least of the lengths of its pairs. Returns the number of entries.
std::int64_t undirected(Vector<std::int64_t> left, Vector<std::int64_t> right, Vector<double> lengths, bool mutual,
                        Target<std::int64_t> starts, Target<std::int64_t> indices,
                        Target<double> out) {
    const std::size_t pairs = left.size();
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(size >= 0 && right.size() == pairs && lengths.size() == pairs, "a pair has two vertices and a length");
    require(indices.size() == 2 * pairs && out.size() == 2 * pairs, "every pair must have room for two entries");
    for (std::size_t k = 0; k < pairs; ++k)
        require(left(k) >= 0 && left(k) < size && right(k) >= 0 && right(k) < size, "a vertex is out of range");
    nb::gil_scoped_release release;
    std::vector<std::int64_t> low(pairs), high(pairs), order(pairs), given(pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
        low[k] = std::min(left(k), right(k));
        high[k] = std::max(left(k), right(k));
        given[k] = static_cast<std::int64_t>(k);
    }
    sort_by(high, size, given, order);
    sort_by(low, size, order, given);
    std::fill_n(starts.data(), size + 1, std::int64_t{0});
    std::vector<double> shortest(pairs);
    std::size_t edges = 0;  // the first pair of each takes its place in `order`
    for (std::size_t k = 0, next; k < pairs; k = next) {
        const std::int64_t first = given[k];
        double least = lengths(first);
        for (next = k + 1; next < pairs && low[given[next]] == low[first] && high[given[next]] == high[first]; ++next) {
            const double length = lengths(given[next]);
            if (length < least || length != length) least = length;
        }
        if (mutual && next == k + 1) continue;
        ++starts(low[first] + 1);
        ++starts(high[first] + 1);
        order[edges] = first;
        shortest[edges++] = least;
    }
    for (std::int64_t v = 0; v < size; ++v) starts(v + 1) += starts(v);
    std::vector<std::int64_t> next(starts.data(), starts.data() + size);
    auto enter = [&](std::int64_t row, std::int64_t column, double length) {
        indices(next[row]) = column;
        out(next[row]++) = length;
    };
    for (std::size_t e = 0; e < edges; ++e) enter(high[order[e]], low[order[e]], shortest[e]);
    for (std::size_t e = 0; e < edges; ++e) enter(low[order[e]], high[order[e]], shortest[e]);
    return static_cast<std::int64_t>(2 * edges);
}

// The number of the strongly connected piece of each vertex of a directed graph, by Tarjan's search in depth (1972). A
// piece has a higher number than those that its vertices lead into.
void strong_pieces(Vector<std::int64_t> starts, Vector<std::int64_t> indices,
                   Target<std::int64_t> out) {
    check_links(starts, indices);
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(static_cast<std::int64_t>(out.shape(0)) == size, "out must have an entry for every vertex");
    nb::gil_scoped_release release;
    std::int64_t *piece = out.data(), count = 0, visited = 0;
    std::fill_n(piece, size, std::int64_t{-1});
    std::vector<std::int64_t> visit(size, -1), lowest(size), next(size), open, path;
    auto enter = [&](std::int64_t v) {
        visit[v] = lowest[v] = visited++;
        next[v] = starts(v);
        open.push_back(v);
        path.push_back(v);
    };
    for (std::int64_t first = 0; first < size; ++first) {
        if (visit[first] >= 0) continue;
        enter(first);
        while (!path.empty()) {
            const std::int64_t v = path.back();
            if (next[v] < starts(v + 1)) {
                const std::int64_t u = indices(next[v]++);
                if (visit[u] < 0) enter(u);
                else if (piece[u] < 0) lowest[v] = std::min(lowest[v], visit[u]);
                continue;
            }
            path.pop_back();
            if (!path.empty()) lowest[path.back()] = std::min(lowest[path.back()], lowest[v]);
            if (lowest[v] != visit[v]) continue;
            while (piece[v] < 0) {
                piece[open.back()] = count;
                open.pop_back();
            }
            ++count;
        }
    }
}

std::int64_t check_square(const Matrix<double> &matrix, std::int64_t pivot, std::int64_t strip) {
    const auto size = static_cast<std::int64_t>(matrix.shape(0));
    const std::int64_t strips = (size + STRIP - 1) / STRIP;
    require(static_cast<std::int64_t>(matrix.shape(1)) == size, "the matrix must be square");
    require(pivot >= 0 && pivot < strips && strip >= 0 && strip < strips, "no such strip of rows");
    return size;
}

void floyd_pivot(Matrix<double> matrix, std::int64_t pivot) {
    const std::int64_t size = check_square(matrix, pivot, pivot);
    nb::gil_scoped_release release;
    Buffer<double> scratch(2 * STRIP * STRIP);
    kernels<double>().floyd_pivot(matrix.data(), size, pivot, scratch.get());
}

void floyd_rows(Matrix<double> matrix, std::int64_t pivot, std::int64_t strip) {
    const std::int64_t size = check_square(matrix, pivot, strip);
    require(pivot != strip, "the pivot's own rows are done by floyd_pivot");
    nb::gil_scoped_release release;
    Buffer<double> scratch(2 * STRIP * STRIP);
    kernels<double>().floyd_rows(matrix.data(), size, pivot, strip, scratch.get());
}

}  // namespace

void bind_paths(nb::module_ &m) {
    m.attr("STRIP") = STRIP;
    m.def("pieces", &pieces, "starts"_a.noconvert(), "indices"_a.noconvert(), "lengths"_a.noconvert(),
          "out"_a.noconvert());
    m.def("undirected", &undirected, "left"_a.noconvert(), "right"_a.noconvert(), "lengths"_a.noconvert(), "mutual"_a,
          "starts"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert());
    m.def("strong_pieces", &strong_pieces, "starts"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert());
    m.def("dijkstra_rows", &dijkstra_rows, "starts"_a.noconvert(), "indices"_a.noconvert(), "lengths"_a.noconvert(),
          "sources"_a.noconvert(), "out"_a.noconvert());
    m.def("floyd_pivot", &floyd_pivot, "matrix"_a.noconvert(), "pivot"_a);
    m.def("floyd_rows", &floyd_rows, "matrix"_a.noconvert(), "pivot"_a, "strip"_a);
}

}  // namespace mlcli
