"""t-SNE against openTSNE 1.0.4: affinities, single steps, and the divergence at the end."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import nearest
from mlcli.methods.neighbor_embedding.perplexity import JointAffinities, calibrate
from mlcli.methods.neighbor_embedding.tsne import Descent, Divergence, first_coordinates, small_start
from tests.laws.agreement.tables import TABLES, facts, read
from tests.support import features

ARRESTS = np.loadtxt(TABLES.parents[1] / "sample_data" / "us_arrests.csv", delimiter=",", skiprows=1,
                     usecols=(1, 2, 3, 4))
START = small_start(first_coordinates(features(ARRESTS), 2), 2, Compute())


def square(found: JointAffinities) -> Array:
    dense = np.zeros((50, 50))
    dense[np.repeat(np.arange(50), np.diff(found.starts)), found.indices] = found.values
    return dense


@pytest.mark.parametrize(("table", "perplexities"), [("affinities", (10.0,)), ("scales", (3.0, 12.0))])
def test_affinities_are_the_same(table: str, perplexities: tuple[float, ...]) -> None:
    expected = read(f"tsne/{table}.csv", names=False, header=False)
    found = square(calibrate(nearest(ARRESTS, int(3 * max(perplexities))), perplexities))
    assert np.abs(found - expected).max() <= 1e-8  # of sum one


def test_steps_lead_to_the_same_coordinates() -> None:
    divergence = Divergence(calibrate(nearest(ARRESTS, 30), (10.0,)), 1.0)
    ended = Descent(early_steps=20, steps=1)(divergence, START, "exact")
    before = Descent(early_steps=19, steps=1, exaggeration=12.0)(divergence, START, "exact").state
    expected = read("tsne/after_20.csv", names=False, header=False)
    expected *= np.sign(np.sum(expected * before.points, axis=0))
    assert np.abs(before.points - expected).max() <= 1e-6 * np.abs(expected).max()
    assert ended.trace[-2] == pytest.approx(before.divergence, rel=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("dof", [1.0, 0.5])
def test_the_divergence_at_the_end_is_within_a_percent(dof: float) -> None:
    """The two descents differ by rounding of the affinities, which many steps enlarge."""
    found = Descent()(Divergence(calibrate(nearest(ARRESTS, 30), (10.0,)), dof), START, "exact").state.divergence
    for way in ("exact", "trees"):
        assert found == pytest.approx(facts("tsne/summary.json")[f"{way}_{dof}"], rel=0.01)
