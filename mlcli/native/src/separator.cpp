// Vertex separators of two sides, found by growing one side and improved by moves of single vertices.
#include "separator.hpp"

#include <algorithm>

#include "chance.hpp"

namespace mlcli {
namespace {

constexpr double LARGER = 0.6;   // share of all weight that a side should have at most
constexpr double UNEVEN = 0.5;   // of a separator's weight, what sides cost that are not equal
constexpr double BEYOND = 4;     // what a vertex beyond the share costs
constexpr int PASSES = 4;
constexpr int COARSE = 100;      // vertices of a graph that is not contracted further
constexpr int SEEDS = 5;         // vertices from which a side is grown
constexpr int GROWN = 25, PROJECTED = 50;  // moves without gain before a pass ends

// Of the separator, the vertex whose move to the left pulls the least weight into it; its place, or -1.
std::int32_t least_pull(const Web &web, const Sides &side, const Ints &between) {
    std::int32_t best = -1;
    std::int64_t least = 0;
    for (std::size_t i = 0; i < between.size(); ++i) {
        std::int64_t pulled = -web.weight(between[i]);
        for (std::int64_t e = web.starts[between[i]]; e < web.starts[between[i] + 1]; ++e)
            if (side[web.joined[e]] == RIGHT) pulled += web.weight(web.joined[e]);
        if (best == -1 || pulled < least) {
            best = static_cast<std::int32_t>(i);
            least = pulled;
        }
    }
    return best;
}

// A side grown from a vertex until it has half the weight.
Cut grown(const Web &web, std::int32_t seed, Sides &side, Refinement &refinement) {
    side.assign(web.vertices, RIGHT);
    Cut cut;
    cut.weights[RIGHT] = web.total();
    Ints between;
    auto pull = [&](std::int32_t v) {
        if (side[v] != RIGHT) return;
        side[v] = BETWEEN;
        between.push_back(v);
        cut.move(web.weight(v), RIGHT, BETWEEN);
    };
    pull(seed);
    std::int32_t unseen = 0;
    while (2 * cut.weights[LEFT] + cut.weights[BETWEEN] < web.total()) {
        const std::int32_t place = least_pull(web, side, between);
        if (place == -1) {  // the next of several pieces
            while (unseen < web.vertices && side[unseen] != RIGHT) ++unseen;
            if (unseen == web.vertices) break;
            pull(unseen);
            continue;
        }
        const std::int32_t v = between[place];
        between.erase(between.begin() + place);
        side[v] = LEFT;
        cut.move(web.weight(v), BETWEEN, LEFT);
        for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) pull(web.joined[e]);
    }
    refinement.improve(side, between, cut, GROWN);
    return cut;
}

Cut best_grown(const Web &web, Sides &side, std::uint64_t seed) {
    Refinement refinement(web);
    Chance chance(seed);
    Sides trial;
    Cut best;
    for (int i = 0; i < SEEDS; ++i) {
        const Cut cut = grown(web, chance.below(web.vertices), trial, refinement);
        if (i > 0 && cut.cost() >= best.cost()) continue;
        best = cut;
        side = trial;
    }
    return best;
}

// Contracted until it is small, cut there, and improved at every size on the way back (Karypis and Kumar, 1998).
Cut multilevel(const Web &web, Sides &side, std::uint64_t seed) {
    if (web.vertices <= COARSE) return best_grown(web, side, seed);
    const Contraction to = matching(web, seed);
    if (to.count > web.vertices * 9ll / 10) return best_grown(web, side, seed);
    Sides coarse;
    Cut cut = multilevel(contracted(web, to), coarse, seed + 1);
    side.resize(web.vertices);
    Ints between;
    for (std::int32_t v = 0; v < web.vertices; ++v) {
        side[v] = coarse[to.into[v]];
        if (side[v] == BETWEEN) between.push_back(v);
    }
    Refinement(web).improve(side, between, cut, PROJECTED);
    return cut;
}

}  // namespace

double Cut::cost() const {
    const auto all = static_cast<double>(weights[LEFT] + weights[RIGHT] + weights[BETWEEN]);
    const auto larger = static_cast<double>(std::max(weights[LEFT], weights[RIGHT]));
    const double between = static_cast<double>(weights[BETWEEN]) * (1 + UNEVEN * larger / all);
    return between + BEYOND * std::max(0.0, larger - LARGER * all);
}

Refinement::Refinement(const Web &web)
    : web_(web), gains_{Ints(web.vertices), Ints(web.vertices)}, moved_(web.vertices, 0) {}

void Refinement::improve(Sides &side, Ints &between, Cut &cut, int patience) {
    for (int i = 0; i < PASSES && pass(side, between, cut, patience); ++i) {}
}

