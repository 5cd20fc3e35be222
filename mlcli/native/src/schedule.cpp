// The tasks of an elimination: stages follow one another, the tasks of a stage may run at the same time.
#include "schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace mlcli {
namespace {

constexpr double LIGHT = 3e6;  // relaxations that are not worth dividing
constexpr double SHARES = 32;   // subtrees of more than a part of all work are divided

// For each node the first node of its subtree; nodes of a subtree are an interval.
Ints subtree_starts(const std::vector<Node> &nodes) {
    Ints first(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) first[i] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].parent != -1) first[nodes[i].parent] = std::min(first[nodes[i].parent], first[i]);
    return first;
}

// A large node alone: the columns of its own rows, then the others in parts.
void divide(const Node &node, std::int32_t index, std::vector<Stage> &stages) {
    stages.push_back({{index, index, node.ups, node.ups + node.rows}});
    Stage parts;
    for (std::int32_t low = 0; low < node.ups; low += COLUMNS / 2)
        parts.push_back({index, index, low, std::min(low + COLUMNS / 2, node.ups)});
    if (!parts.empty()) stages.push_back(parts);
}

}  // namespace

std::vector<Stage> schedule(const Symbolic &symbolic) {
    const auto count = static_cast<std::int32_t>(symbolic.nodes.size());
    std::vector<double> work(count), subtree(count, 0);
    double total = 0;
    for (std::int32_t i = 0; i < count; ++i) {
        work[i] = symbolic.work(i);
        total += work[i];
        subtree[i] += work[i];
        if (symbolic.nodes[i].parent != -1) subtree[symbolic.nodes[i].parent] += subtree[i];
    }
    const double most = std::max(total / SHARES, LIGHT);
    const Ints starts = subtree_starts(symbolic.nodes);
    std::vector<Stage> stages(1);
    Ints tops;
    for (std::int32_t i = 0; i < count; ++i) {
        const std::int32_t parent = symbolic.nodes[i].parent;
        if (subtree[i] > most) tops.push_back(i);
        else if (parent == -1 || subtree[parent] > most) stages[0].push_back({starts[i], i, 0, 0});
    }
    auto weight = [&](const Task &task) { return subtree[task.last]; };
    std::sort(stages[0].begin(), stages[0].end(), [&](const Task &a, const Task &b) { return weight(a) > weight(b); });
    double pending = 0;  // small nodes at the top that stand together in the last stage
    for (const std::int32_t i : tops) {
        if (work[i] > LIGHT) {
            divide(symbolic.nodes[i], i, stages);
            pending = 0;
        } else if (pending > 0 && pending + work[i] <= LIGHT && stages.back()[0].last == i - 1) {
            stages.back()[0].last = i;
            pending += work[i];
        } else {
            stages.push_back({{i, i, 0, 0}});
            pending = work[i];
        }
    }
    return stages;
}

std::vector<std::int64_t> task_counts(const std::vector<Stage> &stages) {
    std::vector<std::int64_t> counts;
    for (const Stage &stage : stages) counts.push_back(static_cast<std::int64_t>(stage.size()));
    return counts;
}

const Task &task_at(const std::vector<Stage> &stages, std::int64_t stage, std::int64_t task) {
    if (stage < 0 || stage >= static_cast<std::int64_t>(stages.size())) throw std::invalid_argument("no such stage");
    if (task < 0 || task >= static_cast<std::int64_t>(stages[stage].size())) throw std::invalid_argument("no such task");
    return stages[stage][task];
}

}  // namespace mlcli
