#include "jacobi.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace mlcli {
namespace {

struct Rotation {
    std::int64_t first, second;
    double cosine, sine, one, other;  // the last two: entries of the diagonal after it
};

// The rotation that makes the entry of two rows zero; the entry is zero at once where it is rounding.
bool rotation_of(double *matrix, std::int64_t size, std::int64_t first, std::int64_t second, Rotation &found) {
    const double one = matrix[first * size + first], other = matrix[second * size + second];
    const double off = matrix[first * size + second];
    const double rounding = std::numeric_limits<double>::epsilon() / 4;
    if (!(std::fabs(off) > rounding * std::sqrt(std::fabs(one)) * std::sqrt(std::fabs(other)))) {
        matrix[first * size + second] = matrix[second * size + first] = 0;
        return false;
    }
    const double half = (other - one) / (2 * off);
    const double tangent = (half >= 0 ? 1.0 : -1.0) / (std::fabs(half) + std::sqrt(1 + half * half));
    const double cosine = 1 / std::sqrt(1 + tangent * tangent);
    found = {first, second, cosine, tangent * cosine, one - tangent * off, other + tangent * off};
    return true;
}

void turn_rows(double *numbers, std::int64_t size, const Rotation &by) {
    double *first = numbers + by.first * size, *second = numbers + by.second * size;
    for (std::int64_t i = 0; i < size; ++i) {
        const double upper = first[i], lower = second[i];
        first[i] = by.cosine * upper - by.sine * lower;
        second[i] = by.sine * upper + by.cosine * lower;
    }
}

}  // namespace

void jacobi_sweep(double *matrix, double *rows, std::int64_t size, const std::int64_t *pairs, std::int64_t turns) {
    std::vector<Rotation> rotations;
    for (std::int64_t turn = 0; turn < turns; ++turn, pairs += size) {
        rotations.clear();
        Rotation found;
        for (std::int64_t i = 0; i + 1 < size; i += 2)
            if (rotation_of(matrix, size, pairs[i], pairs[i + 1], found)) rotations.push_back(found);
        for (std::int64_t row = 0; row < size; ++row) {
            double *numbers = matrix + row * size;
            for (const Rotation &by : rotations) {
                const double upper = numbers[by.first], lower = numbers[by.second];
                numbers[by.first] = by.cosine * upper - by.sine * lower;
                numbers[by.second] = by.sine * upper + by.cosine * lower;
            }
        }
        for (const Rotation &by : rotations) {
            turn_rows(matrix, size, by);
            turn_rows(rows, size, by);
        }
        for (const Rotation &by : rotations) {
            matrix[by.first * size + by.first] = by.one;
            matrix[by.second * size + by.second] = by.other;
            matrix[by.first * size + by.second] = matrix[by.second * size + by.first] = 0;
        }
    }
}

}  // namespace mlcli
