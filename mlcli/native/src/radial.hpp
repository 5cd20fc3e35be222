// Functions of squared distances and their derivatives, summed over all pairs of places and points: what the repulsion of
// a layout adds to the loss of a place, its gradient and its Hessian.
#pragma once
#include "curve.hpp"
#include "elementary.hpp"

namespace mlcli::LEVEL {

// Student's kernel (1 + u/α)^-α and its derivatives; one degree of freedom takes no power.
template <bool ONE> struct StudentKernel {
    double dof;
    template <int ORDER>
    __attribute__((always_inline)) void at(double square, double &value, double &first, double &second) const {
        double inverse;
        if constexpr (ONE) {
            value = inverse = 1 / (square + 1);
        } else {
            double power = -dof * logarithm(square * (1 / dof) + 1, inverse);
            power = power > -708 ? power : -708;
            value = exponential_in_range(power);
        }
        first = -value * inverse;
        if constexpr (ORDER == 2) second = -(1 + 1 / dof) * first * inverse;
    }
};

// log((1 + a u^b) / (a u^b + ε)) with its first derivative, or its first two without it. Derivatives are zero beside an
// equal point, and one division does for both.
struct MembershipPush {
    Curve curve;
    template <int ORDER>
    __attribute__((always_inline)) void at(double square, double &value, double &first, double &second) const {
        const double there = from_bits((0 - above(square, 1e-300)) & 0x3ff0000000000000ull);
        const double inside = square + (1.0 - there);
        const double bent = there * curve.a * exp2_of(curve.b * log2_of(inside));
        const double over = 1.0 + bent, under = bent + curve.near;
        const double inverse = 1.0 / (inside * over * under), rise = curve.b * bent * inverse;
        first = rise * (curve.near - 1.0);
        if constexpr (ORDER == 2)
            second = first * ((curve.b - 1.0) * (inverse * (over * under)) - rise * (over + under));
        else
            value = log2_of(over / under) * 0.69314718055994531;
    }
};

constexpr int TERMS = 8;  // coefficients of a first derivative, in powers of what a square is below a limit; second: less one

// The derivatives of MembershipPush at squares below a limit, less polynomials of u less the limit, the highest power
// first: what a smooth function leaves of it.
struct MembershipRest {
    MembershipPush push;
    double limit;
    const double *series;
    template <int ORDER>
    __attribute__((always_inline)) void at(double square, double &value, double &first, double &second) const {
        push.template at<2>(square, value, first, second);
        const double inside = from_bits((0 - above(limit, square)) & 0x3ff0000000000000ull), below = square - limit;
        double once = series[0], twice = series[TERMS];
        for (int term = 1; term < TERMS; ++term) once = once * below + series[term];
        for (int term = 1; term < TERMS - 1; ++term) twice = twice * below + series[TERMS + term];
        first = inside * (first - once);
        second = inside * (second - twice);
    }
};

// Adds products of pairs to eight sums, or numbers where there are no others, each eighth of them to the same.
INLINE void add_pairs(const double *numbers, const double *others, double *sums) {
    using L = Lanes<double>;
    Line<double> sum;
    UNROLL for (int p = 0; p < Line<double>::parts; ++p) sum.part[p] = L::load(sums + p * L::width);
    for (int pair = 0; pair < PAIRS; pair += Line<double>::size)
        UNROLL for (int p = 0; p < Line<double>::parts; ++p) {
            const int at = pair + p * L::width;
            const L::V number = L::load(numbers + at);
            sum.part[p] = L::add(sum.part[p], others == nullptr ? number : L::multiply(number, L::load(others + at)));
        }
    UNROLL for (int p = 0; p < Line<double>::parts; ++p) L::store(sums + p * L::width, sum.part[p]);
}

// For each row: φ, φ', φ' (y - x) and, of order 2, φ'' (y - x)(y - x)ᵀ below the diagonal and on it, summed over all of
// `size` sources x, or over those of a range of each row (rows x 2), but the `own` one of each row. Coordinates of sources
// lie axis by axis (axes x stride). `scratch` holds (axes + 1) PAIRS numbers, and eight for each sum.
template <int ORDER, class Function>
static void sum_radial(const Function &function, const double *rows, std::int64_t count, const double *sources,
                       std::int64_t stride, std::int64_t size, const std::int64_t *ranges, const std::int64_t *own,
                       int axes, double *scratch, double *out) {
    const int width = 2 + axes + (ORDER == 2 ? axes * (axes + 1) / 2 : 0);
    double *gaps = scratch, *pulled = gaps + axes * PAIRS, *sums = pulled + PAIRS;
    for (std::int64_t row = 0; row < count; ++row) {
        const double *place = rows + row * axes;
        for (int sum = 0; sum < 8 * width; ++sum) sums[sum] = 0;
        const std::int64_t end = ranges == nullptr ? size : ranges[2 * row + 1];
        for (std::int64_t begin = ranges == nullptr ? 0 : ranges[2 * row]; begin < end; begin += PAIRS) {
            const int there = end - begin < PAIRS ? static_cast<int>(end - begin) : PAIRS;
            double squares[PAIRS], values[PAIRS], first[PAIRS], second[PAIRS];
            for (int axis = 0; axis < axes; ++axis) {
                const double *source = sources + axis * stride + begin;
                double *gap = gaps + axis * PAIRS;
                for (int pair = 0; pair < there; ++pair) gap[pair] = place[axis] - source[pair];
                for (int pair = there; pair < PAIRS; ++pair) gap[pair] = 0;
                for (int pair = 0; pair < PAIRS; ++pair)
                    squares[pair] = axis == 0 ? gap[pair] * gap[pair] : squares[pair] + gap[pair] * gap[pair];
            }
            for (int pair = 0; pair < PAIRS; ++pair) {
                double value = 0, once = 0, twice = 0;
                function.template at<ORDER>(squares[pair], value, once, twice);
                values[pair] = value, first[pair] = once, second[pair] = twice;
            }
            for (int pair = there; pair < PAIRS; ++pair) values[pair] = first[pair] = second[pair] = 0;
            const std::int64_t self = own[row] - begin;
            if (self >= 0 && self < there) values[self] = first[self] = second[self] = 0;
            add_pairs(values, nullptr, sums);
            add_pairs(first, nullptr, sums + 8);
            double *sum = sums + 16;
            for (int axis = 0; axis < axes; ++axis, sum += 8) add_pairs(first, gaps + axis * PAIRS, sum);
            if constexpr (ORDER == 2)
                for (int one = 0; one < axes; ++one) {
                    for (int pair = 0; pair < PAIRS; ++pair) pulled[pair] = second[pair] * gaps[one * PAIRS + pair];
                    for (int other = 0; other <= one; ++other, sum += 8)
                        add_pairs(pulled, gaps + other * PAIRS, sum);
                }
        }
        for (int sum = 0; sum < width; ++sum) {
            double total = 0;
            for (int lane = 0; lane < 8; ++lane) total += sums[8 * sum + lane];
            out[row * width + sum] = total;
        }
    }
}

#define ARGUMENTS rows, count, sources, stride, size, nullptr, own, axes, scratch, out
static void student_sums(double dof, int order, const double *rows, std::int64_t count, const double *sources,
                         std::int64_t stride, std::int64_t size, const std::int64_t *own, int axes, double *scratch,
                         double *out) {
    if (dof == 1)
        order == 2 ? sum_radial<2>(StudentKernel<true>{dof}, ARGUMENTS) : sum_radial<1>(StudentKernel<true>{dof}, ARGUMENTS);
    else
        order == 2 ? sum_radial<2>(StudentKernel<false>{dof}, ARGUMENTS) : sum_radial<1>(StudentKernel<false>{dof}, ARGUMENTS);
}

static void membership_sums(const Curve &curve, int order, const double *rows, std::int64_t count, const double *sources,
                            std::int64_t stride, std::int64_t size, const std::int64_t *own, int axes, double *scratch,
                            double *out) {
    order == 2 ? sum_radial<2>(MembershipPush{curve}, ARGUMENTS) : sum_radial<1>(MembershipPush{curve}, ARGUMENTS);
}
#undef ARGUMENTS

static void membership_rests(const Curve &curve, double limit, const double *series, const double *rows,
                             std::int64_t count, const double *sources, std::int64_t stride, std::int64_t size,
                             const std::int64_t *ranges, const std::int64_t *own, int axes, double *scratch, double *out) {
    sum_radial<2>(MembershipRest{{curve}, limit, series}, rows, count, sources, stride, size, ranges, own, axes, scratch,
                  out);
}

}  // namespace mlcli::LEVEL
