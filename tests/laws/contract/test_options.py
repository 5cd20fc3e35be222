"""Nothing that a user says is ignored: every option of every method changes what is written, or is refused."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from mlcli.core.similarities.projector import NoProjection
from mlcli.errors import ConfigError, MlcliError
from mlcli.findings.spectrum.table import spectrum_facts
from mlcli.methods import METHODS
from tests.laws.contract.option_values import Change, changes, plain, with_change
from tests.laws.contract.test_contract import BROKEN, CONFIGURATIONS, NEEDS_NEIGHBORS, POINTS
from tests.support import Notes, fit, in_domain, spectrum_table

REFUSED = "refused"
FEW = POINTS[:40]
APART = FEW + 100.0 * (np.arange(40) % 2)[:, None]  # two clusters
WITH_GAPS = np.where(np.random.default_rng(1).random(FEW.shape) < 0.1, np.nan, FEW)
# whose graph may be in pieces, as they ask what to do then
NEEDS_PIECES = [method for method in NEEDS_NEIGHBORS if "pieces" in type(METHODS[method]().neighbors).model_fields]
# ways of running a method in which permissions matter
NEEDING: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{method} in pieces": (method, {"neighbors": {"count": 9, "pieces": "connect"}}) for method in NEEDS_PIECES},
    "sde unproven": ("sde", {"neighbors": {"count": 6}, "iterations": 3, "accept_uncertified": True}),
    "fa with gaps": ("fa", {}), "nmds with ties": ("nmds", {"starts": 1}),
    "chain in pieces": ("chain", {"graph": {"neighbors": {"radius": 1.0, "pieces": "connect"}},
                                  "kernel": {"name": "graph_laplacian"}}),
    "chain unproven": ("chain", {"graph": {"neighbors": {"count": 6}},
                                 "kernel": {"name": "unfolding", "iterations": 3, "accept_uncertified": True}}),
}
SHORT: dict[str, dict[str, Any]] = {  # iterations enough to tell options apart, where slow
    "lgssm": {"iterate": {"limit": 12}}, "ppca em": {"iterate": {"limit": 40}}, "smacof": {"iterate": {"limit": 60}},
    "sammon": {"iterate": {"limit": 60}}, "gplvm bayesian": {"minimize": {"limit": 40}},
    "gpssm ard": {"minimize": {"limit": 12}}}
CONTEXTS = {**CONFIGURATIONS, **NEEDING}
TRAINED = ("autoencoder", "vae", "vib", "gplvm bayesian", "gplvm network", "gplvm smooth", "gplvm sparse", "gpdm",
           "gpdm second order", "gpssm", "gpssm linear", "gpssm ard", "mvgplvm")  # for every option
# The ways of a method share most of its options: the first one is tried every day, a chain in all ways.
FIRST = {method: name for name, (method, _) in reversed(CONFIGURATIONS.items())}
in_every_context = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if "quick" in broken or name in TRAINED or not (
             name == FIRST[CONFIGURATIONS[name][0]] or name.startswith("chain")) else [])
             for name, broken in BROKEN.items()])
# An option that says what happens where something goes wrong changes nothing where nothing does.
PERMISSIONS = {"gaps": "missing cells", "ties": "equal dissimilarities",
               "neighbors.pieces": "graphs in pieces",
               "accept_uncertified": "results that are not proven",
               "graph.neighbors.pieces": "graphs in pieces",
               "kernel.unfolding.accept_uncertified": "results that are not proven"}


def context(name: str) -> tuple[str, dict[str, Any]]:
    """The method of a context and its options as in YAML, short ways of writing written out."""
    method, options = CONTEXTS[name]
    options = plain(options)
    return method, options | {path: options.get(path, {}) | limit for path, limit in SHORT.get(name, {}).items()}


def written(method: str, options: dict[str, Any], points: np.ndarray = FEW) -> list[Any]:
    """What a run writes of a fit: numbers, tables, facts and notes; or the code of its error."""
    try:
        with Notes() as notes:
            model = fit(method, in_domain(method, points), **options)
    except (ConfigError, ValidationError):
        return [REFUSED]
    except MlcliError as error:
        return [error.code]
    placed = None if isinstance(model.projector, NoProjection) else model.project(in_domain(method, FEW[:7] + 0.01))
    arrays = [model.embedding, placed, model.trace, model.spreads,
              None if model.loadings is None else model.loadings.values, model.directions,
              None if model.memberships is None else model.memberships.probabilities,
              None if model.forecast is None else model.forecast.means]
    written = METHODS[method].model_validate({"name": method, **options}).axes_options.written(model.embedding.shape[1])
    told = sorted(repr(_choices(note.facts) if note.code == "F-PATHS" else note) for note in notes.notes)
    return [*(None if array is None else np.asarray(array).tobytes() for array in arrays), repr(dict(model.fit)),
            spectrum_table(model.ranks, written), repr(spectrum_facts(model.ranks)), told]


def _choices(facts: dict[str, Any]) -> list[Any]:
    """What was chosen for paths, without what it was predicted to cost."""
    return [facts["algorithm"], facts["store"], facts["precision"]]


def tried(name: str) -> dict[str, list[tuple[Change, bool]]]:
    """The options of a context, with the changes that were tried and whether each left what is written as it was.

    A number is tried until it changes something.
    """
    method, options = context(name)
    default, found = written(method, options), dict[str, list[tuple[Change, bool]]]()
    for change in changes(METHODS[method]):
        before, other = found.get(change.name, []), with_change(options, change.path, change.value)
        done = before and before[0][0].bounds and not all(unchanged for _, unchanged in before)
        if not (done or change.name in PERMISSIONS or same(method, other, options)):
            found[change.name] = [*before, (change, written(method, other) == default)]
    return found


def same(method: str, left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two ways of writing options are the same options."""
    try:
        return METHODS[method](**left).model_dump() == METHODS[method](**right).model_dump()
    except ValidationError:
        return False


