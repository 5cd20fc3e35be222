// The exponential without branches, so that loops over it become vectors.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

// The nearest power of two times the series of what is left of x, from -708 (single precision: -87) to zero.
INLINE double exponential_in_range(double x) {
    const double rounded = x * 1.4426950408889634074 + 6755399441055744.0, n = rounded - 6755399441055744.0;
    const double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double sum = 1.0 / 6227020800;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return sum * from_bits((bits_of(rounded) << 52) + 0x3ff0000000000000ull);
}

INLINE float exponential_in_range(float x) {
    const float rounded = x * 1.44269504f + 12582912.0f, n = rounded - 12582912.0f;
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float sum = 1.0f / 5040;
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return sum * single_of((bits_of(rounded) << 23) + 0x3f800000u);
}

// The exponential of any number that is not positive.
INLINE double exponential(double x) { return exponential_in_range(x > -708 ? x : -708); }

}  // namespace mlcli::LEVEL
