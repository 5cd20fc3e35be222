// Convolution of a grid with an even kernel, by Fourier transforms along both axes.
//
// Columns are transformed in pairs, as real and imaginary parts; of opposite frequencies, whose numbers are conjugate,
// one is kept. Lines have M / 8 + 1 strips of eight frequencies, M being half the length of a transform along the first
// axis, and each strip a fold for each column. Strips are transformed along the columns, multiplied by the spectrum of
// the kernel, and both is undone. A grid with one axis is one of sixteen columns, row by row: the transform of a long
// line is that of its columns, turns, and that of its rows (Cooley and Tukey, 1965).
#pragma once
#include "fourier.hpp"

namespace mlcli::LEVEL {

constexpr Complex NOTHING = {};

// The first stage of a transform of 2M numbers, of which one is in either half, and the last stage of its inverse.
INLINE void split(const Transform &t, Complex low, Complex high, std::int64_t place, int part, double *z) {
    store(z + place * FOLD + part, plus(low, high));
    store(z + (t.half + place) * FOLD + part, turned<false>(minus(low, high), t.turns + 2 * place));
}
INLINE Complex join(const Transform &t, const double *z, std::int64_t place, int part) {
    return plus(load(z + place * FOLD + part),
                turned<true>(load(z + (t.half + place) * FOLD + part), t.turns + 2 * place));
}

// The other stages of either half.
template <bool BACK> static void transform_halves(const Transform &t, double *z) {
    for (int odd = 0; odd < 2; ++odd) transform<BACK>(t, z + odd * t.half * FOLD, 1, t.half, 0, t.twiddles);
}

// The places of a frequency and of the opposite one.
INLINE double *own(const Transform &t, double *z, std::int64_t frequency) { return z + t.position[frequency] * FOLD; }
INLINE double *opposite(const Transform &t, double *z, std::int64_t frequency) {
    return own(t, z, frequency > 0 ? 2 * t.half - frequency : 0);
}

// Eight folds become eight others: of the first numbers of each, of the second, and so on.
INLINE void turn_folds(const double *from, double *to) {
    for (int half = 0; half < FOLD; half += SIDE)
        for (int i = 0; i < SIDE; i += 2)
            for (int j = half; j < half + SIDE; j += 2) {
                const double *first = from + i * FOLD + j, *second = first + FOLD;
                double *over = to + (j - half) * FOLD + half + i, *below = over + FOLD;
#if defined(__SSE2__)
                const __m128d a = _mm_loadu_pd(first), b = _mm_loadu_pd(second);
                _mm_storeu_pd(over, _mm_unpacklo_pd(a, b)), _mm_storeu_pd(below, _mm_unpackhi_pd(a, b));
#else
                over[0] = first[0], over[1] = second[0], below[0] = first[1], below[1] = second[1];
#endif
            }
}

// Twice the transforms of `count` real columns into lines (strips x `columns`), from a column on. `count` and `columns`
// are multiples of sixteen; there are up to 2M rows, `stride` apart. `z` holds 2M folds.
static void columns_forth(const double *grid, std::int64_t rows, std::int64_t stride, std::int64_t count,
                          const Transform &t, double *lines, std::int64_t columns, std::int64_t first, double *z) {
    alignas(64) double left[SIDE * FOLD], right[SIDE * FOLD];  // folds of eight columns, for each frequency of a strip
    for (std::int64_t column = 0; column < count; column += FOLD) {
        for (std::int64_t row = 0; row < t.half; ++row)
            for (int part = 0; part < SIDE; part += Wave::width) {
                const double *from = grid + row * stride + column + part;
                split(t, row < rows ? load(from) : NOTHING,
                      row + t.half < rows ? load(from + t.half * stride) : NOTHING, row, part, z);
            }
        transform_halves<false>(t, z);
        for (std::int64_t strip = 0; strip <= t.half / SIDE; ++strip) {
            for (int lane = 0; lane < SIDE; ++lane) {
                const std::int64_t frequency = strip * SIDE + lane < t.half ? strip * SIDE + lane : t.half;
                for (int part = 0; part < SIDE; part += Wave::width) {
                    const Complex a = load(own(t, z, frequency) + part), b = load(opposite(t, z, frequency) + part);
                    store(left + lane * FOLD + part, {Wave::add(a.re, b.re), Wave::subtract(a.im, b.im)});
                    store(right + lane * FOLD + part, {Wave::add(a.im, b.im), Wave::subtract(b.re, a.re)});
                }
            }
            double *to = lines + (strip * columns + first + column) * FOLD;
            turn_folds(left, to), turn_folds(right, to + SIDE * FOLD);
        }
    }
}

// The inverse, times 2M, of up to M rows.
static void columns_back(const double *lines, std::int64_t columns, std::int64_t first, const Transform &t,
                         double *grid, std::int64_t rows, std::int64_t stride, std::int64_t count, double *z) {
    alignas(64) double left[SIDE * FOLD], right[SIDE * FOLD];
    for (std::int64_t column = 0; column < count; column += FOLD) {
        for (std::int64_t strip = 0; strip <= t.half / SIDE; ++strip) {
            const double *from = lines + (strip * columns + first + column) * FOLD;
            turn_folds(from, left), turn_folds(from + SIDE * FOLD, right);
            for (int lane = 0; lane < SIDE && strip * SIDE + lane <= t.half; ++lane)
                for (int part = 0; part < SIDE; part += Wave::width) {
                    const Complex a = load(left + lane * FOLD + part), b = load(right + lane * FOLD + part);
                    const std::int64_t frequency = strip * SIDE + lane;
                    store(opposite(t, z, frequency) + part, {Wave::add(a.re, b.im), Wave::subtract(b.re, a.im)});
                    store(own(t, z, frequency) + part, ahead(a, b));
                }
        }
        transform_halves<true>(t, z);
        for (std::int64_t row = 0; row < rows; ++row)
            for (int part = 0; part < SIDE; part += Wave::width)
                store(grid + row * stride + column + part, join(t, z, row, part));
    }
}

// Meets a spectrum at a frequency: takes it from the real parts, or multiplies by it.
template <bool MEASURES> INLINE void meet(double *at, double *spectrum) {
    for (int part = 0; part < SIDE; part += Wave::width)
        if (MEASURES) Wave::store(spectrum + part, Wave::load(at + part));
        else store(at + part, times(Wave::load(spectrum + part), load(at + part)));
}

// A strip of up to M columns, or, to measure, of M + 1 that are one half of an even line.
template <bool MEASURES>
static void wide_strip(double *line, std::int64_t columns, const Transform &t, double *spectrum, double *z) {
    for (std::int64_t column = 0; column < t.half; ++column)
        for (int part = 0; part < SIDE; part += Wave::width) {
            const double *here = line + column * FOLD + part;
            split(t, column < columns ? load(here) : NOTHING,
                  MEASURES ? load(here + (t.half - 2 * column) * FOLD) : NOTHING, column, part, z);
        }
    transform_halves<false>(t, z);
    for (std::int64_t frequency = 0; frequency <= t.half; ++frequency) {
        double *at = own(t, z, frequency), *other = opposite(t, z, frequency);
        meet<MEASURES>(at, spectrum + frequency * SIDE);
        if (!MEASURES && other != at) meet<false>(other, spectrum + frequency * SIDE);
    }
    if (MEASURES) return;
    transform_halves<true>(t, z);
    for (std::int64_t column = 0; column < columns; ++column)
        for (int part = 0; part < SIDE; part += Wave::width)
            store(line + column * FOLD + part, join(t, z, column, part));
}

// A strip of the rows of a long line, of M columns, where column j is turned by the j-th power of a step.
template <bool MEASURES>
static void long_strip(double *line, const double *step, const Transform &t, double *spectrum, double *z) {
    double *powers = z + t.half * FOLD;
    for (int part = 0; part < SIDE; part += Wave::width)
        for (std::int64_t column = 0; column < t.half; ++column) {
            Complex power = {Wave::fill(1), Wave::fill(0)};
            if (column == 1) power = load(step + part);
            if (column > 1) power = turned<false>(load(powers + column / 2 * FOLD + part),
                                                  load(powers + (column - column / 2) * FOLD + part));
            store(powers + column * FOLD + part, power);
            store(z + column * FOLD + part, turned<false>(load(line + column * FOLD + part), power));
        }
    transform<false>(t, z, 1, t.half, 0, t.twiddles);
    for (std::int64_t frequency = 0; frequency < t.half; ++frequency)  // of even numbers among 2M
        meet<MEASURES>(own(t, z, 2 * frequency), spectrum + frequency * SIDE);
    if (MEASURES) return;
    transform<true>(t, z, 1, t.half, 0, t.twiddles);
    for (std::int64_t column = 0; column < t.half; ++column)
        for (int part = 0; part < SIDE; part += Wave::width)
            store(line + column * FOLD + part,
                  turned<true>(load(z + column * FOLD + part), load(powers + column * FOLD + part)));
}

// Strips of a grid's lines multiplied by their spectra in frequency, or measured; those of a long line have steps.
template <bool MEASURES>
static void strips(double *lines, std::int64_t columns, std::int64_t first, std::int64_t last, const Transform &t,
                   const double *steps, double *spectrum, double *z) {
    for (std::int64_t strip = first; strip < last; ++strip) {
        double *line = lines + strip * columns * FOLD;
        if (steps == nullptr) wide_strip<MEASURES>(line, columns, t, spectrum + strip * (t.half + 1) * SIDE, z);
        else long_strip<MEASURES>(line, steps + strip * FOLD, t, spectrum + strip * t.half * SIDE, z);
    }
}

}  // namespace mlcli::LEVEL
