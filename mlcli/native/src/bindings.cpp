// The Python module of the kernels.
#include "bindings.hpp"

#include "kernels.hpp"

NB_MODULE(_kernels, m) {
    m.def("level", [] { return mlcli::level().name; });
    m.def("processor_level", &mlcli::processor_level);
    m.def("choose_level", &mlcli::choose_level, "name"_a);
#if defined(MLCLI_SANITIZED)
    m.attr("sanitized") = true;
#else
    m.attr("sanitized") = false;
#endif
    mlcli::bind_anchors(m);
    mlcli::bind_convolution(m);
    mlcli::bind_differences(m);
    mlcli::bind_elementary(m);
    mlcli::bind_elimination(m);
    mlcli::bind_gaussian(m);
    mlcli::bind_near(m);
    mlcli::bind_nearest(m);
    mlcli::bind_normal(m);
    mlcli::bind_paths(m);
    mlcli::bind_products(m);
    mlcli::bind_radial(m);
    mlcli::bind_ranks(m);
    mlcli::bind_sampling(m);
    mlcli::bind_sparse(m);
    mlcli::bind_stress(m);
    mlcli::bind_student(m);
    mlcli::bind_sweeps(m);
    mlcli::bind_text(m);
    mlcli::bind_traces(m);
    mlcli::bind_triangles(m);
}
