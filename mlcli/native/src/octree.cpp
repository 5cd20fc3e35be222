// A tree of cells over points with one to three axes, and lists of the cells whose points act as one from afar.
#include "octree.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlcli {

Octree::Octree(const double *points, std::int64_t size, int axes) : axes_(axes) {
    double low[3] = {}, side = 0;
    for (int a = 0; a < axes; ++a) {
        double high = points[a];
        low[a] = points[a];
        for (std::int64_t i = 0; i < size; ++i) {
            low[a] = std::min(low[a], points[i * axes + a]);
            high = std::max(high, points[i * axes + a]);
        }
        side = std::max(side, high - low[a]);
    }
    std::vector<std::pair<std::uint64_t, std::int64_t>> sorted(size);
    const int levels = axes == 1 ? 52 : axes == 2 ? 31 : 21;  // as many as a key has bits for
    const std::uint64_t most = (std::uint64_t{1} << levels) - 1;
    for (std::int64_t i = 0; i < size; ++i) {
        std::uint64_t key = 0;
        for (int a = 0; a < axes && side > 0; ++a) {
            const double place = (points[i * axes + a] - low[a]) / side * static_cast<double>(most + 1);
            const std::uint64_t cell = std::min(most, static_cast<std::uint64_t>(place));
            for (int bit = 0; bit < levels; ++bit) key |= (cell >> bit & 1) << (bit * axes + a);
        }
        sorted[i] = {key, i};
    }
    std::sort(sorted.begin(), sorted.end());
    order_.reserve(size), keys_.reserve(size), points_.reserve(size * axes);
    for (const auto &[key, i] : sorted) {
        order_.push_back(i), keys_.push_back(key);
        points_.insert(points_.end(), points + i * axes, points + (i + 1) * axes);
    }
    cells_.reserve(size / 2 + 1);
    if (size > 0) build(0, size, levels - 1);
    for (std::size_t c = 0; c < cells_.size();) {
        const Cell &cell = cells_[c];
        if (cell.end - cell.begin > GROUP && !cell.leaf) {
            ++c;
            continue;
        }
        for (std::int64_t begin = cell.begin; begin < cell.end; begin += GROUP)
            groups_.push_back({begin, std::min(begin + GROUP, cell.end)});
        c = cell.after;
    }
}

Octree::Box Octree::box(std::int64_t begin, std::int64_t end) const {
    Box box;
    for (int a = 0; a < axes_; ++a) {
        box.low[a] = box.high[a] = points_[begin * axes_ + a], box.sum[a] = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const double y = points_[i * axes_ + a];
            box.low[a] = std::min(box.low[a], y), box.high[a] = std::max(box.high[a], y), box.sum[a] += y;
        }
    }
    return box;
}

// A cell and those below it, by the bits of a level of the keys and the levels after it.
Octree::Box Octree::build(std::int64_t begin, std::int64_t end, int level) {
    const auto part = [&](std::int64_t i) { return keys_[i] >> (level * axes_); };
    while (level >= 0 && part(begin) == part(end - 1)) --level;  // all in one part
    const std::size_t number = cells_.size();
    const bool leaf = end - begin <= LEAF || level < 0;
    cells_.push_back({});
    Box whole;
    if (leaf) {
        whole = box(begin, end);
    } else {
        bool first = true;
        for (std::int64_t from = begin; from < end;) {
            const auto behind = std::upper_bound(keys_.begin() + from, keys_.begin() + end, keys_[from],
                                                 [&](std::uint64_t a, std::uint64_t b) {
                                                     return a >> (level * axes_) < b >> (level * axes_);
                                                 });
            const std::int64_t to = behind - keys_.begin();
            const Box one = build(from, to, level - 1);
            for (int a = 0; a < axes_; ++a) {
                whole.low[a] = first ? one.low[a] : std::min(whole.low[a], one.low[a]);
                whole.high[a] = first ? one.high[a] : std::max(whole.high[a], one.high[a]);
                whole.sum[a] = first ? one.sum[a] : whole.sum[a] + one.sum[a];
            }
            first = false;
            from = to;
        }
    }
    Cell &cell = cells_[number];
    cell.begin = begin, cell.end = end, cell.leaf = leaf, cell.mass = static_cast<double>(end - begin);
    cell.after = static_cast<std::int64_t>(cells_.size()), cell.width = 0;
    for (int a = 0; a < axes_; ++a) {
        cell.center[a] = whole.sum[a] / cell.mass;
        cell.width = std::max(cell.width, whole.high[a] - whole.low[a]);
    }
    if (!(cell.width > 0))  // equal points: their mean is they themselves
        for (int a = 0; a < axes_; ++a) cell.center[a] = whole.low[a];
    return whole;
}

void Octree::list(const Group &group, double theta, List &out) const {
    for (auto &centers : out.centers) centers.clear();
    out.masses.clear();
    const Box near = box(group.begin, group.end);
    const auto add = [&](const double *center, double mass) {
        for (int a = 0; a < axes_; ++a) out.centers[a].push_back(center[a]);
        out.masses.push_back(mass);
    };
    for (std::int64_t c = 0; c < static_cast<std::int64_t>(cells_.size());) {
        const Cell &cell = cells_[c];
        double squared = 0;
        for (int a = 0; a < axes_; ++a) {
            const double gap = std::max({near.low[a] - cell.center[a], cell.center[a] - near.high[a], 0.0});
            squared += gap * gap;
        }
        if (cell.width * cell.width <= theta * theta * squared || !(cell.width > 0)) {
            add(cell.center, cell.mass);
            c = cell.after;
        } else if (cell.leaf) {
            for (std::int64_t i = cell.begin; i < cell.end; ++i) add(points_.data() + i * axes_, 1);
            c = cell.after;
        } else {
            ++c;
        }
    }
    const double nowhere[3] = {};
    while (out.masses.size() % LANES != 0) add(nowhere, 0);
}

}  // namespace mlcli
