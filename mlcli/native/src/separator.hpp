// Vertex separators of two sides, found by growing one side and improved by moves of single vertices.
#pragma once
#include "web.hpp"

namespace mlcli {

constexpr std::int8_t LEFT = 0, RIGHT = 1, BETWEEN = 2, OUTSIDE = 3;
using Sides = std::vector<std::int8_t>;  // of each vertex

// The weights of both sides and of the separator between them.
struct Cut {
    std::int64_t weights[3] = {0, 0, 0};

    double cost() const;  // small for a light separator of sides that are not too unequal
    void move(std::int64_t weight, std::int8_t from, std::int8_t to) {
        weights[from] -= weight;
        weights[to] += weight;
    }
};

// Moves vertices of a separator to a side, and their neighbors on the other side into it, as long as that makes it
// lighter, and a few moves further (Fiduccia and Mattheyses, 1982; Ashcraft and Liu, 1994).
class Refinement {
public:
    explicit Refinement(const Web &web);
    // `between` lists the vertices of the separator; no vertex OUTSIDE is touched.
    void improve(Sides &side, Ints &between, Cut &cut, int patience);

private:
    struct Candidate {
        std::int32_t gain, vertex;
        bool operator<(const Candidate &other) const {
            return gain != other.gain ? gain < other.gain : vertex < other.vertex;
        }
    };
    struct Move {
        std::int32_t vertex;
        std::int8_t from;
    };
    const Web &web_;
    Ints gains_[2];  // of moving a vertex of the separator to a side
    Ints moved_;     // the last pass in which a vertex left the separator
    std::int32_t pass_ = 0;
    std::vector<Candidate> heaps_[2];
    std::vector<Move> log_;

    bool pass(Sides &side, Ints &between, Cut &cut, int patience);
    void weigh(const Sides &side, std::int32_t v);
    void push(int to, std::int32_t v);
    void pop(int to);
    void drop_stale(const Sides &side, int to);
    int choose(const Cut &cut) const;  // a side, or -1 where there is no move
    void move(Sides &side, std::int32_t v, std::int8_t to, Cut &cut);
};

Sides separated(const Web &web, std::uint64_t seed);  // by a small separator, if there is one

}  // namespace mlcli
