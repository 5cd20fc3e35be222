// Which instruction set's kernels run: the fastest that the machine has, or the one chosen.
#include <cstring>
#include <initializer_list>

#include "bytes.hpp"
#include "kernels.hpp"
#include "processor.hpp"

#define DECLARE(name)                              \
    namespace mlcli::name {                        \
    extern const Kernels<float> *const single;     \
    extern const Kernels<double> *const twofold;   \
    extern const ByteKernels *const bytes;         \
    }
DECLARE(base)
#if defined(MLCLI_HAS_V3)
DECLARE(v3)
#endif
#if defined(MLCLI_HAS_V4)
DECLARE(v4)
#endif
#if defined(MLCLI_HAS_VNNI)
namespace mlcli::vnni {
extern const ByteKernels *const bytes;
}
#endif

namespace mlcli {
namespace {

// The kernels of a level, where the build has it and the processor runs it.
const Level *supported(const char *name) {
    static const Level base = {"base", base::single, base::twofold, base::bytes};
    if (std::strcmp(name, "base") == 0) return &base;
#if defined(MLCLI_HAS_V3)
    static const Level v3 = {"v3", v3::single, v3::twofold, v3::bytes};
    if (std::strcmp(name, "v3") == 0 && runs_v3()) return &v3;
#endif
#if defined(MLCLI_HAS_V4)
    static const Level v4 = {"v4", v4::single, v4::twofold, v4::bytes};
    if (std::strcmp(name, "v4") == 0 && runs_v4()) return &v4;
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

const char *processor_level() { return highest_level(); }

bool choose_level(const char *name) {
    const Level *found = supported(name);
    if (found != nullptr) chosen() = found;
    return found != nullptr;
}

const ByteKernels *byte_kernels() {
#if defined(MLCLI_HAS_VNNI)
    if (std::strcmp(level().name, "v4") == 0 && runs_vnni()) return vnni::bytes;
#endif
    return level().bytes;
}

template <> const Kernels<float> &kernels<float>() { return *level().single; }
template <> const Kernels<double> &kernels<double>() { return *level().twofold; }

}  // namespace mlcli
