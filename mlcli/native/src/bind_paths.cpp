// Python bindings of undirected graphs and their pieces, of Dijkstra's algorithm and of blocked Floyd-Warshall.
#include "bindings.hpp"

#include "dijkstra.hpp"
#include "kernels.hpp"
#include "weights.hpp"

#include <algorithm>
#include <limits>
#include <utility>
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

// The edges of an undirected graph, in both rows and by ascending columns, from the lists of its vertices in compressed
// rows: joined if listed once or, for a `mutual` one, twice or more. An edge has the least of its lengths. Returns the
// number of entries.
std::int64_t undirected(Vector<std::int64_t> begin, Vector<std::int64_t> columns, Vector<double> lengths, bool mutual,
                        Target<std::int64_t> starts, Target<std::int64_t> indices, Target<double> out) {
    const std::size_t pairs = columns.size();
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(size >= 0 && size < std::numeric_limits<std::int32_t>::max() && begin.size() == starts.size() &&
            lengths.size() == pairs, "every vertex has a list, and every entry a length");
    require(indices.size() == 2 * pairs && out.size() == 2 * pairs, "every pair must have room for two entries");
    require(begin(0) == 0 && begin(size) == static_cast<std::int64_t>(pairs), "the lists must hold all entries");
    for (std::int64_t v = 0; v < size; ++v) require(begin(v) <= begin(v + 1), "the lists must be in order");
    for (std::size_t k = 0; k < pairs; ++k) require(columns(k) >= 0 && columns(k) < size, "a vertex is out of range");
    nb::gil_scoped_release release;
    std::vector<std::int64_t> next(static_cast<std::size_t>(size) + 1);  // where the entries that list a vertex begin
    for (std::size_t k = 0; k < pairs; ++k) ++next[columns(k) + 1];
    for (std::int64_t v = 0; v < size; ++v) next[v + 1] += next[v];
    std::vector<std::int32_t> from(pairs);
    std::vector<double> far(pairs);
    for (std::int64_t v = 0; v < size; ++v)
        for (std::int64_t e = begin(v); e < begin(v + 1); ++e) {
            const std::int64_t place = next[columns(e)]++;  // afterwards next[v] is where those of v end
            from[place] = static_cast<std::int32_t>(v);
            far[place] = lengths(e);
        }
    std::vector<std::pair<std::int64_t, double>> own;
    std::int64_t count = 0, other = 0;
    starts(0) = 0;
    for (std::int64_t v = 0; v < size; ++v) {
        own.clear();
        for (std::int64_t e = begin(v); e < begin(v + 1); ++e) own.emplace_back(columns(e), lengths(e));
        std::sort(own.begin(), own.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        for (auto mine = own.begin(); mine != own.end() || other < next[v];) {
            const std::int64_t column = mine == own.end()  ? from[other]
                                        : other == next[v] ? mine->first
                                                           : std::min<std::int64_t>(mine->first, from[other]);
            double least = std::numeric_limits<double>::infinity();
            int times = 0;
            auto take = [&](double length) {
                if (length < least || length != length) least = length;
                ++times;
            };
            for (; mine != own.end() && mine->first == column; ++mine) take(mine->second);
            for (; other < next[v] && from[other] == column; ++other) take(far[other]);
            if (mutual && times < 2) continue;
            indices(count) = column;
            out(count++) = least;
        }
        starts(v + 1) = count;
    }
    return count;
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
    m.def("undirected", &undirected, "begin"_a.noconvert(), "columns"_a.noconvert(), "lengths"_a.noconvert(),
          "mutual"_a, "starts"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert());
    m.def("strong_pieces", &strong_pieces, "starts"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert());
    m.def("dijkstra_rows", &dijkstra_rows, "starts"_a.noconvert(), "indices"_a.noconvert(), "lengths"_a.noconvert(),
          "sources"_a.noconvert(), "out"_a.noconvert());
    m.def("floyd_pivot", &floyd_pivot, "matrix"_a.noconvert(), "pivot"_a);
    m.def("floyd_rows", &floyd_rows, "matrix"_a.noconvert(), "pivot"_a, "strip"_a);
}

}  // namespace mlcli
