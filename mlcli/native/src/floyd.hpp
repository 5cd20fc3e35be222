// Blocked Floyd-Warshall: a pivot strip of rows first, then every other strip by itself.
#pragma once
#include "plan.hpp"
#include "tiles.hpp"

namespace mlcli::LEVEL {

// The strip's rows through one another: first its square block vertex by vertex, then the whole rows.
static void floyd_pivot(double *matrix, std::int64_t size, std::int64_t pivot, double *scratch) {
    const std::int64_t low = pivot * STRIP, high = low + STRIP < size ? low + STRIP : size;
    const int count = static_cast<int>(high - low);
    double *rows[STRIP] = {}, *copy = scratch + STRIP * STRIP;
    for (int r = 0; r < count; ++r) rows[r] = matrix + (low + r) * size;
    for (int v = 0; v < count; ++v)
        for (int r = 0; r < count; ++r) {
            const double length = rows[r][low + v];
            if (r != v) update_rows<MinPlus, double, 1>(rows + r, &length, rows[v], 0, 1, low, high);
        }
    for (int v = 0; v < count; ++v)  // packed wants its columns as rows: block[v][r] is the way from r to v
        for (int r = 0; r < count; ++r) copy[v * STRIP + r] = rows[r][low + v];
    pack(copy, STRIP, count, count, scratch);
    for (std::int64_t column = 0; column < size; column += STRIP) {
        const std::int64_t end = column + STRIP < size ? column + STRIP : size;
        for (int r = 0; r < count; ++r)
            std::memcpy(copy + r * STRIP, rows[r] + column, (end - column) * sizeof(double));
        update<MinPlus>(rows, count, scratch, copy - column, STRIP, count, column, end);
    }
}

static void floyd_rows(double *matrix, std::int64_t size, std::int64_t pivot, std::int64_t strip, double *scratch) {
    const std::int64_t low = pivot * STRIP, high = low + STRIP < size ? low + STRIP : size;
    const std::int64_t start = strip * STRIP, stop = start + STRIP < size ? start + STRIP : size;
    const int count = static_cast<int>(stop - start), depth = static_cast<int>(high - low);
    double *rows[STRIP] = {}, *copy = scratch + STRIP * STRIP;
    for (int r = 0; r < count; ++r) rows[r] = matrix + (start + r) * size;
    const double *pivots = matrix + low * size;
    for (int v = 0; v < depth; ++v)
        for (int r = 0; r < count; ++r) copy[v * STRIP + r] = rows[r][low + v];
    pack(copy, STRIP, depth, count, scratch);
    update<MinPlus>(rows, count, scratch, pivots, size, depth, low, high);
    for (int v = 0; v < depth; ++v)
        for (int r = 0; r < count; ++r) copy[v * STRIP + r] = rows[r][low + v];
    pack(copy, STRIP, depth, count, scratch);
    for (std::int64_t column = 0; column < size; column += COLUMNS)
        update<MinPlus>(rows, count, scratch, pivots, size, depth, column, column + COLUMNS < size ? column + COLUMNS : size);
}

}  // namespace mlcli::LEVEL
