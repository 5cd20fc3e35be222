// SIMD lanes of one instruction set, chosen by the flags that a file is compiled with.
// Everything lies in a namespace named after the level, so that no copy is shared between levels.
//
// `fma` and `less` round once where the processor can, and twice at the base: kernels of spectral methods and of
// candidates take them. What layouts depend on has sums and products apart, and the same bits at every level.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

namespace mlcli::LEVEL {

// The same bits as another type, as C++20's std::bit_cast.
template <class To, class From> INLINE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "both types must be of one size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

INLINE std::uint64_t bits_of(double number) { return bits_as<std::uint64_t>(number); }
INLINE std::uint32_t bits_of(float number) { return bits_as<std::uint32_t>(number); }
INLINE double from_bits(std::uint64_t bits) { return bits_as<double>(bits); }
INLINE float single_of(std::uint32_t bits) { return bits_as<float>(bits); }

// a b + c, rounded once but at the base.
INLINE double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

template <class T> struct Lanes;

#if defined(__AVX512F__)
constexpr int VECTORS = 4;
template <> struct Lanes<float> {
    using V = __m512;
    static constexpr int width = 16;
    INLINE V load(const float *p) { return _mm512_loadu_ps(p); }
    INLINE void store(float *p, V v) { _mm512_storeu_ps(p, v); }
    INLINE V fill(float x) { return _mm512_set1_ps(x); }
    INLINE V add(V a, V b) { return _mm512_add_ps(a, b); }
    INLINE V subtract(V a, V b) { return _mm512_sub_ps(a, b); }
    INLINE V multiply(V a, V b) { return _mm512_mul_ps(a, b); }
    INLINE V min(V a, V b) { return _mm512_min_ps(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
    INLINE V less(V c, V a, V b) { return _mm512_fnmadd_ps(a, b, c); }
};
template <> struct Lanes<double> {
    using V = __m512d;
    static constexpr int width = 8;
    INLINE V load(const double *p) { return _mm512_loadu_pd(p); }
    INLINE void store(double *p, V v) { _mm512_storeu_pd(p, v); }
    INLINE V fill(double x) { return _mm512_set1_pd(x); }
    INLINE V add(V a, V b) { return _mm512_add_pd(a, b); }
    INLINE V subtract(V a, V b) { return _mm512_sub_pd(a, b); }
    INLINE V multiply(V a, V b) { return _mm512_mul_pd(a, b); }
    INLINE V min(V a, V b) { return _mm512_min_pd(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
    INLINE V less(V c, V a, V b) { return _mm512_fnmadd_pd(a, b, c); }
    INLINE V root(V a) { return _mm512_sqrt_pd(a); }
};
#if defined(__AVX512VNNI__)
template <> struct Lanes<std::int32_t> {  // of four bytes each; of a product those of `a` have a sign, those of `b` none
    using V = __m512i;
    static constexpr int width = 16;
    INLINE V load(const std::int32_t *p) { return _mm512_loadu_si512(p); }
    INLINE void store(std::int32_t *p, V v) { _mm512_storeu_si512(p, v); }
    INLINE V fill(std::int32_t x) { return _mm512_set1_epi32(x); }
    INLINE V fma(V a, V b, V c) { return _mm512_dpbusd_epi32(c, b, a); }
};
#endif
#elif defined(__AVX2__)
constexpr int VECTORS = 2;
template <> struct Lanes<float> {
    using V = __m256;
    static constexpr int width = 8;
    INLINE V load(const float *p) { return _mm256_loadu_ps(p); }
    INLINE void store(float *p, V v) { _mm256_storeu_ps(p, v); }
    INLINE V fill(float x) { return _mm256_set1_ps(x); }
    INLINE V add(V a, V b) { return _mm256_add_ps(a, b); }
    INLINE V subtract(V a, V b) { return _mm256_sub_ps(a, b); }
    INLINE V multiply(V a, V b) { return _mm256_mul_ps(a, b); }
    INLINE V min(V a, V b) { return _mm256_min_ps(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
    INLINE V less(V c, V a, V b) { return _mm256_fnmadd_ps(a, b, c); }
};
template <> struct Lanes<double> {
    using V = __m256d;
    static constexpr int width = 4;
    INLINE V load(const double *p) { return _mm256_loadu_pd(p); }
    INLINE void store(double *p, V v) { _mm256_storeu_pd(p, v); }
    INLINE V fill(double x) { return _mm256_set1_pd(x); }
    INLINE V add(V a, V b) { return _mm256_add_pd(a, b); }
    INLINE V subtract(V a, V b) { return _mm256_sub_pd(a, b); }
    INLINE V multiply(V a, V b) { return _mm256_mul_pd(a, b); }
    INLINE V min(V a, V b) { return _mm256_min_pd(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
    INLINE V less(V c, V a, V b) { return _mm256_fnmadd_pd(a, b, c); }
    INLINE V root(V a) { return _mm256_sqrt_pd(a); }
};
template <> struct Lanes<std::int32_t> {  // of two 16-bit numbers each, whose products are added
    using V = __m256i;
    static constexpr int width = 8;
    INLINE V load(const void *p) { return _mm256_loadu_si256(static_cast<const V *>(p)); }
    INLINE void store(void *p, V v) { _mm256_storeu_si256(static_cast<V *>(p), v); }
    INLINE V fill(std::int32_t x) { return _mm256_set1_epi32(x); }
    INLINE V fma(V a, V b, V c) { return _mm256_add_epi32(_mm256_madd_epi16(a, b), c); }
    INLINE V singles(V a) { return _mm256_castps_si256(_mm256_cvtepi32_ps(a)); }  // their bits
};
#elif defined(__SSE2__)
constexpr int VECTORS = 2;
template <> struct Lanes<float> {
    using V = __m128;
    static constexpr int width = 4;
    INLINE V load(const float *p) { return _mm_loadu_ps(p); }
    INLINE void store(float *p, V v) { _mm_storeu_ps(p, v); }
    INLINE V fill(float x) { return _mm_set1_ps(x); }
    INLINE V add(V a, V b) { return _mm_add_ps(a, b); }
    INLINE V subtract(V a, V b) { return _mm_sub_ps(a, b); }
    INLINE V multiply(V a, V b) { return _mm_mul_ps(a, b); }
    INLINE V min(V a, V b) { return _mm_min_ps(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
    INLINE V less(V c, V a, V b) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
};
template <> struct Lanes<double> {
    using V = __m128d;
    static constexpr int width = 2;
    INLINE V load(const double *p) { return _mm_loadu_pd(p); }
    INLINE void store(double *p, V v) { _mm_storeu_pd(p, v); }
    INLINE V fill(double x) { return _mm_set1_pd(x); }
    INLINE V add(V a, V b) { return _mm_add_pd(a, b); }
    INLINE V subtract(V a, V b) { return _mm_sub_pd(a, b); }
    INLINE V multiply(V a, V b) { return _mm_mul_pd(a, b); }
    INLINE V min(V a, V b) { return _mm_min_pd(a, b); }
    INLINE V fma(V a, V b, V c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
    INLINE V less(V c, V a, V b) { return _mm_sub_pd(c, _mm_mul_pd(a, b)); }
    INLINE V root(V a) { return _mm_sqrt_pd(a); }
};
template <> struct Lanes<std::int32_t> {  // of two 16-bit numbers each, whose products are added
    using V = __m128i;
    static constexpr int width = 4;
    INLINE V load(const void *p) { return _mm_loadu_si128(static_cast<const V *>(p)); }
    INLINE void store(void *p, V v) { _mm_storeu_si128(static_cast<V *>(p), v); }
    INLINE V fill(std::int32_t x) { return _mm_set1_epi32(x); }
    INLINE V fma(V a, V b, V c) { return _mm_add_epi32(_mm_madd_epi16(a, b), c); }
    INLINE V singles(V a) { return _mm_castps_si128(_mm_cvtepi32_ps(a)); }  // their bits
};
#elif defined(__aarch64__)
constexpr int VECTORS = 4;
template <> struct Lanes<float> {
    using V = float32x4_t;
    static constexpr int width = 4;
    INLINE V load(const float *p) { return vld1q_f32(p); }
    INLINE void store(float *p, V v) { vst1q_f32(p, v); }
    INLINE V fill(float x) { return vdupq_n_f32(x); }
    INLINE V add(V a, V b) { return vaddq_f32(a, b); }
    INLINE V subtract(V a, V b) { return vsubq_f32(a, b); }
    INLINE V multiply(V a, V b) { return vmulq_f32(a, b); }
    INLINE V min(V a, V b) { return vminq_f32(a, b); }
    INLINE V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
    INLINE V less(V c, V a, V b) { return vfmsq_f32(c, a, b); }
};
template <> struct Lanes<double> {
    using V = float64x2_t;
    static constexpr int width = 2;
    INLINE V load(const double *p) { return vld1q_f64(p); }
    INLINE void store(double *p, V v) { vst1q_f64(p, v); }
    INLINE V fill(double x) { return vdupq_n_f64(x); }
    INLINE V add(V a, V b) { return vaddq_f64(a, b); }
    INLINE V subtract(V a, V b) { return vsubq_f64(a, b); }
    INLINE V multiply(V a, V b) { return vmulq_f64(a, b); }
    INLINE V min(V a, V b) { return vminq_f64(a, b); }
    INLINE V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
    INLINE V less(V c, V a, V b) { return vfmsq_f64(c, a, b); }
    INLINE V root(V a) { return vsqrtq_f64(a); }
};
#else
constexpr int VECTORS = 4;
template <class T> struct Lanes {
    using V = T;
    static constexpr int width = 1;
    INLINE V load(const T *p) { return *p; }
    INLINE void store(T *p, V v) { *p = v; }
    INLINE V fill(T x) { return x; }
    INLINE V add(V a, V b) { return a + b; }
    INLINE V subtract(V a, V b) { return a - b; }
    INLINE V multiply(V a, V b) { return a * b; }
    INLINE V min(V a, V b) { return a < b ? a : b; }
    INLINE V fma(V a, V b, V c) { return a * b + c; }
    INLINE V less(V c, V a, V b) { return c - a * b; }
    INLINE V root(V a) { return __builtin_sqrt(a); }
};
#endif

// The lesser of c and a + b. AMD's processors compare where they add, and multiply elsewhere: a sum of a product by one
// has the same bits, and 7.1e9 instead of 4.2e9 vectors go through a core of Zen 5 in a second.
template <class L> INLINE typename L::V shorter(typename L::V c, typename L::V a, typename L::V b) {
#if defined(__AVX2__)
    return L::min(c, L::fma(a, L::fill(1), b));
#else
    return L::min(c, L::add(a, b));
#endif
}

// The first `count` lanes at p; nothing beyond them is touched.
#if defined(__AVX512F__)
INLINE __m512 load_some(const float *p, int count) { return _mm512_maskz_loadu_ps((1u << count) - 1, p); }
INLINE __m512d load_some(const double *p, int count) { return _mm512_maskz_loadu_pd((1u << count) - 1, p); }
INLINE void store_some(float *p, __m512 v, int count) { _mm512_mask_storeu_ps(p, (1u << count) - 1, v); }
INLINE void store_some(double *p, __m512d v, int count) { _mm512_mask_storeu_pd(p, (1u << count) - 1, v); }
#else
template <class T> INLINE typename Lanes<T>::V load_some(const T *p, int count) {
    T lanes[Lanes<T>::width] = {};
    for (int i = 0; i < count; ++i) lanes[i] = p[i];
    return Lanes<T>::load(lanes);
}

template <class T> INLINE void store_some(T *p, typename Lanes<T>::V v, int count) {
    T lanes[Lanes<T>::width];
    Lanes<T>::store(lanes, v);
    for (int i = 0; i < count; ++i) p[i] = lanes[i];
}
#endif

// A cache line of numbers: as many are summed side by side at every level, so that a sum has the same bits at each.
template <class T> struct Line {
    using L = Lanes<T>;
    static constexpr int size = 64 / sizeof(T), parts = size / L::width;
    typename L::V part[parts];
};

template <class T> INLINE Line<T> fill_line(T x) {
    Line<T> line;
    for (auto &part : line.part) part = Lanes<T>::fill(x);
    return line;
}

// The sum of a line's numbers in their order.
template <class T> INLINE T sum_of(const Line<T> &line) {
    T numbers[Line<T>::size], sum = 0;
    for (int p = 0; p < Line<T>::parts; ++p) Lanes<T>::store(numbers + p * Lanes<T>::width, line.part[p]);
    for (const T number : numbers) sum += number;
    return sum;
}

}  // namespace mlcli::LEVEL
