// The matrix RᵀR of a sparse R with few numbers in a row: its pattern, and its lower triangle in an order of elimination.
#include "normal.hpp"

#include <algorithm>

namespace mlcli {

Normal::Normal(std::int64_t rows, std::int32_t columns, const std::int64_t *starts, const std::int64_t *indices,
               const double *values)
    : columns_(columns), patterns_(BLOCKS) {
    name(rows, starts, indices, values);
    transpose();
}

// Names columns in the order in which a search in breadth meets them, and takes the rows as it meets these.
void Normal::name(std::int64_t rows, const std::int64_t *starts, const std::int64_t *indices, const double *values) {
    Longs first(columns_ + 1, 0);
    for (std::int64_t e = 0; e < starts[rows]; ++e) ++first[indices[e] + 1];
    for (std::int32_t v = 0; v < columns_; ++v) first[v + 1] += first[v];
    Ints in(starts[rows]), name(columns_, -1);
    Longs next(first.begin(), first.end() - 1);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t e = starts[r]; e < starts[r + 1]; ++e) in[next[indices[e]]++] = static_cast<std::int32_t>(r);
    std::vector<char> seen(rows, 0);
    rows_.starts.reserve(rows + 1);
    rows_.indices.reserve(starts[rows]);
    rows_.values.reserve(starts[rows]);
    names_.reserve(columns_);
    auto meet = [&](std::int64_t v) {
        if (name[v] != -1) return;
        name[v] = static_cast<std::int32_t>(names_.size());
        names_.push_back(static_cast<std::int32_t>(v));
    };
    std::size_t done = 0;
    for (std::int32_t v = 0; v < columns_; ++v)
        for (meet(v); done < names_.size(); ++done)
            for (std::int64_t i = first[names_[done]]; i < first[names_[done] + 1]; ++i) {
                const std::int32_t r = in[i];
                if (seen[r]) continue;
                seen[r] = 1;
                for (std::int64_t e = starts[r]; e < starts[r + 1]; ++e) {
                    meet(indices[e]);
                    rows_.indices.push_back(name[indices[e]]);
                    rows_.values.push_back(values[e]);
                }
                rows_.starts.push_back(static_cast<std::int64_t>(rows_.indices.size()));
            }
}

void Normal::transpose() {
    transposed_.starts.assign(columns_ + 1, 0);
    transposed_.indices.resize(rows_.indices.size());
    transposed_.values.resize(rows_.indices.size());
    for (const std::int32_t v : rows_.indices) ++transposed_.starts[v + 1];
    for (std::int32_t v = 0; v < columns_; ++v) transposed_.starts[v + 1] += transposed_.starts[v];
    Longs next(transposed_.starts.begin(), transposed_.starts.end() - 1);
    for (std::size_t r = 0; r + 1 < rows_.starts.size(); ++r)
        for (std::int64_t e = rows_.starts[r]; e < rows_.starts[r + 1]; ++e) {
            const std::int64_t place = next[rows_.indices[e]]++;
            transposed_.indices[place] = static_cast<std::int32_t>(r);
            transposed_.values[place] = rows_.values[e];
        }
}

void Normal::join(int block) {
    const auto first = static_cast<std::int32_t>(static_cast<std::int64_t>(columns_) * block / BLOCKS);
    const auto last = static_cast<std::int32_t>(static_cast<std::int64_t>(columns_) * (block + 1) / BLOCKS);
    Ints mark(columns_, -1);
    Pattern &pattern = patterns_[block];
    for (std::int32_t v = first; v < last; ++v) {
        mark[v] = v;
        for (std::int64_t i = transposed_.starts[v]; i < transposed_.starts[v + 1]; ++i)
            for (std::int64_t e = rows_.starts[transposed_.indices[i]]; e < rows_.starts[transposed_.indices[i] + 1]; ++e) {
                const std::int32_t u = rows_.indices[e];
                if (mark[u] == v) continue;
                mark[u] = v;
                pattern.joined.push_back(u);
            }
        pattern.ends.push_back(static_cast<std::int64_t>(pattern.joined.size()));
    }
}

Web Normal::web() {
    Web web;
    web.vertices = columns_;
    std::size_t size = 0;
    for (const Pattern &pattern : patterns_) size += pattern.joined.size();
    web.joined.reserve(size);
    for (Pattern &pattern : patterns_) {
        const std::int64_t before = web.starts.back();
        for (const std::int64_t end : pattern.ends) web.starts.push_back(before + end);
        web.joined.insert(web.joined.end(), pattern.joined.begin(), pattern.joined.end());
        pattern = Pattern();
    }
    return web;
}

void Normal::fill(const Symbolic &symbolic, const Web &web, double shift, int block, double *numbers) const {
    const auto count = static_cast<std::int64_t>(symbolic.nodes.size());
    std::vector<double> sums(columns_, 0.0);
    std::vector<std::uint32_t> where(symbolic.plan().depth);
    for (std::int64_t i = count * block / BLOCKS; i < count * (block + 1) / BLOCKS; ++i) {
        const Node &node = symbolic.nodes[i];
        const std::uint32_t *list = symbolic.lists.data() + node.list;
        for (std::int32_t j = 0; j < node.ups + node.rows; ++j) where[list[j]] = static_cast<std::uint32_t>(j);
        std::fill_n(numbers + node.values, static_cast<std::int64_t>(node.rows) * node.width, 0.0);
        for (std::int32_t r = 0; r < node.rows; ++r) {
            const std::int32_t place = node.top - r, v = symbolic.original[place];
            double *row = numbers + node.values + static_cast<std::int64_t>(r) * node.width;
            for (std::int64_t k = transposed_.starts[v]; k < transposed_.starts[v + 1]; ++k) {
                const std::int32_t meeting = transposed_.indices[k];
                for (std::int64_t e = rows_.starts[meeting]; e < rows_.starts[meeting + 1]; ++e)
                    sums[rows_.indices[e]] += transposed_.values[k] * rows_.values[e];
            }
            auto take = [&](std::int32_t u) {
                const std::int32_t other = symbolic.position[u];
                const Node &above = symbolic.nodes[symbolic.node_of[other]];
                if (other >= place) row[where[above.base + above.top - other]] = sums[u];
                sums[u] = 0;
            };
            sums[v] += shift;
            take(v);
            for (std::int64_t e = web.starts[v]; e < web.starts[v + 1]; ++e) take(web.joined[e]);
        }
    }
}

}  // namespace mlcli
