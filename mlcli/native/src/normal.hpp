// The matrix RᵀR of a sparse R with few numbers in a row: its pattern, and its lower triangle in an order of elimination.
#pragma once
#include "symbolic.hpp"
#include "web.hpp"

namespace mlcli {

class Normal {
public:
    // R in compressed rows; everything must have been checked. Columns are named anew in the order of a search in
    // breadth, so that those that meet lie near each other in memory.
    Normal(std::int64_t rows, std::int32_t columns, const std::int64_t *starts, const std::int64_t *indices,
           const double *values);

    static constexpr int BLOCKS = 16;
    const Ints &names() const { return names_; }  // of its columns in R
    void join(int block);  // the pattern of some columns; blocks at the same time
    Web web();             // the pattern, after all blocks; once
    // The numbers of some nodes of an elimination: those of RᵀR and of a multiple of the identity.
    void fill(const Symbolic &symbolic, const Web &web, double shift, int block, double *numbers) const;

private:
    struct Rows {
        Longs starts{0};
        Ints indices;
        std::vector<double> values;
    };
    std::int32_t columns_;
    Ints names_;
    Rows rows_, transposed_;
    struct Pattern {
        Longs ends;
        Ints joined;
    };
    std::vector<Pattern> patterns_;

    void name(std::int64_t rows, const std::int64_t *starts, const std::int64_t *indices, const double *values);
    void transpose();
};

}  // namespace mlcli