// One pass, in which every vertex leaves the separator once at most; false where nothing was gained.
bool Refinement::pass(Sides &side, Ints &between, Cut &cut, int patience) {
    ++pass_;
    log_.clear();
    for (auto &heap : heaps_) heap.clear();
    for (const std::int32_t v : between) {
        weigh(side, v);
        for (int to = 0; to < 2; ++to) heaps_[to].push_back({gains_[to][v], v});
    }
    for (auto &heap : heaps_) std::make_heap(heap.begin(), heap.end());
    Cut best = cut;
    std::size_t kept = 0;
    for (int idle = 0; idle <= patience;) {
        for (int to = 0; to < 2; ++to) drop_stale(side, to);
        const int to = choose(cut);
        if (to == -1) break;
        const std::int32_t v = heaps_[to].front().vertex;
        pop(to);
        move(side, v, static_cast<std::int8_t>(to), cut);
        ++idle;
        if (cut.cost() >= best.cost()) continue;
        best = cut;
        kept = log_.size();
        idle = 0;
    }
    while (log_.size() > kept) {
        side[log_.back().vertex] = log_.back().from;
        log_.pop_back();
    }
    cut = best;
    for (const Move &done : log_)
        if (done.from != BETWEEN) between.push_back(done.vertex);
    std::sort(between.begin(), between.end());
    between.erase(std::unique(between.begin(), between.end()), between.end());
    between.erase(std::remove_if(between.begin(), between.end(), [&](std::int32_t v) { return side[v] != BETWEEN; }),
                  between.end());
    return kept > 0;
}

// The gains of moving a vertex of the separator: its weight less what it pulls into the separator.
void Refinement::weigh(const Sides &side, std::int32_t v) {
    std::int32_t pulled[2] = {0, 0};
    for (std::int64_t e = web_.starts[v]; e < web_.starts[v + 1]; ++e) {
        const std::int8_t s = side[web_.joined[e]];
        if (s == LEFT || s == RIGHT) pulled[s] += web_.weight(web_.joined[e]);
    }
    gains_[LEFT][v] = web_.weight(v) - pulled[RIGHT];
    gains_[RIGHT][v] = web_.weight(v) - pulled[LEFT];
}

void Refinement::push(int to, std::int32_t v) {
    heaps_[to].push_back({gains_[to][v], v});
    std::push_heap(heaps_[to].begin(), heaps_[to].end());
}

void Refinement::pop(int to) {
    std::pop_heap(heaps_[to].begin(), heaps_[to].end());
    heaps_[to].pop_back();
}

// Leaves a candidate with its present gain at the top. Gains that grew were pushed; those that fell are seen to here.
void Refinement::drop_stale(const Sides &side, int to) {
    while (!heaps_[to].empty()) {
        const auto [gain, v] = heaps_[to].front();
        const bool open = side[v] == BETWEEN && moved_[v] != pass_;
        if (open && gains_[to][v] == gain) return;
        pop(to);
        if (open && gains_[to][v] < gain) push(to, v);
    }
}

int Refinement::choose(const Cut &cut) const {
    if (heaps_[LEFT].empty() || heaps_[RIGHT].empty()) return heaps_[LEFT].empty() ? (heaps_[RIGHT].empty() ? -1 : RIGHT) : LEFT;
    const Candidate left = heaps_[LEFT].front(), right = heaps_[RIGHT].front();
    const bool lighter = cut.weights[LEFT] <= cut.weights[RIGHT];
    const int to = left.gain != right.gain ? (left.gain > right.gain ? LEFT : RIGHT) : (lighter ? LEFT : RIGHT);
    const auto most = LARGER * static_cast<double>(cut.weights[LEFT] + cut.weights[RIGHT] + cut.weights[BETWEEN]);
    const std::int64_t grown = cut.weights[to] + web_.weight(heaps_[to].front().vertex);
    return static_cast<double>(grown) > most && cut.weights[to] > cut.weights[1 - to] ? 1 - to : to;
}

void Refinement::move(Sides &side, std::int32_t v, std::int8_t to, Cut &cut) {
    const auto away = static_cast<std::int8_t>(1 - to);
    side[v] = to;
    moved_[v] = pass_;
    log_.push_back({v, BETWEEN});
    cut.move(web_.weight(v), BETWEEN, to);
    for (std::int64_t e = web_.starts[v]; e < web_.starts[v + 1]; ++e) {
        const std::int32_t u = web_.joined[e];
        if (side[u] == BETWEEN) gains_[away][u] -= web_.weight(v);
        if (side[u] != away) continue;
        side[u] = BETWEEN;
        log_.push_back({u, away});
        cut.move(web_.weight(u), away, BETWEEN);
        weigh(side, u);
        for (std::int64_t f = web_.starts[u]; f < web_.starts[u + 1]; ++f) {
            const std::int32_t x = web_.joined[f];
            if (side[x] != BETWEEN || x == u) continue;
            gains_[to][x] += web_.weight(u);
            if (moved_[x] != pass_) push(to, x);
        }
        if (moved_[u] == pass_) continue;
        push(LEFT, u);
        push(RIGHT, u);
    }
}

Sides separated(const Web &web, std::uint64_t seed) {
    Sides side;
    multilevel(web, side, seed);
    return side;
}

}  // namespace mlcli
