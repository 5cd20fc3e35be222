// The symbolic analysis of an elimination: nodes, their lists of ancestors, and which node feeds which.
#pragma once
#include "plan.hpp"
#include "supernodes.hpp"
#include "web.hpp"

namespace mlcli {

class Symbolic {
public:
    // `order` lists the vertices in the order of elimination; everything must have been checked.
    Symbolic(const Graph &graph, const std::int64_t *order) : vertices_(graph.vertices) { analyze(graph, order); }
    Symbolic(const Web &web, const std::int32_t *order) : vertices_(web.vertices) { analyze(web, order); }

    Plan plan() const;
    std::int64_t values() const { return values_; }  // numbers in all nodes together
    std::int64_t fill() const { return fill_; }
    std::int64_t entries() const { return entries_; }  // fill with what merging added
    std::int32_t pieces() const { return pieces_; }
    std::int64_t relaxations(int lanes) const;  // of a fold of all blocks of so many sources
    double work(std::int32_t node) const;  // relaxations to eliminate a node
    std::int64_t bytes() const;
    std::int64_t slot(std::int32_t v, std::int32_t w) const;  // where the entry of two joined vertices, or of one, stands

    void rename(const Ints &names);  // vertices, once nothing else is asked of the graph

    std::vector<Node> nodes;
    std::vector<std::uint32_t> lists;
    std::vector<Contribution> contributions;
    Longs contribution_starts;
    Ints node_of, original, position;

private:
    std::int32_t vertices_, depth_ = 0, pieces_ = 0;
    std::int64_t values_ = 0, fill_ = 0, entries_ = 0;

    template <class Links, class Index> void analyze(const Links &links, const Index *order);
    template <class Links, class Index> Groups grouped(const Links &links, const Index *order);
    Longs list_ancestors(const Groups &groups, const Adjacency &later);
    void cut_into_nodes(const Groups &groups, const Longs &list_starts);
    void find_contributions();
    void turn_lists_into_depths(const Groups &groups, const Longs &list_starts);
};

}  // namespace mlcli
