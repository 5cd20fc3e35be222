// All kernels at one instruction set: compiled once for each, with LEVEL naming its namespace.
#include "kernels.hpp"

#include "factor.hpp"
#include "floyd.hpp"
#include "nearest.hpp"
#include "sinks.hpp"
#include "triangles.hpp"

namespace mlcli::LEVEL {

// A node's rows have risen where they are then kept: it has read them before it writes.
template <class T, class Out>
static void distances(const Plan &plan, const T *values, const Sources &sources, std::uint32_t *rows, T *stack, T *kept,
                      Out *const *out) {
    Keep<T, BLOCK<T>> keep{kept};
    sweep(Sweep<T, BLOCK<T>>{plan, values, sources, stack, kept, rows}, keep);
    turn<T, BLOCK<T>>(plan, kept, sources.count, out);
}

template <class T>
static void fold(const Plan &plan, const T *values, const Sources &sources, std::uint32_t *rows, T *stack, T *risen,
                 const double *q, int columns, double *product, double *squares, double *fourths, T *kept) {
    Fold<T, BLOCK<T>> sink{plan, q, columns, product, squares, fourths, kept};
    sweep(Sweep<T, BLOCK<T>>{plan, values, sources, stack, risen, rows}, sink);
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
    Factor<T>::scratch, eliminate<T>, distances<T, float>, distances<T, double>, fold<T>, refold<T>,
    floyd_pivot<T>, floyd_rows<T>, select<T>, refine, around<T>};

extern const Kernels<float> *const single;
extern const Kernels<double> *const twofold;
const Kernels<float> *const single = &table<float>;
const Kernels<double> *const twofold = &table<double>;

}  // namespace mlcli::LEVEL
