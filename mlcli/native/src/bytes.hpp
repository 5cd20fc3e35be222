// Products of rows of bytes, where the machine has instructions for them: AVX-512 VNNI, or products of 16-bit numbers.
#pragma once
#include <cstdint>

namespace mlcli {

constexpr std::int32_t MIDDLE = 128;  // taken from bytes without a sign, so that those of one side have one

struct ByteKernels {
    std::int64_t (*scratch)(std::int64_t others, std::int64_t words);  // numbers of `scratch`
    // xᵀ y of rows x (count x words, each of four bytes less MIDDLE) with rows y (others x words) whose bytes have the
    // sums `sums`, in `out` (count x others). Exact, but for the rounding of sums to single precision.
    void (*products)(const std::int32_t *rows, std::int64_t count, const std::int32_t *right, std::int64_t others,
                     std::int64_t words, const std::int32_t *sums, float *out, std::int32_t *scratch);
};

const ByteKernels *byte_kernels();  // null where the machine, or the level chosen, has none

}  // namespace mlcli
