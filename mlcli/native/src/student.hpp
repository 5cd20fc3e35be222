// Student's kernel of neighbor embeddings, k = (1 + d²/α)^-α: forces among all pairs of points, and along a graph.
#pragma once
#include "elementary.hpp"

namespace mlcli::LEVEL {

using Point = Lanes<double>;
constexpr int SIDE_BY_SIDE = 2;  // rows that share what is loaded, and a division with its rounding
constexpr int HELD = 16;               // axes whose sums stay in vectors, where their number is not known
constexpr int CHUNK = 64;              // entries of a row that are copied at once
constexpr int LOTS = 8;                // and that are summed side by side
constexpr int AHEAD = 4;               // rows between one whose entries are requested and one that is summed

// The kernel, and the kernel over 1 + d²/α, of some numbers 1 + d²/α; one degree of freedom costs a division for all.
template <bool ONE, int N>
INLINE void kernel_of(const Point::V *stretched, double dof, Point::V *kernel, Point::V *pull) {
    using V = Point::V;
    if constexpr (ONE) {
        V inverse[N];
        if constexpr (N == 4) {
            const V left = stretched[0] * stretched[1], right = stretched[2] * stretched[3];
            const V both = Point::fill(1) / (left * right), first = both * right, second = both * left;
            inverse[0] = first * stretched[1], inverse[1] = first * stretched[0];
            inverse[2] = second * stretched[3], inverse[3] = second * stretched[2];
        } else if constexpr (N == 2) {
            const V both = Point::fill(1) / (stretched[0] * stretched[1]);
            inverse[0] = both * stretched[1], inverse[1] = both * stretched[0];
        } else {
            for (int r = 0; r < N; ++r) inverse[r] = Point::fill(1) / stretched[r];
        }
        for (int r = 0; r < N; ++r) kernel[r] = inverse[r], pull[r] = inverse[r] * inverse[r];
    } else {
        constexpr int size = N * Point::width;
        double from[size], powers[size], inverses[size];
        for (int r = 0; r < N; ++r) Point::store(from + r * Point::width, stretched[r]);
        // Loops become vectors if they have no branches and are not laid out in full.
#pragma GCC unroll 1
        for (int k = 0; k < size; ++k) powers[k] = -dof * logarithm(from[k], inverses[k]);
#pragma GCC unroll 1
        for (int k = 0; k < size; ++k) powers[k] = powers[k] > -708 ? powers[k] : -708;
#pragma GCC unroll 1
        for (int k = 0; k < size; ++k) powers[k] = exponential_in_range(powers[k]);
        for (int r = 0; r < N; ++r) {
            kernel[r] = Point::load(powers + r * Point::width);
            pull[r] = kernel[r] * Point::load(inverses + r * Point::width);
        }
    }
}

// Forces on rows from all of `size` sources, whose coordinates lie axis by axis (axes x stride), once each or `masses`
// times, which are zero up to a whole vector; `forces` (rows x axes) and `totals`, the sums of the kernel, are added to.
// N rows share divisions, and so the rounding of these.
template <int AXES, bool ONE, bool WEIGHED, int N>
static void repel(const double *rows, std::int64_t count, const double *sources, std::int64_t stride, std::int64_t size,
                  const double *masses, double dof, double *forces, double *totals) {
    using V = Point::V;
    constexpr int W = Point::width;
    const V one = Point::fill(1), scale = Point::fill(1 / dof);
    for (std::int64_t i = 0; i < count; i += N) {
        V own[N][AXES];
        Line<double> all[N][AXES + 1];  // forces, and the kernel
        for (int r = 0; r < N; ++r) {
            const double *row = rows + (i + r < count ? i + r : count - 1) * AXES;
            for (int a = 0; a < AXES; ++a) own[r][a] = Point::fill(row[a]);
        }
        for (int part = 0; part < Line<double>::parts; ++part) {  // one after the other: registers are few
            V sums[N][AXES], total[N];
            for (int r = 0; r < N; ++r) {
                total[r] = Point::fill(0);
                for (int a = 0; a < AXES; ++a) sums[r][a] = Point::fill(0);
            }
            for (std::int64_t j = part * W; j < size; j += Line<double>::size) {
                V gaps[N][AXES], stretched[N], kernel[N], pull[N], other[AXES];
                for (int a = 0; a < AXES; ++a) other[a] = Point::load(sources + a * stride + j);
                for (int r = 0; r < N; ++r) {
                    V squared = Point::fill(0);
                    for (int a = 0; a < AXES; ++a) {
                        gaps[r][a] = own[r][a] - other[a];
                        squared = a == 0 ? gaps[r][a] * gaps[r][a] : squared + gaps[r][a] * gaps[r][a];
                    }
                    stretched[r] = ONE ? squared + one : squared * scale + one;
                }
                kernel_of<ONE, N>(stretched, dof, kernel, pull);
                if (WEIGHED || size - j < W) {
                    double weights[W];
                    for (int l = 0; l < W; ++l) weights[l] = j + l < size ? 1 : 0;
                    const V weight = Point::load(WEIGHED ? masses + j : weights);
                    for (int r = 0; r < N; ++r) kernel[r] = kernel[r] * weight, pull[r] = pull[r] * weight;
                }
                for (int r = 0; r < N; ++r) {
                    total[r] = total[r] + kernel[r];
                    for (int a = 0; a < AXES; ++a) sums[r][a] = sums[r][a] + pull[r] * gaps[r][a];
                }
            }
            for (int r = 0; r < N; ++r) {
                all[r][AXES].part[part] = total[r];
                for (int a = 0; a < AXES; ++a) all[r][a].part[part] = sums[r][a];
            }
        }
        for (int r = 0; r < N && i + r < count; ++r) {
            totals[i + r] += sum_of(all[r][AXES]);
            for (int a = 0; a < AXES; ++a) forces[(i + r) * AXES + a] += sum_of(all[r][a]);
        }
    }
}

// The same for any number of axes, one row at a time.
template <bool ONE>
static void repel_any(const double *rows, std::int64_t count, const double *sources, std::int64_t stride,
                      std::int64_t size, int axes, double dof, double *forces, double *totals) {
    using V = Point::V;
    constexpr int W = Point::width;
    const V one = Point::fill(1), scale = Point::fill(1 / dof);
    for (std::int64_t i = 0; i < count; ++i) {
        const double *own = rows + i * axes;
        Line<double> sums[HELD + 1];  // of the first axes, and of the kernel
        for (auto &sum : sums) sum = fill_line(0.0);
        for (std::int64_t line = 0; line < size; line += Line<double>::size) {
            Line<double> pulls = fill_line(0.0);
            for (int p = 0; p < Line<double>::parts && line + p * W < size; ++p) {
                const std::int64_t j = line + p * W;
                V squared = Point::fill(0), kernel, pull;
                for (int a = 0; a < axes; ++a) {
                    const V gap = Point::fill(own[a]) - Point::load(sources + a * stride + j);
                    squared = squared + gap * gap;
                }
                const V stretched = squared * scale + one;
                kernel_of<ONE, 1>(&stretched, dof, &kernel, &pull);
                if (size - j < W) {
                    double weights[W];
                    for (int l = 0; l < W; ++l) weights[l] = j + l < size ? 1 : 0;
                    kernel = kernel * Point::load(weights), pull = pull * Point::load(weights);
                }
                sums[HELD].part[p] = sums[HELD].part[p] + kernel;
                pulls.part[p] = pull;
            }
            for (int a = 0; a < axes; ++a) {
                Line<double> forced = fill_line(0.0);
                for (int p = 0; p < Line<double>::parts && line + p * W < size; ++p)
                    forced.part[p] = pulls.part[p] * (Point::fill(own[a]) - Point::load(sources + a * stride + line + p * W));
                if (a >= HELD) forces[i * axes + a] += sum_of(forced);
                else for (int p = 0; p < Line<double>::parts; ++p) sums[a].part[p] = sums[a].part[p] + forced.part[p];
            }
        }
        totals[i] += sum_of(sums[HELD]);
        for (int a = 0; a < axes && a < HELD; ++a) forces[i * axes + a] += sum_of(sums[a]);
    }
}

static void repel_rows(const double *rows, std::int64_t count, const double *sources, std::int64_t stride,
                       std::int64_t size, const double *masses, int axes, double dof, double *forces, double *totals) {
#define ARGUMENTS rows, count, sources, stride, size, masses, dof, forces, totals
#define REPEL(AXES)                                                                                                    \
    if (axes == AXES && masses == nullptr && count == 1)                                                               \
        return dof == 1 ? repel<AXES, true, false, 1>(ARGUMENTS) : repel<AXES, false, false, 1>(ARGUMENTS);            \
    if (axes == AXES && masses == nullptr)                                                                             \
        return dof == 1 ? repel<AXES, true, false, SIDE_BY_SIDE>(ARGUMENTS)                                            \
                        : repel<AXES, false, false, SIDE_BY_SIDE>(ARGUMENTS);                                          \
    if (axes == AXES)                                                                                                  \
        return dof == 1 ? repel<AXES, true, true, SIDE_BY_SIDE>(ARGUMENTS)                                             \
                        : repel<AXES, false, true, SIDE_BY_SIDE>(ARGUMENTS);
    REPEL(1) REPEL(2) REPEL(3)
#undef REPEL
#undef ARGUMENTS
    dof == 1 ? repel_any<true>(rows, count, sources, stride, size, axes, dof, forces, totals)
             : repel_any<false>(rows, count, sources, stride, size, axes, dof, forces, totals);
}

// Forces on a point along entries of its row, and the sum of -values log k. Coordinates are copied first, one by one:
// that takes less time than to gather them.
template <int AXES, class T>
static double attract(const std::int32_t *indices, const T *values, std::int64_t size, const double *points,
                      const double *own, double dof, double *force) {
    const double scale = 1 / dof;
    double energies[LOTS] = {}, sums[AXES][LOTS] = {};
    for (std::int64_t begin = 0; begin < size; begin += CHUNK) {
        const int there = size - begin < CHUNK ? static_cast<int>(size - begin) : CHUNK;
        double others[AXES][CHUNK + LOTS], weights[CHUNK + LOTS];
        for (int e = 0; e < there; ++e) {
            std::int64_t at = static_cast<std::int64_t>(indices[begin + e]) * AXES;
            asm("" : "+r"(at));  // the compiler would gather
            for (int a = 0; a < AXES; ++a) others[a][e] = points[at + a];
        }
        for (int e = 0; e < there; ++e) weights[e] = values[begin + e];
        for (int l = 0; l < LOTS; ++l) {
            weights[there + l] = 0;
            for (int a = 0; a < AXES; ++a) others[a][there + l] = own[a];
        }
        for (int e = 0; e < there; e += LOTS) {
            double gaps[AXES][LOTS], logs[LOTS], inverse[LOTS];
            for (int l = 0; l < LOTS; ++l) {
                double squared = 0;
                for (int a = 0; a < AXES; ++a) {
                    gaps[a][l] = own[a] - others[a][e + l];
                    squared += gaps[a][l] * gaps[a][l];
                }
                logs[l] = logarithm(1 + squared * scale, inverse[l]);
            }
            for (int l = 0; l < LOTS; ++l) energies[l] += weights[e + l] * logs[l];
            for (int l = 0; l < LOTS; ++l) inverse[l] *= weights[e + l];
            for (int a = 0; a < AXES; ++a)
                for (int l = 0; l < LOTS; ++l) sums[a][l] += inverse[l] * gaps[a][l];
        }
    }
    double energy = 0;
    for (int l = 0; l < LOTS; ++l) energy += energies[l];
    for (int a = 0; a < AXES; ++a)
        for (int l = 0; l < LOTS; ++l) force[a] += sums[a][l];
    return energy * dof;
}

// The same for any number of axes.
template <class T>
static double attract_any(const std::int32_t *indices, const T *values, std::int64_t size, const double *points,
                          int axes, const double *own, double dof, double *force) {
    double energy = 0;
    for (std::int64_t e = 0; e < size; ++e) {
        const double *other = points + static_cast<std::int64_t>(indices[e]) * axes;
        double squared = 0;
        for (int a = 0; a < axes; ++a) squared += (own[a] - other[a]) * (own[a] - other[a]);
        double inverse;
        energy += values[e] * logarithm(1 + squared / dof, inverse);
        for (int a = 0; a < axes; ++a) force[a] += values[e] * inverse * (own[a] - other[a]);
    }
    return energy * dof;
}

// The same for `count` chosen rows; `forces` and `energies` hold a place for every row. What the next rows need is
// requested meanwhile, as they lie anywhere in memory. False where an index is `rows` or more.
template <class T>
static bool attract_rows(const std::int64_t *starts, const std::int32_t *indices, const T *values,
                         const double *points, std::int64_t rows, int axes, double dof, const std::int64_t *chosen,
                         std::int64_t count, double *forces, double *energies) {
    for (std::int64_t at = 0; at < count; ++at) {
        if (at + 2 * AHEAD < count) {
            const std::int64_t later = chosen[at + 2 * AHEAD];
            __builtin_prefetch(starts + later), __builtin_prefetch(points + later * axes);
            __builtin_prefetch(forces + later * axes, 1), __builtin_prefetch(energies + later, 1);
        }
        if (at + AHEAD < count) {
            const std::int64_t next = chosen[at + AHEAD];
            for (std::int64_t e = starts[next]; e < starts[next + 1]; e += 16) {  // numbers of four bytes in a line
                __builtin_prefetch(indices + e);
                for (std::size_t part = 0; part < sizeof(T) / 4; ++part)
                    __builtin_prefetch(values + e + part * (64 / sizeof(T)));
            }
        }
        if (at + 1 < count)
            for (std::int64_t e = starts[chosen[at + 1]]; e < starts[chosen[at + 1] + 1]; ++e)
                __builtin_prefetch(points + static_cast<std::int64_t>(indices[e]) * axes);
        const std::int64_t row = chosen[at], start = starts[row], size = starts[row + 1] - start;
        std::uint32_t most = 0;  // negative numbers are large ones
        for (std::int64_t e = start; e < start + size; ++e)
            most = most > static_cast<std::uint32_t>(indices[e]) ? most : static_cast<std::uint32_t>(indices[e]);
        if (size > 0 && most >= rows) return false;
        double *force = forces + row * axes;
        const double *own = points + row * axes;
        for (int a = 0; a < axes; ++a) force[a] = 0;
        const std::int32_t *others = indices + start;
        energies[row] = axes == 1   ? attract<1>(others, values + start, size, points, own, dof, force)
                        : axes == 2 ? attract<2>(others, values + start, size, points, own, dof, force)
                        : axes == 3 ? attract<3>(others, values + start, size, points, own, dof, force)
                                    : attract_any(others, values + start, size, points, axes, own, dof, force);
    }
    return true;
}

}  // namespace mlcli::LEVEL
