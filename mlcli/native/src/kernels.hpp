// The table of kernels that each instruction set provides, and the choice among them.
#pragma once
#include "bytes.hpp"
#include "curve.hpp"
#include "near.hpp"
#include "plan.hpp"
#include "span.hpp"
#include "transform.hpp"

namespace mlcli {

template <class T> constexpr int BLOCK = 256 / sizeof(T);  // sources in a block: rows of equal bytes, so that stacks fit the cache

constexpr int DIFFERENCES = 6;  // kinds of differences of rows: those of native/points.py, in that order
constexpr int AMOUNTS = 2;  // kinds of distances of amounts, likewise
constexpr int SIDES = 8;  // right sides that are solved for at once

template <class T> struct Kernels {
    std::int64_t (*factor_scratch)();  // numbers of T
    // Columns [low, high) of a node; `where` holds plan.depth integers.
    template <class N>
    using Elimination = void (*)(const Plan &, N *values, int node, int low, int high, std::uint32_t *where, N *scratch);
    using Eliminate = Elimination<T>;
    Eliminate eliminate;         // shortest ways
    Elimination<double> factor;  // the Cholesky factor of a matrix
    // Right sides (vertices x SIDES, in the order of elimination) up the tree by nodes [first, last], then down. The stack
    // (depth x SIDES) holds what is to be added to ancestors, at first zeros, on the way down the solutions of these.
    using Solve = void (*)(const Plan &, const double *values, double *sides, double *stack, int first, int last);
    Solve solve_up, solve_down;
    // Rows of distances from some sources, whose place is their position; `kept` holds vertices x BLOCK numbers.
    void (*distances)(const Plan &, const T *values, const Sources &, std::uint32_t *rows, T *stack, T *kept,
                      double *const *out);
    // Rows of a span at the columns of a strip, and the strip's rows at the columns of the span, in a matrix (vertices x
    // vertices) in the order of elimination backwards. `stack` and `standing` hold plan.depth rows and numbers, `kept` a
    // row for each of the span.
    void (*pairs)(const Plan &, const T *values, const Span &, const Strip &, T *stack, T *kept, std::int32_t *standing,
                  double *matrix);
    // Distances squared from sources at positions one after the other to those no earlier than theirs, times q (positions
    // x columns), added to `out` for both; returns the sum of fourth powers. `kept` ((vertices - first) x BLOCK) may be
    // null; `sums` is scratch.
    double (*fold)(const Plan &, const T *values, const Sources &, std::uint32_t *rows, T *stack, T *risen, const double *q,
                   int columns, const Folds &out, T *kept, double *sums);
    // Distances squared from BLOCK sources anywhere, the first `count` of which have factors (count x columns), to all
    // positions, times these, added to `out` (positions x columns); `sums` is scratch.
    void (*fold_columns)(const Plan &, const T *values, const Sources &, std::uint32_t *rows, T *stack, T *risen,
                         const double *factors, int count, int columns, double *out, double *sums);
    // A fold from the rows that another has kept.
    double (*refold)(const Plan &, T *kept, int first, int count, const double *q, int columns, const Folds &out,
                     double *sums);
    std::int64_t (*fold_scratch)(int columns);  // numbers of `sums`
    // Floyd-Warshall on a matrix of `size` rows: the rows of a pivot strip, then any other strip.
    void (*floyd_pivot)(double *matrix, std::int64_t size, std::int64_t pivot, double *scratch);
    void (*floyd_rows)(double *matrix, std::int64_t size, std::int64_t pivot, std::int64_t strip, double *scratch);
    // The `count` smallest numbers of a row by (value, index), `own` left out.
    void (*select)(const T *row, std::int64_t size, std::int64_t own, int count, T *values, std::int64_t *indices);
    // The same of what is kept already and of norms[j] - 2 row[j], each for the index first + j.
    void (*select_row)(const float *row, const float *norms, int size, std::int64_t first, std::int64_t own, int count,
                       float *values, std::int64_t *indices);
    // Of norm - 2 row[j] for the index `index`, for each of as many columns; `last` holds the largest that each keeps.
    void (*select_columns)(const float *row, float norm, int size, std::int64_t index, int count, float *last,
                           float *values, std::int64_t *indices);
    // Pairs of points in blocks of groups of which one may keep the other, with products in one rounding or, with the same
    // bits at every level, in two; and what points keep of them.
    using NearPairs = std::int64_t (*)(const NearPoints &, std::int64_t left, std::int64_t lefts, std::int64_t right,
                                       std::int64_t rights, NearPair *out, std::int64_t *passed);
    NearPairs near_pairs, portable_near_pairs;
    void (*keep_near)(const NearPair *pairs, std::int64_t size, const std::int64_t *names, bool turned, int count,
                      float *values, std::int64_t *indices);
    // The `count` nearest of some candidates by exact (squared distance, index).
    void (*refine)(const double *point, const double *points, std::int64_t columns, const std::int64_t *candidates,
                   int size, std::int64_t own, int count, double *values, std::int64_t *indices);
    // How many k have left[k] + right[k] below a limit, and the least of these sums.
    std::int64_t (*around)(const double *left, const double *right, std::int64_t size, double limit, double *least);
    // What rows on the left differ by from others on the right (rows x others), by one of the kinds.
    void (*differences[DIFFERENCES])(const double *left, std::int64_t rows, const double *right, std::int64_t others,
                                     std::int64_t columns, double *out);
    // Distances of rows of amounts (rows x others) by what two have in common, by one of the kinds.
    std::int64_t (*amount_scratch)(std::int64_t rows, std::int64_t others);  // numbers of `scratch`
    void (*amount_distances[AMOUNTS])(const double *left, std::int64_t rows, const double *right, std::int64_t others,
                           std::int64_t columns, double *out, double *scratch);
    // Squared distances from a point to some of others.
    void (*squared_at)(const double *point, const double *points, std::int64_t columns, const std::int64_t *chosen,
                       std::int64_t size, double *out);
    // Sweeps over the weights (rows x stride) of parts in sparse rows, whose products are added to `products`.
    std::int64_t (*sweeps_scratch)(std::int64_t stride);  // numbers of `scratch`
    void (*sweep_rows)(const std::int64_t *starts, const std::int32_t *columns, const double *values, std::int64_t rows,
                       const double *parts, const double *gram, std::int64_t count, std::int64_t stride,
                       std::int64_t sweeps, double *weights, double *products, double *scratch);
    // Sums over pairs of rows and sources (axes x stride) for a step of majorization of stress; `weights` may be null.
    void (*stress_rows)(const double *rows, std::int64_t count, const double *sources, std::int64_t stride,
                        std::int64_t size, const double *lengths, const double *weights, int axes, double *pulled,
                        double *spread, double *sums);
    // Sums of functions of squared distances, and of their derivatives of order 1 or 2, over all sources (axes x stride)
    // but the `own` one of each row.
    void (*student_sums)(double dof, int order, const double *rows, std::int64_t count, const double *sources,
                         std::int64_t stride, std::int64_t size, const std::int64_t *own, int axes, double *scratch,
                         double *out);
    void (*membership_sums)(const Curve &curve, int order, const double *rows, std::int64_t count, const double *sources,
                            std::int64_t stride, std::int64_t size, const std::int64_t *own, int axes, double *scratch,
                            double *out);
    // What series (15 numbers) leave of the second, over the sources in a range of each row (count x 2).
    void (*membership_rests)(const Curve &curve, double limit, const double *series, const double *rows,
                             std::int64_t count, const double *sources, std::int64_t stride, std::int64_t size,
                             const std::int64_t *ranges, const std::int64_t *own, int axes, double *scratch, double *out);
    // Forces by Student's kernel on rows from sources (axes x stride), once each or `masses` times, with sums of the
    // kernel: both are added to.
    void (*repel_rows)(const double *rows, std::int64_t count, const double *sources, std::int64_t stride,
                       std::int64_t size, const double *masses, int axes, double dof, double *forces, double *totals);
    // Forces and energies of chosen rows of a graph; false where an index is out of range.
    bool (*attract_rows)(const std::int64_t *starts, const std::int32_t *indices, const T *values,
                         const double *points, std::int64_t rows, int axes, double dof, const std::int64_t *chosen,
                         std::int64_t count, double *forces, double *energies);
    // Splines on a grid: points added to its nodes, and values and slopes at points; false where one lies beyond it.
    bool (*spread_points)(const double *points, const std::int64_t *chosen, std::int64_t count, int axes,
                          const double *low, double scale, std::int64_t rows, std::int64_t columns, double *grid);
    bool (*collect_points)(const double *points, const std::int64_t *chosen, std::int64_t count, int axes,
                           const double *low, double scale, std::int64_t rows, std::int64_t columns,
                           const double *grid, double factor, double *slopes, double *values);
    // Positions of rows of points (rows x axes) after a step by sampled forces; returns its cost. `scratch` holds
    // axes x PAIRS numbers.
    double (*sample_rows)(const Schedule &edges, const double *own, std::int64_t rows, std::int64_t first,
                          const double *points, std::int64_t count, std::int64_t axes, const Curve &curve,
                          const Draw &draw, double rate, double *scratch, double *out, std::int64_t *due);
    // Products with a tile of a Gaussian kernel, from factors (rows x parts, columns x parts), added to those of its rows
    // and, unless the vectors of the rows are null, of its columns; returns the sum of squares of its values.
    std::int64_t (*gaussian_scratch)(std::int64_t rows, std::int64_t columns, int parts, int width);
    double (*gaussian_tile)(const T *left, std::int64_t rows, const T *right, std::int64_t columns, int parts,
                            const T *column_vectors, const T *row_vectors, int width, double *out_rows,
                            double *out_columns, T *scratch);
    // Exponentials, base-2 logarithms of numbers of zero or more, and powers of two, of `count` numbers.
    void (*exponentials)(const double *x, std::int64_t count, double *out);
    void (*logarithms)(const double *x, std::int64_t count, double *out);
    void (*powers_of_two)(const double *x, std::int64_t count, double *out);
    // Local radii of rows of points (rows x 3), and steps that keep them, added to positions (rows x axes). `scratch`
    // holds axes x PAIRS numbers.
    void (*radii_rows)(const std::int64_t *starts, const std::int32_t *columns, std::int64_t rows, std::int64_t first,
                       const double *points, std::int64_t axes, const Curve &curve, double least, double *scratch,
                       double *out);
    void (*density_rows)(const Schedule &edges, std::int64_t rows, std::int64_t first, const double *points,
                         std::int64_t axes, const double *pulls, const Curve &curve, std::uint32_t epoch, double rate,
                         double *scratch, double *out);
    // Products of the columns of rows less a shift (columns x columns), and sums of these rows; `down` and `across` are
    // the numbers from one row and column to the next.
    std::int64_t (*gram_scratch)(std::int64_t columns);  // numbers of `scratch`
    void (*gram)(const double *rows, std::int64_t down, std::int64_t across, std::int64_t count, std::int64_t columns,
                 const double *shift, double *out, double *sums, double *scratch);
    // Products of rows less a shift with the columns of a matrix (count x others), and the rows' squared norms.
    std::int64_t (*project_scratch)(std::int64_t columns, std::int64_t others);  // numbers of `scratch`
    void (*project)(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                    const double *right, std::int64_t others, double *out, double *norms, double *scratch);
    // Products of rows with other rows (count x others).
    std::int64_t (*rows_scratch)(std::int64_t others);  // numbers of `scratch`
    void (*products_of_rows)(const float *rows, std::int64_t count, const float *right, std::int64_t others,
                             std::int64_t columns, float *out, float *scratch);
    // The same in double precision, in a fixed order, in rows of `out` that are `stride` numbers apart.
    std::int64_t (*row_products_scratch)(std::int64_t count, std::int64_t others);  // numbers of `scratch`
    void (*row_products)(const double *left, std::int64_t count, const double *right, std::int64_t others,
                         std::int64_t columns, double *out, std::int64_t stride, double *scratch);
    // Sums over the pairs of an anchor, and how many keys are before each of some others.
    void (*pair_sums)(const double *kept, const double *embedded, std::int64_t size, double scale, double *out);
    void (*keys_before)(const std::int64_t *keys, std::int64_t size, const std::int64_t *wanted, std::int64_t count,
                        int bits, std::int64_t *out);
    // Keys of all points from an anchor, and the smallest of them in order.
    std::int64_t (*order_points)(const double *squared, std::int64_t size, std::int64_t own, std::int64_t count, int bits,
                                 std::int64_t *keys, std::int64_t *nearest, std::int64_t *limit);
    // Products of sparse rows with vectors (columns x stride) less numbers, and, unless `images` is null, of the entries
    // with these; products of their transpose with vectors (rows x stride). Both are added to; stride is of whole bands.
    void (*multiply_sparse)(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                            std::int64_t rows, const double *right, const double *less, std::int64_t stride,
                            double *out, double *images);
    void (*lower_sparse)(const std::int64_t *starts, const std::int32_t *columns, const double *values,
                         std::int64_t rows, const double *left, std::int64_t stride, double *out);
    // Products of rows less a shift with a few vectors (others x columns) less numbers (count x others), and of their
    // transpose with `left` (count x others), which are added to `out` (others x columns).
    void (*lift_rows)(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                      const double *vectors, std::int64_t others, const double *less, double *out);
    void (*lower_rows)(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                       const double *left, std::int64_t others, double *out);
    // Convolution of a grid with an even kernel: its columns into lines of frequencies, strips of these multiplied by a
    // spectrum or, to measure one, by nothing, and back. `z` holds 2M folds; see convolution.hpp.
    void (*columns_forth)(const double *grid, std::int64_t rows, std::int64_t stride, std::int64_t count,
                          const Transform &, double *lines, std::int64_t columns, std::int64_t first, double *z);
    using Strips = void (*)(double *lines, std::int64_t columns, std::int64_t first, std::int64_t last,
                            const Transform &, const double *steps, double *spectrum, double *z);
    Strips convolve_strips, measure_strips;
    void (*columns_back)(const double *lines, std::int64_t columns, std::int64_t first, const Transform &, double *grid,
                         std::int64_t rows, std::int64_t stride, std::int64_t count, double *z);
    // Products of a tile of a kernel with columns of a design on both sides, for permutations of the design's rows.
    std::int64_t (*trace_scratch)(std::int64_t rows, std::int64_t columns, int terms, int width);  // numbers of `scratch`
    void (*permuted_products)(const double *tile, std::int64_t rows, std::int64_t columns, std::int64_t first,
                              std::int64_t low, const std::int32_t *orders, std::int64_t count, std::int64_t size,
                              const std::int32_t *codes, const double *numbers, int terms, int width, double *out,
                              double *scratch);
};

struct Level {
    const char *name;
    const Kernels<float> *single;
    const Kernels<double> *twofold;
    const ByteKernels *bytes;  // null where it has none
};

const Level &level();                  // the fastest that the machine and the build have, or the one chosen
const char *processor_level();         // the highest that this machine runs, whether the build has it or not
bool choose_level(const char *name);   // false where this machine does not run it, or the build does not have it

template <class T> const Kernels<T> &kernels();
template <> const Kernels<float> &kernels<float>();
template <> const Kernels<double> &kernels<double>();

}  // namespace mlcli
