// Checks of what comes from Python.
#include "bindings.hpp"

#include <cmath>
#include <vector>

namespace mlcli {

namespace {

// The pattern of a sparse matrix in compressed rows.
void check_columns(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices, std::int64_t columns) {
    require(starts.size() >= 1 && starts.size() - 1 < INT32_MAX, "starts must hold a number of rows and one more");
    require(columns >= 0 && columns < INT32_MAX, "there are too many columns");
    const auto size = static_cast<std::int64_t>(starts.size()) - 1;
    require(starts(0) == 0 && starts(size) == static_cast<std::int64_t>(indices.size()), "starts must span the indices");
    for (std::int64_t v = 0; v < size; ++v) require(starts(v) <= starts(v + 1), "starts must ascend");
    for (std::size_t e = 0; e < indices.size(); ++e) require(indices(e) >= 0 && indices(e) < columns, "an index is out of range");
}

}  // namespace

void check_links(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices) {
    check_columns(starts, indices, static_cast<std::int64_t>(starts.size()) - 1);
}

void check_rows(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices, const Vector<double> &values,
                std::int64_t columns) {
    check_columns(starts, indices, columns);
    require(indices.size() == values.size(), "indices and numbers must be equally many");
    for (std::size_t e = 0; e < values.size(); ++e) require(std::isfinite(values(e)), "a number is not finite");
}

void check_graph(const Vector<std::int64_t> &starts, const Vector<std::int64_t> &indices, const Vector<double> &lengths) {
    check_links(starts, indices);
    require(indices.size() == lengths.size(), "indices and lengths must be equally many");
    for (std::size_t e = 0; e < lengths.size(); ++e) require(lengths(e) >= 0, "a length is negative or not a number");
}

void check_order(const Vector<std::int64_t> &order, std::int64_t size) {
    require(static_cast<std::int64_t>(order.size()) == size, "order must name every vertex");
    std::vector<char> seen(size, 0);
    for (std::int64_t i = 0; i < size; ++i) {
        require(order(i) >= 0 && order(i) < size && !seen[order(i)], "order must be a permutation");
        seen[order(i)] = 1;
    }
}

}  // namespace mlcli
