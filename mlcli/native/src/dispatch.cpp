// Which instruction set's kernels run: the fastest that the machine has, or the one chosen.
#include <cstring>
#include <initializer_list>

#include "bytes.hpp"
#include "kernels.hpp"

#define DECLARE(name)                              \
    namespace mlcli::name {                        \
    extern const Kernels<float> *const single;     \
    extern const Kernels<double> *const twofold;   \
    extern const ByteKernels *const bytes;         \
    }
DECLARE(base)
#if defined(MLCLI_LEVELS)
DECLARE(v3)
DECLARE(v4)
namespace mlcli::vnni {
extern const ByteKernels *const bytes;
}
#endif

namespace mlcli {
namespace {

const Level *supported(const char *name) {
    static const Level base = {"base", base::single, base::twofold, base::bytes};
    if (std::strcmp(name, "base") == 0) return &base;
#if defined(MLCLI_LEVELS)
    static const Level v3 = {"v3", v3::single, v3::twofold, v3::bytes};
    static const Level v4 = {"v4", v4::single, v4::twofold, v4::bytes};
    __builtin_cpu_init();
    const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
                        && __builtin_cpu_supports("avx512vl");
    if (has_v3 && std::strcmp(name, "v3") == 0) return &v3;
    if (has_v4 && std::strcmp(name, "v4") == 0) return &v4;
#endif
    return nullptr;
}

const Level *first_choice() {
    for (const char *name : {"v4", "v3"})
        if (supported(name) != nullptr) return supported(name);
    return supported("base");
}

const Level *&chosen() {
    static const Level *level = first_choice();
    return level;
}

}  // namespace

const Level &level() { return *chosen(); }

bool choose_level(const char *name) {
    const Level *found = supported(name);
    if (found != nullptr) chosen() = found;
    return found != nullptr;
}

const ByteKernels *byte_kernels() {
#if defined(MLCLI_LEVELS)
    __builtin_cpu_init();
    if (std::strcmp(level().name, "v4") == 0 && __builtin_cpu_supports("avx512vnni")) return vnni::bytes;
#endif
    return level().bytes;
}

template <> const Kernels<float> &kernels<float>() { return *level().single; }
template <> const Kernels<double> &kernels<double>() { return *level().twofold; }

}  // namespace mlcli
