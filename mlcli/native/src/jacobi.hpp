// Jacobi's rotations of a small symmetric matrix.
#pragma once
#include <cstdint>

namespace mlcli {

// One sweep: rotations that make each entry beside the diagonal zero once, in `turns` of size / 2 disjoint pairs, which
// `pairs` holds one after the other. Both `matrix` and `rows` are size x size; to the rows of `rows` each rotation is
// applied from the left. The arithmetic is that of `symmetric_eigen` without kernels, to the last bit.
void jacobi_sweep(double *matrix, double *rows, std::int64_t size, const std::int64_t *pairs, std::int64_t turns);

}  // namespace mlcli
