"""The certificate checks no computation by itself: what its modules may take from those that compute is listed."""

import ast

from tests.package import FILES, PACKAGE, nodes

CHECKS = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in FILES
          if path.is_relative_to(PACKAGE / "core" / "check") or path.is_relative_to(PACKAGE / "certify")
          or (path.is_relative_to(PACKAGE / "methods") and "check" in path.stem)}
ROOMS = ("mlcli.core.", "mlcli.methods.")
# Functions of core and of families by which checks read the input, repeat what is defined by its rounding alone, or
# bound rounding (docs/certificate.md, "what is shared").
SHARED = {
    "core.euclidean_distances": {"squared_distances"},
    "core.graph.pieces": {"connected_graph"},
    "core.latent.rotations": {"rows_of_length_one"},
    "core.linalg": {"threads_for"},
    "core.metrics.distances": {"is_euclidean", "metric_of", "squares"},
    "core.paths.geodesics": {"dijkstra_rows"},
    "core.similarities.projector": {"require_projector"},
    "core.whitening": {"whiten"},
    "methods.discriminant.discriminants": {"shrink_within"},
    "methods.layouts": {"centered_axes"},
    "methods.neighbor_embedding.fuzzy_graph": {"graph_lists"},
    "methods.neighbor_embedding.negative_sampling": {"density_moves", "local_radii", "move_points", "move_rows",
                                                     "phases_of", "target"},
    "methods.neighbor_embedding.perplexity": {"affinity_lists", "reach"},
    "methods.neighbor_embedding.walk": {"by_lists", "decay_lists", "distance_rows"},
    "methods.ordination.constraints": {"constraints_of"},
    "methods.parts.random_projection": {"some_rows"},
    "methods.views.two_views": {"rows_of_views"},
}


def functions_taken() -> dict[str, set[str]]:
    """The functions that modules of checks import from modules that compute, by these modules."""
    taken: dict[str, set[str]] = {}
    for path in CHECKS.values():
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROOMS):
                home = (node.module or "").removeprefix("mlcli.")
                names = {alias.name for alias in node.names if alias.name[0].islower()}
                if names and home.replace(".", "/") not in CHECKS and home != "core.check":
                    taken.setdefault(home, set()).update(names)
    return taken


def test_checks_take_the_listed_functions_alone() -> None:
    assert functions_taken() == SHARED


def test_every_family_with_checks_of_its_own_is_seen() -> None:
    assert {"methods/neighbor_embedding/check", "methods/ordination/check", "core/check/kernels",
            "certify/linearization"} <= CHECKS.keys()
