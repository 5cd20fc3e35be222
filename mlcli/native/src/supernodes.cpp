// Groups of vertices that are eliminated together: exact supernodes, merged where that makes a pass cheaper.
#include "supernodes.hpp"

#include <algorithm>
#include <numeric>

namespace mlcli {
namespace {

// Vertices v and v + 1 share a supernode when up(v) = {v + 1} + up(v + 1).
std::vector<Group> supernodes(const Ints &parent, const Ints &counts, Ints &group_of) {
    const auto size = static_cast<std::int32_t>(parent.size());
    std::vector<Group> groups;
    for (std::int32_t v = 0; v < size; ++v) {
        const bool joins = v > 0 && parent[v - 1] == v && counts[v - 1] == counts[v] + 1;
        if (!joins) groups.push_back({0, 0, -1});
        group_of[v] = static_cast<std::int32_t>(groups.size()) - 1;
        ++groups.back().rows;
        groups.back().ups = counts[v];
    }
    for (std::int32_t v = 0; v < size; ++v)
        if (parent[v] != -1 && group_of[parent[v]] != group_of[v]) groups[group_of[v]].parent = group_of[parent[v]];
    return groups;
}

// Cycles that the sweep spends on a group for 64 lanes, in tiles of four rows.
double cost(double rows, double ups) {
    static const double rest[] = {0, 7, 9.5, 13};
    const double tiles = static_cast<double>(static_cast<std::int64_t>(rows) / 4);
    const int left = static_cast<int>(rows - 4 * tiles);
    return 100 + 40 * (tiles + (left > 0)) + 16 * (tiles * ups + 2 * tiles * (tiles - 1))
           + rest[left] * (ups + 4 * tiles);
}

// Merges children into their parents where that lowers the cost; `into` leads from a group to the one it joined.
void merge(std::vector<Group> &groups, Ints &into) {
    const auto count = static_cast<std::int32_t>(groups.size());
    std::vector<Ints> children(count);
    for (std::int32_t s = 0; s < count; ++s) {
        Ints &own = children[s];
        std::sort(own.begin(), own.end(), [&](std::int32_t a, std::int32_t b) { return groups[a].ups > groups[b].ups; });
        for (const std::int32_t c : own) {
            const Group &child = groups[c];
            const double apart = cost(child.rows, child.ups) + cost(groups[s].rows, groups[s].ups);
            if (cost(child.rows + groups[s].rows, groups[s].ups) > apart) continue;
            groups[s].rows += child.rows;
            into[c] = s;
        }
        if (groups[s].parent != -1) children[groups[s].parent].push_back(s);
        Ints().swap(own);
    }
    for (std::int32_t s = count - 1; s >= 0; --s) into[s] = into[s] == -1 ? s : into[into[s]];
    for (Group &group : groups)
        if (group.parent != -1) group.parent = into[group.parent];
}

// The place where each surviving group ends, in a postorder of the merged tree.
Ints group_ends(const std::vector<Group> &groups, const Ints &into, std::int32_t size) {
    const auto count = static_cast<std::int32_t>(groups.size());
    Ints subtree(count, 0), cursor(count), ends(count, -1);
    for (std::int32_t s = 0; s < count; ++s) {
        if (into[s] != s) continue;
        subtree[s] += groups[s].rows;
        if (groups[s].parent != -1) subtree[groups[s].parent] += subtree[s];
    }
    std::int32_t roots = size - 1;
    for (std::int32_t s = count - 1; s >= 0; --s) {
        if (into[s] != s) continue;
        std::int32_t &end = groups[s].parent == -1 ? roots : cursor[groups[s].parent];
        ends[s] = end;
        end -= subtree[s];
        cursor[s] = ends[s] - groups[s].rows;
    }
    return ends;
}

}  // namespace

Groups merged_groups(const Ints &parent, const Ints &counts) {
    const auto size = static_cast<std::int32_t>(parent.size());
    Ints group_of(size);
    std::vector<Group> groups = supernodes(parent, counts, group_of);
    const auto count = static_cast<std::int32_t>(groups.size());
    Ints into(count, -1);
    merge(groups, into);
    Ints ends = group_ends(groups, into, size);

    Ints kept;
    for (std::int32_t s = 0; s < count; ++s)
        if (into[s] == s) kept.push_back(s);
    std::sort(kept.begin(), kept.end(), [&](std::int32_t a, std::int32_t b) { return ends[a] < ends[b]; });
    Ints place(count, -1);
    for (std::size_t i = 0; i < kept.size(); ++i) place[kept[i]] = static_cast<std::int32_t>(i);

    Groups result;
    for (const std::int32_t s : kept) {
        const Group &group = groups[s];
        result.list.push_back({group.rows, group.ups, group.parent == -1 ? -1 : place[group.parent]});
    }
    result.position.resize(size);
    for (std::int32_t v = size - 1; v >= 0; --v) result.position[v] = ends[into[group_of[v]]]--;
    return result;
}

}  // namespace mlcli
