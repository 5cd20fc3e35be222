// Random whole numbers that are the same on every machine: a linear congruential generator (Knuth's MMIX).
#pragma once
#include <cstdint>

namespace mlcli {

class Chance {
public:
    explicit Chance(std::uint64_t seed) : state_(seed) {}
    std::int32_t below(std::int32_t limit) {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::int32_t>((state_ >> 33) % static_cast<std::uint64_t>(limit));
    }

private:
    std::uint64_t state_;
};

}  // namespace mlcli
