// Python bindings of the search for near pairs of points in blocks.
#include "bindings.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "blockorder.hpp"
#include "kernels.hpp"

namespace mlcli {
namespace {

// Points in an order, in groups; the last group is filled up with points that are near no other.
class BlockedPoints {
public:
    BlockedPoints(Matrix<const float> points, Vector<std::int64_t> order, std::int64_t block)
        : columns_(static_cast<std::int64_t>(points.shape(1))), count_(static_cast<std::int64_t>(points.shape(0))),
          size_((count_ + BUNDLE - 1) / BUNDLE * BUNDLE), block_(block), order_(order.data(), order.data() + order.size()),
          packed_(static_cast<std::size_t>(size_ * columns_)), locks_(static_cast<std::size_t>((count_ + block - 1) / block)) {
        for (std::int64_t i = 0; i < count_; ++i) {
            const float *point = points.data() + order_[i] * columns_;
            float *to = packed_.data() + i / BUNDLE * BUNDLE * columns_ + i % BUNDLE;
            for (std::int64_t c = 0; c < columns_; ++c) to[c * BUNDLE] = point[c];
        }
    }

    BlockedPoints(const BlockedPoints &) = delete;
    BlockedPoints &operator=(const BlockedPoints &) = delete;

    std::int64_t blocks() const { return static_cast<std::int64_t>(locks_.size()); }

    // What the points of a block and of others keep of each other.
    void search(std::int64_t block, Vector<std::int64_t> others, Vector<float> halves, Vector<float> kept,
                Vector<float> reach, Vector<std::int64_t> ends, Matrix<const float> rests, bool portable,
                Matrix<std::int64_t> indices, Matrix<float> values, Target<std::int64_t> passed) {
        const std::size_t size = static_cast<std::size_t>(size_), stages = ends.size();
        require(halves.size() == size && kept.size() == size && reach.size() == size / BUNDLE,
                "halves and kept must have a number for every point, and reach one for every group");
        require(stages > 0 && rests.shape(0) == stages && rests.shape(1) == size && passed.size() == stages,
                "rests and passed must have a row for every stage");
        for (std::size_t s = 0; s < stages; ++s)
            require(ends(s) >= (s > 0 ? ends(s - 1) : 0) && ends(s) <= columns_, "stages must end in order");
        require(ends(stages - 1) == columns_, "the last stage must have all columns");
        require(static_cast<std::int64_t>(indices.shape(0)) == count_ && static_cast<std::int64_t>(values.shape(0)) == count_ &&
                    values.shape(1) == indices.shape(1) && indices.shape(1) > 0,
                "indices and values must have a row for every point");
        require(block >= 0 && block < blocks(), "there is no such block");
        for (std::size_t o = 0; o < others.size(); ++o) require(others(o) >= 0 && others(o) < blocks(), "there is no such block");
        nb::gil_scoped_release release;
        const NearPoints points{columns_, packed_.data(), halves.data(), kept.data(), reach.data(),
                                static_cast<std::int64_t>(stages), ends.data(), rests.data(), size_};
        const Kernels<float> &kernel = kernels<float>();
        const auto find = portable ? kernel.portable_near_pairs : kernel.near_pairs;
        const std::unique_ptr<NearPair[]> pairs(new NearPair[static_cast<std::size_t>(block_ * block_)]);
        const int most = static_cast<int>(indices.shape(1));
        const auto keep = [&](std::int64_t of, std::int64_t found, bool turned) {
            const std::lock_guard<std::mutex> lock(locks_[static_cast<std::size_t>(of)]);
            kernel.keep_near(pairs.get(), found, order_.data(), turned, most, values.data(), indices.data());
        };
        for (std::size_t o = 0; o < others.size(); ++o) {
            const std::int64_t other = others(o), found = find(points, first(block), groups(block), first(other),
                                                               groups(other), pairs.get(), passed.data());
            if (found > 0) keep(block, found, false), keep(other, found, true);
        }
    }

private:
    std::int64_t columns_, count_, size_, block_;
    std::vector<std::int64_t> order_;
    std::vector<float> packed_;
    std::vector<std::mutex> locks_;

    std::int64_t first(std::int64_t block) const { return block * (block_ / BUNDLE); }
    std::int64_t groups(std::int64_t block) const {
        return std::min(block_ / BUNDLE, size_ / BUNDLE - first(block));
    }
};

void check_points(const Matrix<const float> &points) {
    require(points.shape(0) > 0 && points.shape(0) < (std::size_t{1} << 31) && points.shape(1) > 0,
            "there must be points with columns");
}

void build(BlockedPoints *self, Matrix<const float> points, Vector<std::int64_t> order, std::int64_t block) {
    check_points(points);
    require(block > 0 && block % BUNDLE == 0, "a block must be of whole groups");
    require(order.size() == points.shape(0), "the order must have a number for every point");
    check_order(order, static_cast<std::int64_t>(points.shape(0)));
    new (self) BlockedPoints(points, order, block);
}

nb::object order_in_blocks(Matrix<const float> points, std::int64_t block) {
    check_points(points);
    require(block > 0 && block % BUNDLE == 0, "a block must be of whole groups");
    std::vector<std::int64_t> order;
    {
        nb::gil_scoped_release release;
        order = block_order(points.data(), static_cast<std::int64_t>(points.shape(0)),
                            static_cast<std::int64_t>(points.shape(1)), block, BUNDLE);
    }
    return array(order.data(), order.size());
}

}  // namespace

void bind_near(nb::module_ &m) {
    m.attr("GROUP") = BUNDLE;
    m.def("block_order", &order_in_blocks, "points"_a.noconvert(), "block"_a);
    nb::class_<BlockedPoints>(m, "BlockedPoints")
        .def("__init__", &build, "points"_a.noconvert(), "order"_a.noconvert(), "block"_a)
        .def("search", &BlockedPoints::search, "block"_a, "others"_a.noconvert(), "halves"_a.noconvert(),
             "kept"_a.noconvert(), "reach"_a.noconvert(), "ends"_a.noconvert(), "rests"_a.noconvert(), "portable"_a,
             "indices"_a.noconvert(), "values"_a.noconvert(), "passed"_a.noconvert());
}

}  // namespace mlcli
