// An order of elimination by nested dissection (George, 1973): vertices of one part, of another, then of the separator
// between them, and so on in the parts.
#pragma once
#include "separator.hpp"

namespace mlcli {

// Separators are found in a graph of clusters, contracted once for all of them, and improved in the graph itself.
class Dissection {
public:
    explicit Dissection(Web web);  // finds the separators of the largest parts

    std::int32_t parts() const { return static_cast<std::int32_t>(parts_.size()); }
    void order_part(std::int32_t number);  // at the same time as other parts
    const Web &web() const { return web_; }
    const Ints &order() const { return order_; }  // after all parts

private:
    struct Node {
        std::int32_t left = -1, right = -1, end = 0;  // its parts and what follows them: nodes of a part are an interval
    };
    // A part of the graph of clusters, and the places that its vertices have in the order.
    struct Part {
        Web web;
        Ints clusters;
        std::uint64_t seed;
        std::int32_t node, from, to;
    };
    // The division of a part, or of all.
    struct Work {
        Work(const Dissection &whole, int depth);
        std::vector<Node> tree;
        Ints label;  // of each cluster, the node that it belongs to, or -1
        int depth;   // divisions before parts are left to tasks, -1: all
        Refinement refinement;
        Ints scratch;  // a number for each vertex
    };
    Web web_;
    Ints cluster_;  // of each vertex
    std::int32_t clusters_ = 0;
    Sides side_;
    Ints order_;
    std::vector<Part> parts_;

    void divide(const Web &web, const Ints &clusters, std::uint64_t seed, int depth, Work &work);
    void refine(std::int32_t node, std::int32_t from, std::int32_t to, Work &work);
    void arrange(const Node &node, std::int32_t from, std::int32_t to, Work &work, std::int32_t *ends);
};

// Places an order of some vertices by the least degree in the graph that remains (Tinney and Walker, 1967). Vertices
// elsewhere count, as they are eliminated later. `scratch` holds a number for each vertex.
void order_by_degree(const Web &web, std::int32_t *order, std::int32_t size, Ints &scratch);

}  // namespace mlcli
