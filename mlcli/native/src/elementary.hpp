// Exponentials and logarithms without branches, so that loops over them become vectors. They are sums and products in a
// fixed order: those of the C library differ between processors. core/arithmetic.py has the same, number by number.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

// The nearest power of two times the series of what is left of x, from -708 to 709 (single precision: -87 to 88).
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

// The same with products that are rounded together with sums, in half the time, for kernels of spectral methods.
INLINE double fused_exponential(double x) {
    const double rounded = fused(x, 1.4426950408889634074, 6755399441055744.0), n = rounded - 6755399441055744.0;
    const double r = fused(n, -1.90821492927058770002e-10, fused(n, -0.693147180369123816490, x));
    double sum = 1.0 / 6227020800;
    sum = fused(sum, r, 1.0 / 479001600);
    sum = fused(sum, r, 1.0 / 39916800);
    sum = fused(sum, r, 1.0 / 3628800);
    sum = fused(sum, r, 1.0 / 362880);
    sum = fused(sum, r, 1.0 / 40320);
    sum = fused(sum, r, 1.0 / 5040);
    sum = fused(sum, r, 1.0 / 720);
    sum = fused(sum, r, 1.0 / 120);
    sum = fused(sum, r, 1.0 / 24);
    sum = fused(sum, r, 1.0 / 6);
    sum = fused(sum, r, 0.5);
    sum = fused(sum, r, 1.0);
    sum = fused(sum, r, 1.0);
    return sum * from_bits((bits_of(rounded) << 52) + 0x3ff0000000000000ull);
}

INLINE float fused_exponential(float x) {
    const float rounded = fused(x, 1.44269504f, 12582912.0f), n = rounded - 12582912.0f;
    const float r = fused(n, 2.12194440e-4f, fused(n, -0.693359375f, x));
    float sum = 1.0f / 5040;
    sum = fused(sum, r, 1.0f / 720);
    sum = fused(sum, r, 1.0f / 120);
    sum = fused(sum, r, 1.0f / 24);
    sum = fused(sum, r, 1.0f / 6);
    sum = fused(sum, r, 0.5f);
    sum = fused(sum, r, 1.0f);
    sum = fused(sum, r, 1.0f);
    return sum * single_of((bits_of(rounded) << 23) + 0x3f800000u);
}

// One where a number of zero or more is above a limit, else zero: by their bits, as branches are not vectorized.
INLINE std::uint64_t above(double x, double limit) { return (bits_of(limit) - bits_of(x)) >> 63; }

// The base-2 logarithm of a normal number above zero: of the mantissa by the series of atanh.
INLINE double log2_of(double x) {
    const std::uint64_t bits = bits_of(x), raised = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    const std::uint64_t high = above(from_bits(raised), 1.4142135623730951);
    const double power = from_bits(((bits >> 52) + high) | 0x4330000000000000ull) - (4503599627370496.0 + 1023.0);
    const double part = from_bits(raised - (high << 52));
    const double t = (part - 1.0) / (part + 1.0), s = t * t;
    double sum = 1.0 / 17;
    sum = sum * s + 1.0 / 15;
    sum = sum * s + 1.0 / 13;
    sum = sum * s + 1.0 / 11;
    sum = sum * s + 1.0 / 9;
    sum = sum * s + 1.0 / 7;
    sum = sum * s + 1.0 / 5;
    sum = sum * s + 1.0 / 3;
    sum = sum * s + 1.0;
    return power + 2.8853900817779268 * t * sum;  // 2 / log 2
}

// Two to a power, within the range of normal numbers.
INLINE double exp2_of(double y) {
    y = 0.5 * (__builtin_fabs(y + 1000.0) - __builtin_fabs(y - 1000.0));  // no further than 1000 from zero
    const double shifted = y + 6755399441055744.0;  // 1.5 * 2^52: the nearest integer is in the last bits
    const double f = (y - (shifted - 6755399441055744.0)) * 0.69314718055994531;
    double sum = 1.0 / 479001600;
    sum = sum * f + 1.0 / 39916800;
    sum = sum * f + 1.0 / 3628800;
    sum = sum * f + 1.0 / 362880;
    sum = sum * f + 1.0 / 40320;
    sum = sum * f + 1.0 / 5040;
    sum = sum * f + 1.0 / 720;
    sum = sum * f + 1.0 / 120;
    sum = sum * f + 1.0 / 24;
    sum = sum * f + 1.0 / 6;
    sum = sum * f + 0.5;
    sum = sum * f + 1.0;
    sum = sum * f + 1.0;
    return sum * from_bits((bits_of(shifted) + 1023) << 52);
}

// The logarithm of a number from 1 on and its inverse, without branches, so that loops over it become vectors: twice
// the artanh of (m - 1)/(m + 1) for the mantissa m, taken from between the roots of 1/2 and 2. One division does for
// both.
INLINE double logarithm(double x, double &inverse) {
    const std::uint64_t bits = bits_of(x) - 0x3fe6a09e667f3bcdull;  // below the root of 1/2 lies a smaller exponent
    const double exponent = from_bits(0x4330000000000000ull | (bits >> 52)) - 4503599627370496.0;
    const double m = from_bits((bits & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull);
    const double both = 1 / (x * (m + 1));
    inverse = both * (m + 1);
    const double f = (m - 1) * (both * x), s = f * f, q = s * s;
    const double low = 2.0 / 3 + s * (2.0 / 5) + q * (2.0 / 7 + s * (2.0 / 9));
    const double high = 2.0 / 11 + s * (2.0 / 13) + q * (2.0 / 15 + s * (2.0 / 17) + q * (2.0 / 19));
    return exponent * 0.69314718055994530942 + (f * 2 + f * s * (low + q * q * high));
}

constexpr std::int64_t LOT = 64;  // numbers that pass from loop to loop in the first cache: each loop becomes vectors

// Exponentials: zero below -708, and that of 709 above it. Base-2 logarithms of numbers of zero or more. Powers of two.
static void exponentials(const double *x, std::int64_t count, double *out) {
    double found[LOT];
    for (; count > 0; count -= LOT, x += LOT, out += LOT) {
        const int some = static_cast<int>(count < LOT ? count : LOT);
        for (int i = 0; i < some; ++i) found[i] = x[i] < -708 ? -708 : x[i];
        for (int i = 0; i < some; ++i) found[i] = found[i] > 709 ? 709 : found[i];
        for (int i = 0; i < some; ++i) found[i] = exponential_in_range(found[i]);
        for (int i = 0; i < some; ++i) out[i] = x[i] < -708 ? 0 : found[i];
    }
}

static void logarithms(const double *x, std::int64_t count, double *out) {
    const double infinity = __builtin_inf(), none = __builtin_nan("");
    double found[LOT], small[LOT];
    for (; count > 0; count -= LOT, x += LOT, out += LOT) {
        const int some = static_cast<int>(count < LOT ? count : LOT);
        for (int i = 0; i < some; ++i) small[i] = x[i] < __DBL_MIN__ ? 1 : 0;
        for (int i = 0; i < some; ++i) found[i] = log2_of(x[i] * (1 + small[i] * 0x1p60)) - small[i] * 60;
        for (int i = 0; i < some; ++i) found[i] = x[i] < infinity ? found[i] : x[i];
        for (int i = 0; i < some; ++i) small[i] = x[i] < 0 ? none : -infinity;
        for (int i = 0; i < some; ++i) out[i] = x[i] <= 0 ? small[i] : found[i];
    }
}

static void powers_of_two(const double *x, std::int64_t count, double *out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = exp2_of(x[i]);
}

}  // namespace mlcli::LEVEL
