// An undirected graph with weights of vertices and edges, and its contractions to smaller ones.
#include "web.hpp"

#include <algorithm>
#include <numeric>

#include "chance.hpp"

namespace mlcli {
namespace {

constexpr double TAKEN = 2.0 / 3;       // share of a cluster's members that must be there to begin one
constexpr double HEAVIEST = 1.0 / 40;   // share of all weight that a pair may have
constexpr double JOINED = 3.0 / 4;      // share of vertices left by a matching above which more pairs are sought

// Vertices without a cluster go to the one with most edges to them, small ones first.
void assign(const Web &web, const Ints &left, std::int32_t most, Ints &sizes, Contraction &to) {
    sizes.resize(to.count + left.size(), 0);
    Ints links(sizes.size(), 0);
    for (const std::int32_t v : left) {
        if (to.into[v] != -1) continue;
        auto each = [&](auto &&visit) {
            for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e)
                if (to.into[web.joined[e]] != -1) visit(to.into[web.joined[e]]);
        };
        each([&](std::int32_t c) { ++links[c]; });
        std::int32_t best = -1;
        double value = 0;
        each([&](std::int32_t c) {
            const double now = static_cast<double>(links[c]) / (sizes[c] + 2);
            links[c] = 0;
            if (sizes[c] >= 2 * most || now <= value) return;
            value = now;
            best = c;
        });
        if (best == -1) best = to.count++;
        to.into[v] = best;
        ++sizes[best];
    }
}

// Vertices that found no partner, two at a time among the neighbors of each vertex.
void pair_neighbors(const Web &web, std::int64_t heaviest, Ints &sizes, Contraction &to) {
    for (std::int32_t v = 0; v < web.vertices; ++v) {
        std::int32_t other = -1;
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) {
            const std::int32_t u = web.joined[e];
            if (sizes[to.into[u]] > 1 || u == other || 2ll * web.weight(u) > heaviest) continue;
            if (other == -1) {
                other = u;
                continue;
            }
            --sizes[to.into[u]];
            to.into[u] = to.into[other];
            ++sizes[to.into[u]];
            other = -1;
        }
    }
    Ints place(to.count, -1);  // numbers without gaps
    to.count = 0;
    for (std::int32_t &c : to.into) {
        if (place[c] == -1) place[c] = to.count++;
        c = place[c];
    }
}

}  // namespace

std::int64_t Web::total() const {
    return weights.empty() ? vertices : std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
}

Contraction clusters(const Web &web, std::int32_t most) {
    Contraction to{Ints(web.vertices, -1), 0};
    Ints free, left, sizes;
    for (std::int32_t v = 0; v < web.vertices; ++v) {
        if (to.into[v] != -1) continue;
        free.clear();
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e)
            if (to.into[web.joined[e]] == -1) free.push_back(web.joined[e]);
        const auto wanted = static_cast<std::int32_t>(std::min<std::int64_t>(web.starts[v + 1] - web.starts[v], most - 1));
        if (static_cast<double>(free.size()) < TAKEN * wanted) {
            left.push_back(v);
            continue;
        }
        free.resize(std::min<std::size_t>(free.size(), wanted));
        to.into[v] = to.count;
        for (const std::int32_t u : free) to.into[u] = to.count;
        sizes.push_back(static_cast<std::int32_t>(free.size()) + 1);
        ++to.count;
    }
    assign(web, left, most, sizes, to);
    return to;
}

Contraction matching(const Web &web, std::uint64_t seed) {
    Contraction to{Ints(web.vertices, -1), 0};
    Ints order(web.vertices), sizes;
    std::iota(order.begin(), order.end(), 0);
    Chance chance(seed);
    for (std::int32_t i = web.vertices - 1; i > 0; --i) std::swap(order[i], order[chance.below(i + 1)]);
    const auto heaviest = static_cast<std::int64_t>(HEAVIEST * static_cast<double>(web.total()));
    for (const std::int32_t v : order) {
        if (to.into[v] != -1) continue;
        std::int32_t best = -1;
        double most = -1;
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) {
            const std::int32_t u = web.joined[e];
            if (to.into[u] != -1 || web.weight(v) + web.weight(u) > heaviest) continue;
            const double value = static_cast<double>(web.length(e)) / web.weight(u);
            if (value <= most) continue;
            most = value;
            best = u;
        }
        to.into[v] = to.count;
        if (best != -1) to.into[best] = to.count;
        sizes.push_back(best == -1 ? 1 : 2);
        ++to.count;
    }
    if (to.count > JOINED * web.vertices) pair_neighbors(web, heaviest, sizes, to);
    return to;
}

Web contracted(const Web &web, const Contraction &to) {
    Ints starts(to.count + 1, 0), members(web.vertices);
    for (const std::int32_t c : to.into) ++starts[c + 1];
    for (std::int32_t c = 0; c < to.count; ++c) starts[c + 1] += starts[c];
    Ints next(starts.begin(), starts.end() - 1);
    for (std::int32_t v = 0; v < web.vertices; ++v) members[next[to.into[v]]++] = v;
    Longs place(to.count, -1);
    Web result;
    result.vertices = to.count;
    result.weights.assign(to.count, 0);
    for (std::int32_t c = 0; c < to.count; ++c) {
        const std::int64_t first = result.starts.back();
        for (std::int32_t i = starts[c]; i < starts[c + 1]; ++i) {
            const std::int32_t v = members[i];
            result.weights[c] += web.weight(v);
            for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) {
                const std::int32_t d = to.into[web.joined[e]];
                if (d == c) continue;
                if (place[d] < first) {
                    place[d] = static_cast<std::int64_t>(result.joined.size());
                    result.joined.push_back(d);
                    result.lengths.push_back(0);
                }
                result.lengths[place[d]] += web.length(e);
            }
        }
        result.starts.push_back(static_cast<std::int64_t>(result.joined.size()));
    }
    return result;
}

Web part(const Web &web, const std::vector<std::int8_t> &side, std::int8_t wanted, Ints &original) {
    Ints place(web.vertices, -1);
    original.clear();
    for (std::int32_t v = 0; v < web.vertices; ++v)
        if (side[v] == wanted) {
            place[v] = static_cast<std::int32_t>(original.size());
            original.push_back(v);
        }
    Web result;
    result.vertices = static_cast<std::int32_t>(original.size());
    for (const std::int32_t v : original) {
        result.weights.push_back(web.weight(v));
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e)
            if (place[web.joined[e]] != -1) {
                result.joined.push_back(place[web.joined[e]]);
                result.lengths.push_back(web.length(e));
            }
        result.starts.push_back(static_cast<std::int64_t>(result.joined.size()));
    }
    return result;
}

Adjacency adjacency(const Web &web, const Ints &position, Side side) {
    Ints original(web.vertices);
    for (std::int32_t v = 0; v < web.vertices; ++v) original[position[v]] = v;
    Adjacency result;
    result.starts.reserve(web.vertices + 1);
    result.starts.push_back(0);
    result.joined.reserve(web.joined.size() / 2);
    for (std::int32_t p = 0; p < web.vertices; ++p) {
        for (std::int64_t e = web.starts[original[p]]; e < web.starts[original[p] + 1]; ++e) {
            const std::int32_t q = position[web.joined[e]];
            if ((q > p) == (side == Side::later)) result.joined.push_back(q);
        }
        result.starts.push_back(static_cast<std::int64_t>(result.joined.size()));
    }
    return result;
}

}  // namespace mlcli
