// All kernels at one instruction set: compiled once for each, with LEVEL naming its namespace.
#include "kernels.hpp"

#include "amounts.hpp"
#include "anchors.hpp"
#include "bytes.hpp"
#include "convolution.hpp"
#include "density.hpp"
#include "differences.hpp"
#include "factor.hpp"
#include "floyd.hpp"
#include "gaussian.hpp"
#include "grid.hpp"
#include "near_pairs.hpp"
#include "nearest.hpp"
#include "pairs.hpp"
#include "products.hpp"
#include "radial.hpp"
#include "rows.hpp"
#include "sampling.hpp"
#include "sinks.hpp"
#include "solve.hpp"
#include "sparse.hpp"
#include "stress.hpp"
#include "student.hpp"
#include "sweeps.hpp"
#include "thin.hpp"
#include "traces.hpp"
#include "triangles.hpp"

namespace mlcli::LEVEL {

// A node's rows have risen where they are then kept: it has read them before it writes.
template <class T>
static void distances(const Plan &plan, const T *values, const Sources &sources, std::uint32_t *rows, T *stack, T *kept,
                      double *const *out) {
    Keep<T, BLOCK<T>> keep{kept};
    sweep(Sweep<T, BLOCK<T>>{plan, values, sources, stack, kept, rows}, 0, keep);
    turn<T, BLOCK<T>>(plan, kept, sources.count, out);
}

template <class T>
static double fold(const Plan &plan, const T *values, const Sources &sources, std::uint32_t *rows, T *stack, T *risen,
                   const double *q, int columns, const Folds &out, T *kept, double *sums) {
    const int first = sources.position[0];
    Fold<T, BLOCK<T>> sink(plan, first, sources.count, q, columns, out, kept, sums);
    sweep(Sweep<T, BLOCK<T>>{plan, values, sources, stack, risen, rows}, plan.node_of[first], sink);
    return sink.finish();
}

template <class T>
static void fold_columns(const Plan &plan, const T *values, const Sources &sources, std::uint32_t *rows, T *stack, T *risen,
                         const double *factors, int count, int columns, double *out, double *sums) {
    Fold<T, BLOCK<T>, false> sink(plan, count, factors, columns, {out, nullptr, 0}, sums);
    sweep(Sweep<T, BLOCK<T>>{plan, values, sources, stack, risen, rows}, 0, sink);
    sink.flush();
}

template <class T>
static double refold(const Plan &plan, T *kept, int first, int count, const double *q, int columns, const Folds &out,
                     double *sums) {
    Fold<T, BLOCK<T>> sink(plan, first, count, q, columns, out, nullptr, sums);
    for (int p = plan.vertices - 1; p >= first; --p)  // as swept
        sink.take(p, kept + (p - static_cast<std::int64_t>(first)) * BLOCK<T>);
    return sink.finish();
}

template <class T> static const Kernels<T> table = {
    Factor<MinPlus, T>::scratch, eliminate<MinPlus, T>, eliminate<MinusTimes, double>, solve_up, solve_down,
    distances<T>, pairs<T>, fold<T>, fold_columns<T>, refold<T>,
    Fold<T, BLOCK<T>>::scratch, floyd_pivot, floyd_rows, select<T>, select_row, select_columns,
    near_pairs<true>, near_pairs<false>, keep_near, refine, around<double>,
    {differences<Squared>, differences<Cityblock>, differences<Chebyshev>, differences<Canberra>,
     differences<BrayCurtis>, differences<Ruzicka>}, amount_scratch,
    {amount_distances<BrayCurtisShare>, amount_distances<RuzickaShare>}, squared_at, sweeps_scratch, sweep_rows,
    stress_rows, student_sums, membership_sums, membership_rests, repel_rows, attract_rows<T>, spread_points,
    collect_points, sample_rows, gaussian_scratch<T>, gaussian_tile<T>, exponentials, logarithms, powers_of_two,
    radii_rows, density_rows, gram_scratch, gram, project_scratch, project, rows_scratch, products_of_rows,
    row_products_scratch, row_products,
    pair_sums, keys_before, order_points, multiply_sparse, lower_sparse, lift_rows, lower_rows,
    columns_forth, strips<false>, strips<true>, columns_back,
    trace_scratch, permuted_products};

extern const Kernels<float> *const single;
extern const Kernels<double> *const twofold;
const Kernels<float> *const single = &table<float>;
const Kernels<double> *const twofold = &table<double>;

extern const ByteKernels *const bytes;
#if defined(MLCLI_PACKED)
static std::int64_t byte_scratch(std::int64_t others, std::int64_t) { return packed_scratch<Words<0>>(others); }

// The bytes of the left side get back what was taken from them: these products fit into 32 bits without a correction.
static void products_of_bytes(const std::int32_t *rows, std::int64_t count, const std::int32_t *right,
                              std::int64_t others, std::int64_t words, const std::int32_t *, float *out,
                              std::int32_t *scratch) {
    packed_products(Words<0x80808080u>{rows, words}, count, Words<0>{right, words}, others,
                    reinterpret_cast<std::int32_t *>(out), scratch,
                    [](Lanes<std::int32_t>::V sum) __attribute__((always_inline)) { return Lanes<std::int32_t>::singles(sum); });
}

static const ByteKernels byte_table = {byte_scratch, products_of_bytes};
const ByteKernels *const bytes = &byte_table;
#else
const ByteKernels *const bytes = nullptr;
#endif

}  // namespace mlcli::LEVEL
