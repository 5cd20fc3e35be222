// An order of elimination by nested dissection: see the header.
#include "dissection.hpp"

#include <algorithm>
#include <numeric>

namespace mlcli {
namespace {

constexpr std::int32_t WHOLE = 200;        // vertices of a part that is not divided
constexpr int DEPTH = 4;                   // divisions before parts are left to tasks
constexpr int WITHOUT_GAIN = 30;           // moves without gain before a pass ends
constexpr std::int32_t FEW = 4, MANY = 8;  // vertices of a cluster
constexpr std::int64_t SPARSE = 20;        // neighbors of a vertex, on average, up to which a cluster has few

}  // namespace

Dissection::Work::Work(const Dissection &whole, int depth)
    : label(whole.clusters_, -1), depth(depth), refinement(whole.web_), scratch(depth < 0 ? whole.web_.vertices : 0) {}

Dissection::Dissection(Web web) : web_(std::move(web)), side_(web_.vertices, OUTSIDE), order_(web_.vertices) {
    const bool sparse = static_cast<std::int64_t>(web_.joined.size()) <= SPARSE * web_.vertices;
    Contraction to = mlcli::clusters(web_, sparse ? FEW : MANY);
    const Web coarse = contracted(web_, to);
    cluster_ = std::move(to.into);
    clusters_ = coarse.vertices;
    std::iota(order_.begin(), order_.end(), 0);
    Ints all(clusters_);
    std::iota(all.begin(), all.end(), 0);
    Work work(*this, DEPTH);
    divide(coarse, all, 1, DEPTH, work);
    refine(0, 0, web_.vertices, work);
}

void Dissection::order_part(std::int32_t number) {
    Part &part = parts_[number];
    Work work(*this, -1);
    divide(part.web, part.clusters, part.seed, -1, work);
    refine(0, part.from, part.to, work);
    part.web = Web();
}

// Divides a graph of clusters, and what comes of it.
void Dissection::divide(const Web &web, const Ints &clusters, std::uint64_t seed, int depth, Work &work) {
    const auto node = static_cast<std::int32_t>(work.tree.size());
    work.tree.emplace_back();
    for (const std::int32_t c : clusters) work.label[c] = node;
    Ints members[2];
    Web sides[2];
    if (depth != 0 && web.total() > WHOLE) {
        const Sides side = separated(web, seed);
        for (std::int8_t s = 0; s < 2; ++s) sides[s] = part(web, side, s, members[s]);
    }
    if (members[0].empty() || members[1].empty()) {
        if (work.depth >= 0) parts_.push_back({web, clusters, seed, node, 0, 0});
    } else {
        for (std::int32_t s = 0; s < 2; ++s) {
            for (std::int32_t &c : members[s]) c = clusters[c];
            (s == 0 ? work.tree[node].left : work.tree[node].right) = static_cast<std::int32_t>(work.tree.size());
            divide(sides[s], members[s], 2 * seed + s, depth - 1, work);
        }
    }
    work.tree[node].end = static_cast<std::int32_t>(work.tree.size());
}

// Improves the separator of a node in the graph itself and arranges its vertices, then does so in its parts.
void Dissection::refine(std::int32_t node, std::int32_t from, std::int32_t to, Work &work) {
    const Node own = work.tree[node];
    if (own.left == -1 && work.depth < 0) {
        order_by_degree(web_, order_.data() + from, to - from, work.scratch);
    } else if (own.left == -1) {
        auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part &p) { return p.node == node; });
        part->from = from;
        part->to = to;
    } else {
        std::int32_t ends[2];
        arrange(own, from, to, work, ends);
        refine(own.left, from, ends[LEFT], work);
        refine(own.right, ends[LEFT], ends[RIGHT], work);
    }
}

// The vertices of both sides, which end at two places, then those of the separator.
void Dissection::arrange(const Node &node, std::int32_t from, std::int32_t to, Work &work, std::int32_t *ends) {
    Cut cut;
    Ints between, members[3];
    for (std::int32_t i = from; i < to; ++i) {
        const std::int32_t v = order_[i], label = work.label[cluster_[v]];
        side_[v] = label < node.left ? BETWEEN : label < node.right ? LEFT : label < node.end ? RIGHT : BETWEEN;
        ++cut.weights[side_[v]];
        if (side_[v] == BETWEEN) between.push_back(v);
    }
    work.refinement.improve(side_, between, cut, WITHOUT_GAIN);
    for (std::int32_t i = from; i < to; ++i) members[side_[order_[i]]].push_back(order_[i]);
    std::int32_t *next = order_.data() + from;
    for (const Ints &some : members) next = std::copy(some.begin(), some.end(), next);
    for (std::int32_t i = from; i < to; ++i) side_[order_[i]] = OUTSIDE;
    ends[LEFT] = from + static_cast<std::int32_t>(members[LEFT].size());
    ends[RIGHT] = ends[LEFT] + static_cast<std::int32_t>(members[RIGHT].size());
}

}  // namespace mlcli
