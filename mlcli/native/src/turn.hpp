// Rows of lanes turned into rows of vertices: a transposition that also reorders and changes precision.
#pragma once
#include "lanes.hpp"
#include "plan.hpp"
#include "stream.hpp"

namespace mlcli::LEVEL {

constexpr int TILE = 64;  // vertices at a time

#if defined(__SSE2__)
INLINE void store4(double *out, __m128 v) {
    _mm_storeu_pd(out, _mm_cvtps_pd(v));
    _mm_storeu_pd(out + 2, _mm_cvtps_pd(_mm_movehl_ps(v, v)));
}

// out[lane * TILE + i] = rows[i][lane] for four lanes of four rows.
INLINE void turn4(const float *const *rows, int lane, double *out) {
    __m128 a = _mm_loadu_ps(rows[0] + lane), b = _mm_loadu_ps(rows[1] + lane);
    __m128 c = _mm_loadu_ps(rows[2] + lane), d = _mm_loadu_ps(rows[3] + lane);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    store4(out, a);
    store4(out + TILE, b);
    store4(out + 2 * TILE, c);
    store4(out + 3 * TILE, d);
}

INLINE void turn4(const double *const *rows, int lane, double *out) {
    for (int i = 0; i < 4; i += 2)
        for (int l = 0; l < 4; l += 2) {
            const __m128d a = _mm_loadu_pd(rows[i] + lane + l), b = _mm_loadu_pd(rows[i + 1] + lane + l);
            _mm_storeu_pd(out + l * TILE + i, _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(out + (l + 1) * TILE + i, _mm_unpackhi_pd(a, b));
        }
}
#else
template <class T> INLINE void turn4(const T *const *rows, int lane, double *out) {
    for (int l = 0; l < 4; ++l)
        for (int i = 0; i < 4; ++i) out[l * TILE + i] = rows[i][lane + l];
}
#endif

// Rows stand in the order of elimination and are taken in that of the vertices: far apart, so they are called early.
template <class T, int LANES> INLINE void fetch(const Plan &plan, const T *rows, int start) {
    const int end = start + TILE < plan.vertices ? start + TILE : plan.vertices;
    for (int v = start; v < end; ++v)
        for (int byte = 0; byte < static_cast<int>(LANES * sizeof(T)); byte += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(rows + static_cast<std::int64_t>(plan.position[v]) * LANES)
                               + byte);
}

// out(lane)[i] = row(i)[lane] for the first `lanes`, a tile at a time; `before` is called with the first i after each tile.
template <class T, int LANES, class Row, class Place, class Before>
INLINE void turn_tiles(int count, int lanes, const Row &row, const Place &out, const Before &before) {
    alignas(64) double tile[LANES * TILE];
    for (int start = 0; start < count; start += TILE) {
        const int width = count - start < TILE ? count - start : TILE;
        before(start + TILE);
        const T *taken[TILE];
        for (int i = 0; i < TILE; ++i) taken[i] = row(start + (i < width ? i : 0));
        for (int i = 0; i < TILE; i += 4)
            for (int lane = 0; lane < LANES; lane += 4) turn4(taken + i, lane, tile + lane * TILE + i);
        for (int lane = 0; lane < lanes; ++lane) stream(out(lane) + start, tile + lane * TILE, width);
    }
}

// out[lane][vertex] = rows[position of vertex][lane] for the first `count` lanes.
template <class T, int LANES>
static void turn(const Plan &plan, const T *rows, int count, double *const *out) {
    turn_tiles<T, LANES>(
        plan.vertices, count, [&](int v) { return rows + static_cast<std::int64_t>(plan.position[v]) * LANES; },
        [&](int lane) { return out[lane]; }, [&](int next) { fetch<T, LANES>(plan, rows, next); });
    finish_streams();
}

// out[lane][i] = rows[i][lane] for the first `lanes`, `stride` numbers from one to the next.
template <class T, int LANES>
static void turn_rows(const T *rows, int count, int lanes, double *out, std::int64_t stride) {
    turn_tiles<T, LANES>(
        count, lanes, [&](int i) { return rows + static_cast<std::int64_t>(i) * LANES; },
        [&](int lane) { return out + lane * stride; }, [](int) {});
}

}  // namespace mlcli::LEVEL
