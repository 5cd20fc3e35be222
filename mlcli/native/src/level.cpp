// All kernels at one instruction set: compiled once for each, with LEVEL naming its namespace.
#include "kernels.hpp"

#include "factor.hpp"
#include "floyd.hpp"
#include "nearest.hpp"
#include "sinks.hpp"
#include "solve.hpp"
#include "triangles.hpp"

namespace mlcli::LEVEL {

template <class T>
static Sweep<T, BLOCK<T>> prepared(const Plan &plan, const T *values, int first, int count, std::uint32_t *rows, T *scratch) {
    return {plan, values, first, count, scratch, scratch + static_cast<std::int64_t>(plan.depth) * BLOCK<T>, rows,
            plan.node_of[first], plan.node_of[first + count - 1]};
}

template <class T, class Out>
static void distances(const Plan &plan, const T *values, int first, int count, std::uint32_t *rows, T *scratch, T *kept,
                      Out *const *out) {
    Keep<T, BLOCK<T>> keep{kept};
    sweep(prepared(plan, values, first, count, rows, scratch), 0, keep);
    turn<T, BLOCK<T>>(plan, kept, count, out);
}

template <class T>
static double fold(const Plan &plan, const T *values, int first, int count, std::uint32_t *rows, T *scratch,
                   const double *q, int columns, const Folds &out, T *kept, double *sums) {
    Fold<T, BLOCK<T>> sink(plan, first, count, q, columns, out, kept, sums);
    sweep(prepared(plan, values, first, count, rows, scratch), plan.node_of[first], sink);
    return sink.finish();
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
    Factor<MinPlus, T>::scratch, eliminate<MinPlus, T>, eliminate<MinusTimes, T>, solve, distances<T, float>,
    distances<T, double>, fold<T>, refold<T>, Fold<T, BLOCK<T>>::scratch, floyd_pivot<T>, floyd_rows<T>, select<T>, refine, around<T>};

extern const Kernels<float> *const single;
extern const Kernels<double> *const twofold;
const Kernels<float> *const single = &table<float>;
const Kernels<double> *const twofold = &table<double>;

}  // namespace mlcli::LEVEL
