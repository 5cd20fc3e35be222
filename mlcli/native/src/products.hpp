// Products of the columns of rows with each other, of rows with the columns of a matrix, and of rows with other rows.
#pragma once
#include <cstdint>

#include "lanes.hpp"
#include "packed.hpp"

namespace mlcli::LEVEL {

// Columns that lie together: a multiple of what each instruction set takes at once.
template <class T> constexpr int PANEL_OF = 192 / sizeof(T);
constexpr int PANEL = PANEL_OF<double>;
constexpr std::int64_t PACKED = 128;  // rows whose columns are packed together: a panel stays in the first cache
constexpr int HEIGHT = VECTORS == 4 ? 8 : 4;  // rows of a tile, by the number of registers

// A tile (HEIGHT x `wide` vectors) of sums over `depth` of left[k][i] right[k][j]; `step` are the numbers from one k to
// the next on the left, `apart` from one row i to the next.
template <int wide = 3, class T>
INLINE void tile(const T *left, std::int64_t step, std::int64_t apart, const T *right, std::int64_t depth, T *out,
                 std::int64_t stride) {
    using L = Lanes<T>;
    typename L::V sums[HEIGHT][wide], some[wide];
    for (int i = 0; i < HEIGHT; ++i)
        for (int v = 0; v < wide; ++v) sums[i][v] = L::load(out + i * stride + v * L::width);
    for (std::int64_t k = 0; k < depth; ++k, left += step, right += PANEL_OF<T>) {
#pragma GCC unroll 3
        for (int v = 0; v < wide; ++v) some[v] = L::load(right + v * L::width);
#pragma GCC unroll 8
        for (int i = 0; i < HEIGHT; ++i) {
            const typename L::V one = L::fill(left[i * apart]);
#pragma GCC unroll 3
            for (int v = 0; v < wide; ++v) sums[i][v] = L::fma(one, some[v], sums[i][v]);
        }
    }
    for (int i = 0; i < HEIGHT; ++i)
        for (int v = 0; v < wide; ++v) L::store(out + i * stride + v * L::width, sums[i][v]);
}

INLINE std::int64_t smaller(std::int64_t one, std::int64_t other) { return one < other ? one : other; }

template <class T> INLINE void clear(T *numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = 0;
}

template <class T = double> INLINE std::int64_t padded(std::int64_t columns) {
    return (columns + PANEL_OF<T> - 1) / PANEL_OF<T> * PANEL_OF<T>;
}

// Numbers of scratch for `gram`: the packed rows, and the products with columns of zeros up to whole panels.
static std::int64_t gram_scratch(std::int64_t columns) { return padded(columns) * (PACKED + padded(columns)); }

// The columns of some rows less a shift, in panels. `down` and `across` are the numbers from one row and column to the
// next; that of each column is added to `sums` row by row, in either order of the memory.
INLINE void pack(const double *rows, std::int64_t down, std::int64_t across, std::int64_t depth, std::int64_t columns,
                 const double *shift, double *packed, double *sums) {
    for (std::int64_t start = 0; start < columns; start += PANEL, packed += PANEL * PACKED) {
        const std::int64_t some = smaller(PANEL, columns - start);
        const double *from = rows + start * across, *less = shift + start;
        if (across == 1) {
            for (std::int64_t k = 0; k < depth; ++k)
                for (std::int64_t j = 0; j < some; ++j) {
                    const double moved = from[k * down + j] - less[j];
                    packed[k * PANEL + j] = moved;
                    sums[start + j] += moved;
                }
        } else {
            for (std::int64_t j = 0; j < some; ++j)
                for (std::int64_t k = 0; k < depth; ++k) {
                    const double moved = from[k * down + j * across] - less[j];
                    packed[k * PANEL + j] = moved;
                    sums[start + j] += moved;
                }
        }
    }
}

// Σ (x - s)(x - s)ᵀ of rows x less a shift s, in `out` (columns x columns), and Σ (x - s) in `sums` (columns).
static void gram(const double *rows, std::int64_t down, std::int64_t across, std::int64_t count, std::int64_t columns,
                 const double *shift, double *out, double *sums, double *scratch) {
    constexpr int WIDE = 3 * Lanes<double>::width;
    const std::int64_t width = padded(columns);
    double *packed = scratch, *products = scratch + width * PACKED;
    clear(scratch, gram_scratch(columns));
    clear(sums, columns);
    for (std::int64_t first = 0; first < count; first += PACKED) {
        const std::int64_t depth = smaller(PACKED, count - first);
        pack(rows + first * down, down, across, depth, columns, shift, packed, sums);
        for (std::int64_t right = 0; right < width; right += PANEL)
            for (std::int64_t part = 0; part < PANEL; part += WIDE)
                for (std::int64_t left = 0; left <= right; left += PANEL)
                    for (std::int64_t i = 0; i < PANEL; i += HEIGHT)
                        tile(packed + left * PACKED + i, PANEL, 1, packed + right * PACKED + part, depth,
                             products + (left + i) * width + right + part, width);
    }
    for (std::int64_t i = 0; i < columns; ++i)
        for (std::int64_t j = i; j < columns; ++j)
            out[i * columns + j] = out[j * columns + i] = products[i * width + j];
}

constexpr std::int64_t TOGETHER = 64;  // rows that are multiplied together: they stay in the second cache

INLINE double square_sum(const double *row, std::int64_t columns) {
    using L = Lanes<double>;
    constexpr int TWICE = 2 * Line<double>::size;
    Line<double> even = fill_line(0.0), odd = even;
    std::int64_t j = 0;
    for (; j + TWICE <= columns; j += TWICE)
        for (int p = 0; p < Line<double>::parts; ++p) {
            const typename L::V one = L::load(row + j + p * L::width);
            const typename L::V other = L::load(row + j + Line<double>::size + p * L::width);
            even.part[p] = L::fma(one, one, even.part[p]);
            odd.part[p] = L::fma(other, other, odd.part[p]);
        }
    double sum = sum_of(even) + sum_of(odd);
    for (; j < columns; ++j) sum += row[j] * row[j];
    return sum;
}

// Numbers of scratch for `project`: the packed right side, some rows, and their products.
static std::int64_t project_scratch(std::int64_t columns, std::int64_t others) {
    return padded(others) * (columns + TOGETHER) + TOGETHER * columns;
}

// (x - s)ᵀ R of rows x (count x columns) less a shift s, with R (columns x others), in `out` (count x others), and
// ‖x - s‖² in `norms`. A row has the same bits whatever the other rows.
static void project(const double *rows, std::int64_t count, std::int64_t columns, const double *shift,
                    const double *right, std::int64_t others, double *out, double *norms, double *scratch) {
    constexpr int WIDE = 3 * Lanes<double>::width;
    const std::int64_t width = padded(others);
    double *packed = scratch, *products = packed + width * columns, *moved = products + TOGETHER * width;
    for (std::int64_t start = 0; start < width; start += PANEL)
        for (std::int64_t k = 0; k < columns; ++k)
            for (std::int64_t j = 0; j < PANEL; ++j)
                packed[start * columns + k * PANEL + j] = start + j < others ? right[k * others + start + j] : 0.0;
    clear(moved, TOGETHER * columns);
    for (std::int64_t first = 0; first < count; first += TOGETHER) {
        const std::int64_t some = smaller(TOGETHER, count - first), tall = (some + HEIGHT - 1) / HEIGHT * HEIGHT;
        for (std::int64_t i = 0; i < some; ++i) {
            const double *row = rows + (first + i) * columns;
            for (std::int64_t j = 0; j < columns; ++j) moved[i * columns + j] = row[j] - shift[j];
            norms[first + i] = square_sum(moved + i * columns, columns);
        }
        clear(products, tall * width);
        for (std::int64_t start = 0; start < columns; start += PACKED)
            for (std::int64_t panel = 0; panel < width; panel += PANEL)
                for (std::int64_t part = 0; part < PANEL; part += WIDE) {
                    const double *from = packed + panel * columns + start * PANEL + part;
                    const std::int64_t depth = smaller(PACKED, columns - start), left = others - panel - part;
                    for (std::int64_t i = 0; left > 0 && i < tall; i += HEIGHT) {
                        const double *own = moved + i * columns + start;
                        double *to = products + i * width + panel + part;
                        if (left <= Lanes<double>::width) tile<1>(own, 1, columns, from, depth, to, width);
                        else tile(own, 1, columns, from, depth, to, width);
                    }
                }
        for (std::int64_t i = 0; i < some; ++i)
            for (std::int64_t j = 0; j < others; ++j) out[(first + i) * others + j] = products[i * width + j];
    }
}

#if defined(MLCLI_PACKED)
// xᵀ y of rows x (count x columns) with rows y (others x columns), in `out` (count x others).
static std::int64_t rows_scratch(std::int64_t others) { return packed_scratch<Singles>(others); }

static void products_of_rows(const float *rows, std::int64_t count, const float *right, std::int64_t others,
                             std::int64_t columns, float *out, float *scratch) {
    packed_products(Singles{rows, columns}, count, Singles{right, columns}, others, out, scratch,
                    [](Lanes<float>::V sum) { return sum; });
}
#else
// A tile of which only some rows and columns are there.
template <class T>
INLINE void tile_edge(const T *left, std::int64_t apart, const T *right, std::int64_t depth, T *out,
                      std::int64_t stride, std::int64_t rows, std::int64_t columns) {
    constexpr int WIDE = 3 * Lanes<T>::width;
    T room[HEIGHT * WIDE] = {};
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) room[i * WIDE + j] = out[i * stride + j];
    tile(left, 1, apart, right, depth, room, WIDE);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) out[i * stride + j] = room[i * WIDE + j];
}

