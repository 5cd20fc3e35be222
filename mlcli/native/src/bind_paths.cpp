// Python bindings of undirected graphs and their pieces, of Dijkstra's algorithm and of blocked Floyd-Warshall.
#include "bindings.hpp"

#include "dijkstra.hpp"
#include "kernels.hpp"
#include "weights.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
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

// What the numbers v and w of a pair become that each of its vertices lists, zero where one does not list the other:
// (v + w) / divisor, mix (v + w - v w) + (1 - mix) v w, or the larger. Entries of zero are left out but for the last.
enum class Join : int { sum, mixture, larger };

struct Joined {
    Join join;
    double divisor, mix;

    double operator()(double v, double w) const {
        if (join == Join::sum) return v / divisor + w / divisor;
        if (join == Join::larger) return std::max(v, w);
        const double both = v * w;
        return mix * (v + w - both) + (1 - mix) * both;
    }
};

// Calls visit(v, u, number, whether u lists v too) for each u that some vertices v list. A list is looked through from
// its start, a few entries at a time: lists are short.
template <class T, class Visit>
void visit_pairs(const Vector<std::int64_t> &starts, const Vector<std::int32_t> &columns, const Vector<T> &values,
                 const Joined &joined, std::int64_t first, std::int64_t last, Visit visit) {
    constexpr std::int64_t TOGETHER = 16;
    const std::int32_t *column = columns.data();
    for (std::int64_t v = first; v < last; ++v)
        for (std::int64_t e = starts(v); e < starts(v + 1); ++e) {
            const std::int32_t u = column[e];
            std::int64_t at = starts(u);
            const std::int64_t end = starts(u + 1);
            for (; at < end; at += TOGETHER) {
                const std::int64_t stop = std::min(at + TOGETHER, end);
                bool there = false;
                for (std::int64_t k = at; k < stop; ++k) there |= column[k] == v;
                if (there) break;
            }
            const bool listed = at < end;
            while (listed && column[at] != v) ++at;
            const double number = joined(values(e), listed ? static_cast<double>(values(at)) : 0.0);
            if (number != 0 || joined.join == Join::larger) visit(v, u, number, listed);
        }
}

void check_lists(const Vector<std::int64_t> &starts, const Vector<std::int32_t> &columns, std::int64_t first,
                 std::int64_t last) {
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(size >= 0 && first >= 0 && first <= last && last <= size, "rows are out of range");
    require(starts(0) == 0 && starts(size) == static_cast<std::int64_t>(columns.size()),
            "the lists must hold all entries");
    for (std::int64_t v = 0; v < size; ++v) require(starts(v) <= starts(v + 1), "the lists must be in order");
    for (std::int64_t e = starts(first); e < starts(last); ++e)
        require(columns(e) >= 0 && columns(e) < size, "a vertex is out of range");
}

// How many entries the rows of the joined matrix have from the lists of some vertices; lists may be counted at the same
// time. `counts` (n) begin with zeros.
template <class T>
void count_joined(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<T> values, int join,
                  double divisor, double mix, std::int64_t first, std::int64_t last, Target<std::int64_t> counts) {
    check_lists(starts, columns, first, last);
    require(values.size() == columns.size() && counts.size() + 1 == starts.size(), "every entry has a number");
    nb::gil_scoped_release release;
    visit_pairs(starts, columns, values, Joined{static_cast<Join>(join), divisor, mix}, first, last,
                [&](std::int64_t v, std::int32_t u, double, bool listed) {
                    __atomic_fetch_add(&counts(v), 1, __ATOMIC_RELAXED);
                    if (!listed) __atomic_fetch_add(&counts(u), 1, __ATOMIC_RELAXED);
                });
}

// Writes these entries, each at the next place (n) of its row, in any order; places end where rows do.
template <class T>
void fill_joined(Vector<std::int64_t> starts, Vector<std::int32_t> columns, Vector<T> values, int join,
                 double divisor, double mix, std::int64_t first, std::int64_t last, Target<std::int64_t> next,
                 Target<std::int32_t> indices, Target<T> out) {
    check_lists(starts, columns, first, last);
    require(values.size() == columns.size() && next.size() + 1 == starts.size() && indices.size() == out.size(),
            "every entry has a number");
    nb::gil_scoped_release release;
    const auto room = static_cast<std::int64_t>(out.size());
    auto write = [&](std::int64_t v, std::int64_t u, double number) {
        const std::int64_t place = __atomic_fetch_add(&next(v), 1, __ATOMIC_RELAXED);
        if (place < 0 || place >= room) return;  // of numbers that were changed since they were counted
        indices(place) = static_cast<std::int32_t>(u);
        out(place) = static_cast<T>(number);
    };
    visit_pairs(starts, columns, values, Joined{static_cast<Join>(join), divisor, mix}, first, last,
                [&](std::int64_t v, std::int32_t u, double number, bool listed) {
                    write(v, u, number);
                    if (!listed) write(u, v, number);
                });
}

// Sorts the entries of some rows by their columns.
template <class T>
void sort_joined(Vector<std::int64_t> starts, std::int64_t first, std::int64_t last, Target<std::int32_t> indices,
                 Target<T> out) {
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(first >= 0 && first <= last && last <= size && indices.size() == out.size(), "rows are out of range");
    for (std::int64_t v = first; v < last; ++v) require(starts(v) <= starts(v + 1), "the rows must be in order");
    require(first == last || (starts(first) >= 0 && starts(last) <= static_cast<std::int64_t>(out.size())),
            "the rows must hold all entries");
    nb::gil_scoped_release release;
    std::vector<std::pair<std::int32_t, T>> row;
    for (std::int64_t v = first; v < last; ++v) {
        row.clear();
        for (std::int64_t e = starts(v); e < starts(v + 1); ++e) row.emplace_back(indices(e), out(e));
        std::sort(row.begin(), row.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        for (std::int64_t e = starts(v); e < starts(v + 1); ++e)
            std::tie(indices(e), out(e)) = row[static_cast<std::size_t>(e - starts(v))];
    }
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
    const auto joining = [&m](auto count, auto fill, auto sort) {
        m.def("count_joined", count, "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "join"_a,
              "divisor"_a, "mix"_a, "first"_a, "last"_a, "counts"_a.noconvert());
        m.def("fill_joined", fill, "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "join"_a,
              "divisor"_a, "mix"_a, "first"_a, "last"_a, "next"_a.noconvert(), "indices"_a.noconvert(),
              "out"_a.noconvert());
        m.def("sort_joined", sort, "starts"_a.noconvert(), "first"_a, "last"_a, "indices"_a.noconvert(),
              "out"_a.noconvert());
    };
    joining(&count_joined<double>, &fill_joined<double>, &sort_joined<double>);
    joining(&count_joined<float>, &fill_joined<float>, &sort_joined<float>);
    m.def("strong_pieces", &strong_pieces, "starts"_a.noconvert(), "indices"_a.noconvert(), "out"_a.noconvert());
    m.def("dijkstra_rows", &dijkstra_rows, "starts"_a.noconvert(), "indices"_a.noconvert(), "lengths"_a.noconvert(),
          "sources"_a.noconvert(), "out"_a.noconvert());
    m.def("floyd_pivot", &floyd_pivot, "matrix"_a.noconvert(), "pivot"_a);
    m.def("floyd_rows", &floyd_rows, "matrix"_a.noconvert(), "pivot"_a, "strip"_a);
}

}  // namespace mlcli
