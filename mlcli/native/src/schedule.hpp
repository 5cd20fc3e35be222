// The tasks of an elimination: stages follow one another, the tasks of a stage may run at the same time.
#pragma once
#include <vector>

#include "symbolic.hpp"

namespace mlcli {

struct Task {
    std::int32_t first, last;  // nodes first .. last, ascending
    std::int32_t low, high;    // columns, where it is one node; all of them where high is 0
};

using Stage = std::vector<Task>;

std::vector<Stage> schedule(const Symbolic &symbolic);
std::vector<std::int64_t> task_counts(const std::vector<Stage> &stages);  // of each stage
const Task &task_at(const std::vector<Stage> &stages, std::int64_t stage, std::int64_t task);  // or std::invalid_argument

}  // namespace mlcli