// Numbers of scratch for `products_of_rows`: the packed right side, and the last rows of the left, up to a whole tile.
static std::int64_t rows_scratch(std::int64_t others) { return (padded<float>(others) + HEIGHT) * PACKED; }

// xᵀ y of rows x (count x columns) with rows y (others x columns), in `out` (count x others).
static void products_of_rows(const float *rows, std::int64_t count, const float *right, std::int64_t others,
                             std::int64_t columns, float *out, float *scratch) {
    constexpr int WIDE = 3 * Lanes<float>::width, PART = PANEL_OF<float>;
    const std::int64_t tall = count / HEIGHT * HEIGHT;
    float *packed = scratch, *tail = scratch + padded<float>(others) * PACKED;
    clear(scratch, rows_scratch(others));
    clear(out, count * others);
    for (std::int64_t start = 0; start < columns; start += PACKED) {
        const std::int64_t depth = smaller(PACKED, columns - start);
        for (std::int64_t j = 0; j < others; ++j)
            for (std::int64_t k = 0; k < depth; ++k)
                packed[(j - j % PART) * PACKED + k * PART + j % PART] = right[j * columns + start + k];
        for (std::int64_t i = tall; i < count; ++i)
            for (std::int64_t k = 0; k < depth; ++k) tail[(i - tall) * PACKED + k] = rows[i * columns + start + k];
        for (std::int64_t first = 0; first < others; first += WIDE) {
            const std::int64_t some = smaller(WIDE, others - first);
            const float *panel = packed + (first - first % PART) * PACKED + first % PART;
            for (std::int64_t i = 0; i < tall; i += HEIGHT) {
                const float *left = rows + i * columns + start;
                if (some == WIDE)
                    tile(left, 1, columns, panel, depth, out + i * others + first, others);
                else
                    tile_edge(left, columns, panel, depth, out + i * others + first, others, HEIGHT, some);
            }
            if (tall < count)
                tile_edge<float>(tail, PACKED, panel, depth, out + tall * others + first, others, count - tall, some);
        }
    }
}
#endif

}  // namespace mlcli::LEVEL
