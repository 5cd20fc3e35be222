// Groups of vertices that are eliminated together: exact supernodes, merged where that makes a pass cheaper.
#pragma once
#include "tree.hpp"

namespace mlcli {

struct Group {
    std::int32_t rows, ups;
    std::int32_t parent;  // a later group, -1 at a root
};

struct Groups {
    std::vector<Group> list;  // children before parents
    Ints position;            // the old position of a vertex -> its new one, groups in order
};

Groups merged_groups(const Ints &parent, const Ints &counts);

}  // namespace mlcli
