// Prints the levels that a build for the machine itself compiles beside the base: CMake runs it.
#include "processor.hpp"

#include <cstdio>

int main() {
    std::printf("%s%s", mlcli::highest_level(), mlcli::runs_vnni() ? ";vnni" : "");
    return 0;
}
