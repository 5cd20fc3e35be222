// An order of elimination by the least degree in the graph that remains.
#include <algorithm>

#include "dissection.hpp"

namespace mlcli {
namespace {

constexpr std::size_t MOST_MEMBERS = 4096;  // of a part, or with those around it: beyond, the matrix of bits is too large

// The graph that remains, as a matrix of bits: rows for the vertices to order, columns for those around them too.
class Remainder {
public:
    Remainder(const Web &web, const Ints &members, std::int32_t size, const Ints &place)
        : size_(size), words_((static_cast<std::int32_t>(members.size()) + 63) / 64),
          bits_(static_cast<std::size_t>(size) * words_, 0), degrees_(size), gone_(size, 0) {
        for (std::int32_t i = 0; i < size; ++i) {
            for (std::int64_t e = web.starts[members[i]]; e < web.starts[members[i] + 1]; ++e) {
                const auto j = static_cast<std::size_t>(place[web.joined[e]]);
                if (j < members.size() && members[j] == web.joined[e]) row(i)[j / 64] |= 1ull << (j % 64);
            }
            count(i);
        }
    }
    // Joins the neighbors of a vertex of least degree, and takes it away.
    std::int32_t eliminate() {
        std::int32_t least = -1;
        for (std::int32_t i = 0; i < size_; ++i)
            if (!gone_[i] && (least == -1 || degrees_[i] < degrees_[least])) least = i;
        gone_[least] = 1;
        const std::uint64_t *own = row(least);
        for (std::int32_t i = 0; i < size_; ++i) {
            if (!(own[i / 64] >> (i % 64) & 1)) continue;
            for (std::int32_t w = 0; w < words_; ++w) row(i)[w] |= own[w];
            clear(i, i);
            clear(i, least);
            count(i);
        }
        return least;
    }

private:
    std::int32_t size_, words_;
    std::vector<std::uint64_t> bits_;
    Ints degrees_;
    std::vector<char> gone_;

    std::uint64_t *row(std::int32_t i) { return bits_.data() + static_cast<std::size_t>(i) * words_; }
    void clear(std::int32_t i, std::int32_t j) { row(i)[j / 64] &= ~(1ull << (j % 64)); }
    void count(std::int32_t i) {
        degrees_[i] = 0;
        for (std::int32_t w = 0; w < words_; ++w) {
            std::uint64_t rest = row(i)[w];
            rest -= rest >> 1 & 0x5555555555555555ull;  // ones in pairs, in fours, in bytes
            rest = (rest & 0x3333333333333333ull) + (rest >> 2 & 0x3333333333333333ull);
            degrees_[i] += static_cast<std::int32_t>(((rest + (rest >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
        }
    }
};

}  // namespace

void order_by_degree(const Web &web, std::int32_t *order, std::int32_t size, Ints &scratch) {
    Ints members(order, order + size);
    if (members.size() > MOST_MEMBERS) {
        std::stable_sort(order, order + size, [&](std::int32_t a, std::int32_t b) {
            return web.starts[a + 1] - web.starts[a] < web.starts[b + 1] - web.starts[b];
        });
        return;
    }
    for (std::int32_t i = 0; i < size; ++i) scratch[members[i]] = i;
    for (std::int32_t i = 0; i < size && members.size() < MOST_MEMBERS; ++i)
        for (std::int64_t e = web.starts[order[i]]; e < web.starts[order[i] + 1]; ++e) {
            const std::int32_t v = web.joined[e];
            const auto place = static_cast<std::size_t>(scratch[v]);
            if (place < members.size() && members[place] == v) continue;
            scratch[v] = static_cast<std::int32_t>(members.size());
            members.push_back(v);
        }
    Remainder rest(web, members, size, scratch);
    for (std::int32_t i = 0; i < size; ++i) order[i] = members[rest.eliminate()];
}

}  // namespace mlcli
