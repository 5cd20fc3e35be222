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
    sweep(prepared(plan, values, first, count, rows, scratch), keep);
    turn<T, BLOCK<T>>(plan, kept, count, out);
}

template <class T>
static void fold(const Plan &plan, const T *values, int first, int count, std::uint32_t *rows, T *scratch,
                 const double *q, int columns, double *product, double *squares, double *fourths, T *kept) {
    Fold<T, BLOCK<T>> sink{plan, q, columns, product, squares, fourths, kept};
    sweep(prepared(plan, values, first, count, rows, scratch), sink);
    sink.flush();
}

template <class T>
static void refold(const Plan &plan, T *kept, const double *q, int columns, double *product, double *squares,
                   double *fourths) {
    Fold<T, BLOCK<T>> sink{plan, q, columns, product, squares, fourths, nullptr};
    for (int p = plan.vertices - 1; p >= 0; --p) sink.take(p, kept + static_cast<std::int64_t>(p) * BLOCK<T>);  // as swept
    sink.flush();
}

template <class T> static const Kernels<T> table = {
    Factor<MinPlus, T>::scratch, eliminate<MinPlus, T>, eliminate<MinusTimes, T>, solve, distances<T, float>,
    distances<T, double>, fold<T>, refold<T>, floyd_pivot<T>, floyd_rows<T>, select<T>, refine, around<T>};

extern const Kernels<float> *const single;
extern const Kernels<double> *const twofold;
const Kernels<float> *const single = &table<float>;
const Kernels<double> *const twofold = &table<double>;

}  // namespace mlcli::LEVEL
