// What the processor runs: the levels of x86-64 that its ABI names, each with all its instructions, not some of them.
#pragma once
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mlcli {

#if defined(__x86_64__) && defined(MLCLI_LEVEL_NAMES)  // GCC 12 and Clang 18 know the levels by name
inline bool runs_v3() { return __builtin_cpu_supports("x86-64-v3"); }
inline bool runs_v4() { return __builtin_cpu_supports("x86-64-v4"); }
#elif defined(__x86_64__)
// Older compilers do not know every instruction of a level by name. What uses wide registers they do, and by asking them
// whether the system saves these.
inline bool runs_v3() {
    unsigned a = 0, b = 0, first = 0, d = 0, extended = 0;
    constexpr unsigned F16C = 1u << 29, MOVBE = 1u << 22, LZCNT = 1u << 5;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
           && __builtin_cpu_supports("bmi2") && __get_cpuid(1, &a, &b, &first, &d) && (first & F16C) && (first & MOVBE)
           && __get_cpuid(0x80000001, &a, &b, &extended, &d) && (extended & LZCNT);
}
inline bool runs_v4() {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
           && __builtin_cpu_supports("avx512vl");
}
#else
inline bool runs_v3() { return false; }
inline bool runs_v4() { return false; }
#endif

// The products of bytes of AVX-512, which no level has.
inline bool runs_vnni() {
#if defined(__x86_64__)
    return runs_v4() && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

inline const char *highest_level() { return runs_v4() ? "v4" : runs_v3() ? "v3" : "base"; }

}  // namespace mlcli
