// What Fourier transforms of one length are made with: radices, factors on the unit circle, an order of frequencies.
#pragma once
#include <cstdint>

namespace mlcli {

constexpr int FOLD = 16;  // numbers of eight complex ones side by side: their real parts, then their imaginary ones

// Of 2M numbers, as two of M each: of even frequencies and, after turns, of odd ones.
struct Transform {
    std::int64_t half;             // M
    const std::int32_t *radices;   // 2 to 5, with the product M
    int stages;
    const double *twiddles;        // of each stage of n numbers: exp(-2πi jk / n) for j below n / radix and k from 1 on
    const double *turns;           // exp(-2πi j / 2M), M of them
    const std::int32_t *position;  // of each frequency, 2M of them
};

}  // namespace mlcli