@in_every_context
def test_every_option_changes_something_or_is_refused(name: str) -> None:
    """Every choice, but for the one that auto made; of a number, which may bound what is far from it, one value."""
    wrong = {}
    for option, found in tried(name).items():
        ignored, first = [change.value for change, unchanged in found if unchanged], found[0][0]
        if len(ignored) > (len(found) - 1 if first.bounds else first.automatic):
            wrong[option] = ignored
    assert not wrong


NEEDED = [("gaps", "fa with gaps"), ("ties", "nmds with ties"),
          *(("neighbors.pieces", f"{method} in pieces") for method in NEEDS_PIECES),
          ("accept_uncertified", "sde unproven"), ("graph.neighbors.pieces", "chain in pieces"),
          ("kernel.unfolding.accept_uncertified", "chain unproven")]


@pytest.mark.parametrize(("option", "name"), NEEDED)
def test_a_permission_changes_something_where_it_is_needed(option: str, name: str) -> None:
    method, options = context(name)
    points = {"gaps": WITH_GAPS, "ties": np.rint(FEW), "neighbors.pieces": APART}.get(option, FEW)
    found = [written(method, with_change(options, change.path, change.value), points)
             for change in changes(METHODS[method]) if change.name == option]
    assert len({repr(result) for result in found}) == len(found) > 1
    assert {given for given, _ in NEEDED} == PERMISSIONS.keys()


@pytest.mark.parametrize(("method", "options", "path"), [
    ("pca", {"route": "svd", "eigensolve": {"solver": "krylov"}}, "method.eigensolve.solver"),
    ("pca", {"route": "svd", "eigensolve": {"tolerance": 1e-8}}, "method.eigensolve.tolerance"),
    ("pca", {"route": "power", "eigensolve": {"solver": "dense"}}, "method.eigensolve.solver"),
    ("mds", {"eigensolve": {"solver": "dense", "tolerance": 1e-8}}, "method.eigensolve.tolerance"),
    ("isomap", {"landmarks": 20, "paths": {"algorithm": "floyd"}}, "method.paths.algorithm"),
    ("ppca", {"iterate": {"limit": 5}}, "method.iterate.limit"),
    ("fa", {"noise": "equal", "lower": 0.1}, "method.lower"),
    ("sde", {"basis": 0, "softness": 0.1}, "method.softness"),
])
def test_an_option_without_use_is_refused_by_its_path(method: str, options: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit(method, FEW, **options)
    assert (caught.value.code, caught.value.where, caught.value.exit_code) == ("E-UNUSED", path, 78)


def test_power_iteration_stops_where_it_is_told_to() -> None:
    residuals = []
    for tolerance in (0.3, 1e-4, 1e-10):
        model = fit("pca", POINTS, route="power", eigensolve={"tolerance": tolerance, "components": 1})
        assert model.spectrum.tolerance == tolerance
        centered = POINTS - POINTS.mean(axis=0)
        axis, top = model.directions[:, 0], float(model.spectrum.values[0])
        residuals.append(float(np.linalg.norm(centered.T @ (centered @ axis) - top * axis)) / top)
        assert residuals[-1] <= tolerance
    assert residuals[0] > 1e-5 > residuals[1] > 1e-11 > residuals[2]
