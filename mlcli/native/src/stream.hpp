// Numbers written past the caches, which are not read again soon: that spares the caches and a read of their place.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mlcli {

// All whole lines of memory go past the caches, the numbers before and after them through these.
template <class T> static inline __attribute__((always_inline)) void stream(T *to, const T *from, std::int64_t count) {
#if defined(__SSE2__)
    constexpr std::int64_t line = 64 / sizeof(T);
    const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64 / sizeof(T));
    std::int64_t i = 0;
    for (; i < count && i < (line - beyond) % line; ++i) to[i] = from[i];
    for (; i + line <= count; i += line)
        for (int part = 0; part < 4; ++part)
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + i) + part,
                             _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i) + part));
    for (; i < count; ++i) to[i] = from[i];
#else
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
#endif
}

// Before another thread reads what was streamed.
static inline void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace mlcli
