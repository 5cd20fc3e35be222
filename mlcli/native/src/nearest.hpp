// Nearest neighbors of a block of rows: selection from quick distances, and exact distances of candidates.
#pragma once
#include "lanes.hpp"

namespace mlcli::LEVEL {

constexpr int STEP = 64;  // numbers that are looked over together for any that is small enough
constexpr int FEW = 16;  // and of these where some is

// Whether (value, index) comes before what is kept at a place; a place without an index is free, even for infinity.
template <class T>
INLINE bool precedes(T value, std::int64_t index, const T *values, const std::int64_t *indices, int place) {
    return value < values[place] || (value == values[place] && (indices[place] < 0 || index < indices[place]));
}

// Puts (value, index) among the `count` kept so far, which ascend; equal values ascend by index.
template <class T>
INLINE void insert(T value, std::int64_t index, int count, T *values, std::int64_t *indices) {
    int place = 0;
    for (int last = count - 1; place < last;) {  // the first place that it precedes; the last is given up
        const int middle = (place + last) / 2;
        if (precedes(value, index, values, indices, middle)) last = middle;
        else place = middle + 1;
    }
    const auto moved = static_cast<std::size_t>(count - 1 - place);
    std::memmove(values + place + 1, values + place, moved * sizeof(T));
    std::memmove(indices + place + 1, indices + place, moved * sizeof(std::int64_t));
    values[place] = value;
    indices[place] = index;
}

// Keeps (value, index) where it is among the `count` smallest by (value, index) so far.
template <class T>
INLINE void offer(T value, std::int64_t index, std::int64_t own, int count, T *values, std::int64_t *indices) {
    const int last = count - 1;
    const bool smaller = value < values[last] || (value == values[last] && index < indices[last]);
    if (smaller && index != own) insert(value, index, count, values, indices);
}

// The `count` smallest of a row by (value, index), `own` left out; index -1 where the row has too few.
template <class T>
static void select(const T *row, std::int64_t size, std::int64_t own, int count, T *values, std::int64_t *indices) {
    for (int i = 0; i < count; ++i) {
        values[i] = static_cast<T>(__builtin_inff());
        indices[i] = -1;
    }
    std::int64_t start = 0;
    for (; start < size; start += STEP) {
        const std::int64_t end = start + STEP < size ? start + STEP : size;
        if (end - start == STEP) {
            const T last = values[count - 1];
            int below = 0;
            for (int i = 0; i < STEP; ++i) below += row[start + i] < last;
            if (below == 0) continue;
        }
        for (std::int64_t i = start; i < end; ++i) offer(row[i], i, own, count, values, indices);
    }
}

// The same of what is kept already and a row of products: of norms[j] - 2 row[j], each for the index first + j.
static void select_row(const float *row, const float *norms, int size, std::int64_t first, std::int64_t own, int count,
                       float *values, std::int64_t *indices) {
    for (int start = 0; start < size; start += STEP) {
        const int end = start + STEP < size ? start + STEP : size;
        const float last = values[count - 1];
        int below = 0;
        for (int i = start; i < end; ++i) below += norms[i] - 2 * row[i] <= last;
        if (below == 0) continue;
        for (int part = start; part < end; part += FEW) {
            const int stop = part + FEW < end ? part + FEW : end;
            below = 0;
            for (int i = part; i < stop; ++i) below += norms[i] - 2 * row[i] <= last;
            if (below == 0) continue;
            for (int i = part; i < stop; ++i)
                offer(norms[i] - 2 * row[i], first + i, own, count, values, indices);
        }
    }
}

// A row of products for as many columns, each with numbers of its own: norm - 2 row[j] for the index `index`. `last` is
// what each column must not be above to be kept.
static void select_columns(const float *row, float norm, int size, std::int64_t index, int count, float *last,
                           float *values, std::int64_t *indices) {
    for (int start = 0; start < size; start += STEP) {
        const int end = start + STEP < size ? start + STEP : size;
        int below = 0;
        for (int i = start; i < end; ++i) below += norm - 2 * row[i] <= last[i];
        if (below == 0) continue;
        for (int i = start; i < end; ++i) {
            offer(norm - 2 * row[i], index, -1, count, values + static_cast<std::int64_t>(i) * count,
                  indices + static_cast<std::int64_t>(i) * count);
            last[i] = values[static_cast<std::int64_t>(i) * count + count - 1];
        }
    }
}

INLINE double squared_distance(const double *x, const double *y, std::int64_t size) {
    using L = Lanes<double>;
    constexpr int TWICE = 2 * Line<double>::size;
    Line<double> even = fill_line(0.0), odd = even;
    std::int64_t i = 0;
    for (; i + TWICE <= size; i += TWICE)
        for (int p = 0; p < Line<double>::parts; ++p) {
            const std::int64_t at = i + p * L::width, after = at + Line<double>::size;
            const L::V one = L::subtract(L::load(x + at), L::load(y + at));
            const L::V other = L::subtract(L::load(x + after), L::load(y + after));
            even.part[p] = L::add(even.part[p], L::multiply(one, one));
            odd.part[p] = L::add(odd.part[p], L::multiply(other, other));
        }
    double total = sum_of(even) + sum_of(odd);
    for (; i < size; ++i) total += (x[i] - y[i]) * (x[i] - y[i]);
    return total;
}

// The `count` nearest of some candidates by exact (squared distance, index); `own` and negative ones are left out.
static void refine(const double *point, const double *points, std::int64_t columns, const std::int64_t *candidates,
                   int size, std::int64_t own, int count, double *values, std::int64_t *indices) {
    for (int i = 0; i < count; ++i) {
        values[i] = __builtin_inf();
        indices[i] = -1;
    }
    for (int i = 0; i < size; ++i) {
        const std::int64_t j = candidates[i];
        if (j < 0 || j == own) continue;
        const double squared = squared_distance(point, points + j * columns, columns);
        if (precedes(squared, j, values, indices, count - 1)) insert(squared, j, count, values, indices);
    }
}

}  // namespace mlcli::LEVEL
