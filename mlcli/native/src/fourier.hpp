// Fourier transforms of eight lines side by side, which share no number: each has the same bits at every level.
#pragma once
#include "lanes.hpp"
#include "transform.hpp"

namespace mlcli::LEVEL {

using Wave = Lanes<double>;
constexpr int SIDE = FOLD / 2;
constexpr std::int64_t WARM = 128;  // folds of 16 KiB, which the nearest cache holds
static_assert(SIDE == Line<double>::size, "the parts of a fold are lines");

struct Complex {
    Wave::V re, im;
};

INLINE Complex load(const double *from) { return {Wave::load(from), Wave::load(from + SIDE)}; }
INLINE void store(double *to, Complex z) { Wave::store(to, z.re), Wave::store(to + SIDE, z.im); }
INLINE Complex plus(Complex a, Complex b) { return {Wave::add(a.re, b.re), Wave::add(a.im, b.im)}; }
INLINE Complex minus(Complex a, Complex b) { return {Wave::subtract(a.re, b.re), Wave::subtract(a.im, b.im)}; }
INLINE Complex times(Wave::V x, Complex a) { return {Wave::multiply(x, a.re), Wave::multiply(x, a.im)}; }

// a + ib, and a - ib.
INLINE Complex ahead(Complex a, Complex b) { return {Wave::subtract(a.re, b.im), Wave::add(a.im, b.re)}; }
INLINE Complex behind(Complex a, Complex b) { return {Wave::add(a.re, b.im), Wave::subtract(a.im, b.re)}; }

// A product with a factor, or with its conjugate.
template <bool BACK> INLINE Complex turned(Complex a, Complex w) {
    const Wave::V rr = Wave::multiply(a.re, w.re), ii = Wave::multiply(a.im, w.im);
    const Wave::V ri = Wave::multiply(a.re, w.im), ir = Wave::multiply(a.im, w.re);
    if (BACK) return {Wave::add(rr, ii), Wave::subtract(ir, ri)};
    return {Wave::subtract(rr, ii), Wave::add(ir, ri)};
}
template <bool BACK> INLINE Complex turned(Complex a, const double *w) {
    return turned<BACK>(a, Complex{Wave::fill(w[0]), Wave::fill(w[1])});
}

// The transform of R numbers, or its inverse times R.
template <int R, bool BACK> INLINE void small_transform(Complex (&x)[R]) {
    const auto pair = [&x](int low, int high, Complex mean, Complex gap) __attribute__((always_inline)) {
        x[BACK ? high : low] = behind(mean, gap);
        x[BACK ? low : high] = ahead(mean, gap);
    };
    const auto sum = [](double a, Complex x, double b, Complex y) __attribute__((always_inline)) {
        return plus(times(Wave::fill(a), x), times(Wave::fill(b), y));
    };
    if constexpr (R == 2) {
        const Complex first = x[0];
        x[0] = plus(first, x[1]), x[1] = minus(first, x[1]);
    } else if constexpr (R == 3) {
        const Complex both = plus(x[1], x[2]), gap = times(Wave::fill(0.86602540378443865), minus(x[1], x[2]));
        const Complex mean = minus(x[0], times(Wave::fill(0.5), both));
        x[0] = plus(x[0], both);
        pair(1, 2, mean, gap);
    } else if constexpr (R == 4) {
        const Complex even = plus(x[0], x[2]), apart = minus(x[0], x[2]);
        const Complex odd = plus(x[1], x[3]), gap = minus(x[1], x[3]);
        x[0] = plus(even, odd), x[2] = minus(even, odd);
        pair(1, 3, apart, gap);
    } else {
        static_assert(R == 5, "radices are 2 to 5");
        constexpr double C1 = 0.30901699437494742, C2 = -0.80901699437494742;  // cosines and sines of a fifth of a turn
        constexpr double S1 = 0.95105651629515357, S2 = 0.58778525229247313;   // and of two
        const Complex outer = plus(x[1], x[4]), inner = plus(x[2], x[3]);
        const Complex wide = minus(x[1], x[4]), narrow = minus(x[2], x[3]), first = x[0];
        x[0] = plus(first, plus(outer, inner));
        pair(1, 4, plus(first, sum(C1, outer, C2, inner)), sum(S1, wide, S2, narrow));
        pair(2, 3, plus(first, sum(C2, outer, C1, inner)), sum(S2, wide, -S1, narrow));
    }
}

// A stage of blocks of R · m folds; where m is one, nothing turns.
template <int R, bool BACK, bool TURNS>
static void stage(double *z, std::int64_t blocks, std::int64_t m, const double *twiddles) {
    for (std::int64_t block = 0; block < blocks; ++block, z += R * m * FOLD)
        for (std::int64_t j = 0; j < m; ++j)
            for (int part = 0; part < SIDE; part += Wave::width) {
                double *at = z + j * FOLD + part;
                const double *factors = twiddles + 2 * (R - 1) * j;
                Complex x[R];
                UNROLL for (int k = 0; k < R; ++k) {
                    x[k] = load(at + k * m * FOLD);
                    if (BACK && TURNS && k > 0) x[k] = turned<true>(x[k], factors + 2 * (k - 1));
                }
                small_transform<R, BACK>(x);
                UNROLL for (int k = 0; k < R; ++k) {
                    if (!BACK && TURNS && k > 0) x[k] = turned<false>(x[k], factors + 2 * (k - 1));
                    store(at + k * m * FOLD, x[k]);
                }
            }
}

template <int R, bool BACK>
static void any_stage(double *z, std::int64_t blocks, std::int64_t m, const double *twiddles) {
    return m > 1 ? stage<R, BACK, true>(z, blocks, m, twiddles) : stage<R, BACK, false>(z, blocks, m, twiddles);
}

// Transforms of blocks of n folds in place, from the stage of a number on, or inverses times n. Frequencies stay in the
// order in which the stages leave them. Parts that the nearest cache holds are finished one after the other.
template <bool BACK>
static void transform(const Transform &t, double *z, std::int64_t blocks, std::int64_t n, int number,
                      const double *twiddles) {
    if (number == t.stages) return;
    const int radix = t.radices[number];
    const auto run = radix == 2 ? any_stage<2, BACK> : radix == 3 ? any_stage<3, BACK>
                   : radix == 4 ? any_stage<4, BACK> : any_stage<5, BACK>;
    const std::int64_t m = n / radix, parts = n > WARM ? radix : 1;
    if (!BACK) run(z, blocks, m, twiddles);
    for (std::int64_t part = 0; part < parts; ++part)
        transform<BACK>(t, z + part * m * FOLD, blocks * radix / parts, m, number + 1, twiddles + 2 * (radix - 1) * m);
    if (BACK) run(z, blocks, m, twiddles);
}

}  // namespace mlcli::LEVEL
