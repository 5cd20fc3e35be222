// The symbolic analysis of an elimination: nodes, their lists of ancestors, and which node feeds which.
#include "symbolic.hpp"

#include <algorithm>
#include <functional>

namespace mlcli {

template <class Links, class Index> void Symbolic::analyze(const Links &links, const Index *order) {
    const Groups groups = grouped(links, order);
    const Adjacency later = adjacency(links, position, Side::later);
    const Longs list_starts = list_ancestors(groups, later);
    cut_into_nodes(groups, list_starts);
    find_contributions();
    turn_lists_into_depths(groups, list_starts);
}

// Tree, postorder and counts in the given order; then the groups, and the final positions of the vertices.
template <class Links, class Index> Groups Symbolic::grouped(const Links &links, const Index *order) {
    position.resize(vertices_);
    for (std::int32_t i = 0; i < vertices_; ++i) position[order[i]] = i;
    const Adjacency earlier = adjacency(links, position, Side::earlier);
    const Ints parent = elimination_tree(earlier), sizes = up_counts(earlier, parent), post = postorder(parent);
    Ints moved(vertices_, -1), counts(vertices_);
    for (std::int32_t v = 0; v < vertices_; ++v) {
        if (parent[v] != -1) moved[post[v]] = post[parent[v]];
        counts[post[v]] = sizes[v];
        fill_ += sizes[v];
    }
    for (std::int32_t &place : position) place = post[place];
    Groups groups = merged_groups(moved, counts);
    for (std::int32_t &place : position) place = groups.position[place];
    original.resize(vertices_);
    for (std::int32_t v = 0; v < vertices_; ++v) original[position[v]] = v;
    return groups;
}

// For each group, the positions of its ancestors in descending order, then of its own rows.
Longs Symbolic::list_ancestors(const Groups &groups, const Adjacency &later) {
    const auto count = static_cast<std::int32_t>(groups.list.size());
    Longs starts(count + 1, 0);
    for (std::int32_t g = 0; g < count; ++g) starts[g + 1] = starts[g] + groups.list[g].ups + groups.list[g].rows;
    lists.resize(starts.back());
    std::vector<Ints> children(count);
    Ints mark(vertices_, -1);
    std::int32_t first = 0;
    for (std::int32_t g = 0; g < count; ++g) {
        const Group &group = groups.list[g];
        const std::int32_t end = first + group.rows;
        std::uint32_t *own = lists.data() + starts[g], *next = own;
        auto add = [&](std::int32_t v) {
            if (v < end || mark[v] == g) return;
            mark[v] = g;
            *next++ = static_cast<std::uint32_t>(v);
        };
        for (std::int64_t e = later.starts[first]; e < later.starts[end]; ++e) add(later.joined[e]);
        for (const std::int32_t c : children[g])
            for (std::int32_t i = 0; i < groups.list[c].ups; ++i) add(static_cast<std::int32_t>(lists[starts[c] + i]));
        std::sort(own, next, std::greater<>());
        for (std::int32_t v = end - 1; v >= first; --v) *next++ = static_cast<std::uint32_t>(v);
        if (group.parent != -1) children[group.parent].push_back(g);
        Ints().swap(children[g]);
        first = end;
    }
    return starts;
}

// Groups are cut into nodes of at most PANEL rows, the deepest first.
void Symbolic::cut_into_nodes(const Groups &groups, const Longs &list_starts) {
    const auto count = static_cast<std::int32_t>(groups.list.size());
    Ints deepest(count), base(count);
    for (std::int32_t g = count - 1; g >= 0; --g) {
        const std::int32_t parent = groups.list[g].parent;
        pieces_ += parent == -1;
        base[g] = parent == -1 ? 0 : base[parent] + groups.list[parent].rows;
        depth_ = std::max(depth_, base[g] + groups.list[g].rows);
    }
    node_of.resize(vertices_);
    std::int32_t first = 0;
    for (std::int32_t g = 0; g < count; ++g) {
        const Group &group = groups.list[g];
        const std::int32_t panels = (group.rows + PANEL - 1) / PANEL;
        const std::int32_t step = ((group.rows + panels - 1) / panels + 3) / 4 * 4;
        deepest[g] = static_cast<std::int32_t>(nodes.size());
        for (std::int32_t row = (group.rows - 1) / step * step; row >= 0; row -= step) {
            const std::int32_t rows = std::min(step, group.rows - row), ups = group.ups + row;
            const std::int32_t width = (ups + rows + 15) / 16 * 16;
            const auto index = static_cast<std::int32_t>(nodes.size());
            nodes.push_back({values_, list_starts[g], first + group.rows - 1 - row, rows, ups, width, base[g] + row,
                             row > 0 ? index + 1 : -1});
            values_ += static_cast<std::int64_t>(rows) * width;
            entries_ += static_cast<std::int64_t>(rows) * ups + static_cast<std::int64_t>(rows) * (rows - 1) / 2;
            for (std::int32_t i = 0; i < rows; ++i) node_of[nodes.back().top - i] = index;
        }
        first += group.rows;
    }
    for (std::int32_t g = 0; g < count; ++g) {
        const std::int32_t end = g + 1 < count ? deepest[g + 1] : static_cast<std::int32_t>(nodes.size());
        nodes[end - 1].parent = groups.list[g].parent == -1 ? -1 : deepest[groups.list[g].parent];
    }
}

// Runs of a node's ancestors that are rows of one node each, gathered by that node. Lists still hold positions.
void Symbolic::find_contributions() {
    contribution_starts.assign(nodes.size() + 1, 0);
    auto each = [&](auto &&visit) {
        for (std::size_t d = 0; d < nodes.size(); ++d) {
            const std::uint32_t *list = lists.data() + nodes[d].list;
            for (std::int32_t low = 0, high; low < nodes[d].ups; low = high) {
                const std::int32_t target = node_of[list[low]];
                for (high = low + 1; high < nodes[d].ups && node_of[list[high]] == target;) ++high;
                visit(target, Contribution{static_cast<std::int32_t>(d), low, high});
            }
        }
    };
    each([&](std::int32_t target, const Contribution &) { ++contribution_starts[target + 1]; });
    for (std::size_t i = 0; i < nodes.size(); ++i) contribution_starts[i + 1] += contribution_starts[i];
    contributions.resize(contribution_starts.back());
    Longs next(contribution_starts.begin(), contribution_starts.end() - 1);
    each([&](std::int32_t target, const Contribution &part) { contributions[next[target]++] = part; });
}

void Symbolic::turn_lists_into_depths(const Groups &groups, const Longs &list_starts) {
    std::vector<std::uint32_t> depth(vertices_);
    for (const Node &node : nodes)
        for (std::int32_t i = 0; i < node.rows; ++i) depth[node.top - i] = static_cast<std::uint32_t>(node.base + i);
    for (std::int64_t i = 0; i < list_starts[groups.list.size()]; ++i) lists[i] = depth[lists[i]];
}

void Symbolic::rename(const Ints &names) {
    for (std::int32_t &v : original) v = names[v];
    for (std::int32_t p = 0; p < vertices_; ++p) position[original[p]] = p;
}

std::int64_t Symbolic::slot(std::int32_t v, std::int32_t w) const {
    const auto [deep, high] = std::minmax(position[v], position[w]);
    const Node &node = nodes[node_of[deep]], &other = nodes[node_of[high]];
    const std::uint32_t *list = lists.data() + node.list;
    const auto depth = static_cast<std::uint32_t>(other.base + other.top - high);
    const std::int64_t column = std::lower_bound(list, list + node.ups + node.rows, depth) - list;
    return node.values + static_cast<std::int64_t>(node.top - deep) * node.width + column;
}

// Every block goes up its own nodes and the path from the last of them, then down to the first of its own nodes.
std::int64_t Symbolic::relaxations(int lanes) const {
    Longs path(nodes.size()), down(nodes.size() + 1, 0);
    auto entries = [&](std::size_t i) {
        return static_cast<std::int64_t>(nodes[i].rows) * nodes[i].ups + nodes[i].rows * (nodes[i].rows - 1ll) / 2;
    };
    for (std::size_t i = nodes.size(); i-- > 0;) {
        path[i] = entries(i) + (nodes[i].parent == -1 ? 0 : path[nodes[i].parent]);
        down[i] = entries(i) + down[i + 1];
    }
    std::int64_t sum = 0;
    for (std::int32_t first = 0; first < vertices_; first += lanes) {
        const std::int32_t from = node_of[first], to = node_of[std::min(first + lanes, vertices_) - 1];
        sum += down[from] + path[to];
        for (std::int32_t i = from; i < to; ++i) sum += entries(i);
    }
    return sum * lanes;
}

double Symbolic::work(std::int32_t index) const {
    const Node &node = nodes[index];
    double sum = static_cast<double>(node.rows) * node.rows / 2 * (node.ups + node.rows / 3.0);
    for (std::int64_t i = contribution_starts[index]; i < contribution_starts[index + 1]; ++i) {
        const Contribution &part = contributions[i];
        sum += static_cast<double>(part.high - part.low) * nodes[part.source].rows * (part.low + part.high) / 2;
    }
    return sum;
}

template void Symbolic::analyze(const Graph &, const std::int64_t *);
template void Symbolic::analyze(const Web &, const std::int32_t *);

Plan Symbolic::plan() const {
    return {vertices_, static_cast<std::int32_t>(nodes.size()), depth_, nodes.data(), lists.data(),
            contribution_starts.data(), contributions.data(), node_of.data(), original.data(), position.data()};
}

std::int64_t Symbolic::bytes() const {
    return static_cast<std::int64_t>(nodes.size() * (sizeof(Node) + 8) + lists.size() * 4
                                     + contributions.size() * sizeof(Contribution) + vertices_ * 12ll);
}

}  // namespace mlcli
