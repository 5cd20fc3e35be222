"""How the rules are weighed: who has a vote, who decides, and how far they agree."""

import numpy as np
import pytest

from mlcli.findings.dimension.evidence import RuleVerdict
from mlcli.findings.dimension.rules import elect, recommendation
from mlcli.findings.dimension.section import dimension
from tests.findings.dimension.support import found

RULES = ("residual_variance", "two_nn", "broken_stick", "elbow")


def said(**counts: int | tuple[int, str]) -> dict[str, RuleVerdict]:
    """Verdicts with these counts, some of them with a doubt."""
    whole = {name: count if isinstance(count, tuple) else (count, "") for name, count in counts.items()}
    return {name: RuleVerdict(count, "", "found", {}, doubt) for name, (count, doubt) in whole.items()}


def test_the_best_rule_decides_unless_all_others_agree_on_something_else() -> None:
    assert elect(RULES, {"residual_variance": 4, "two_nn": 2, "broken_stick": 2, "elbow": 3}) == "residual_variance"
    assert elect(RULES, {"residual_variance": 4, "two_nn": 2, "broken_stick": 2, "elbow": 2}) == "two_nn"
    assert elect(RULES[:3], {"residual_variance": 4, "two_nn": 2, "broken_stick": 2}) == "residual_variance"


def test_a_rule_with_a_doubt_has_no_vote_and_is_told_with_the_reason() -> None:
    advice = recommendation(RULES, said(two_nn=(21, "too high"), broken_stick=(117, "too many"), elbow=2, kaiser=3))
    assert advice["components"] == 2 and advice["by"] == "elbow" and advice["differ"] == {"kaiser": 3}
    assert advice["sentence"].endswith("Without a vote: TwoNN 21 (too high); broken stick 117 (too many).")
    nothing = recommendation(RULES, said(two_nn=(21, "too high")))
    assert nothing["components"] is None and "TwoNN 21" in nothing["sentence"]


@pytest.mark.parametrize(("counts", "sentence", "agreed"), [
    ((2, 2, 3, 2), "TwoNN and elbow give the same number; other rules differ: broken stick 3.", (2, 3)),
    ((2, 2, 2, 2), "All other rules give the same number.", (3, 3)),
    ((2, 7, 2, 9), "Broken stick gives the same number; other rules differ: TwoNN 7, elbow 9.", (1, 1)),
    ((2, 7, 8, 9), "Other rules differ: TwoNN 7, broken stick 8, elbow 9.", (0, 0)), ((2,), "", (0, 0))])
def test_which_rules_give_the_same_number(counts: tuple[int, ...], sentence: str, agreed: tuple[int, int]) -> None:
    advice = recommendation(RULES, said(**dict(zip(RULES, counts, strict=False))))
    assert advice["sentence"] == f"Keep 2 axes by residual variance (found). {sentence}".strip()
    assert advice["agreement"] == {"same": agreed[0], "near": agreed[1], "of": len(counts) - 1}


def test_without_a_rule_of_the_method_the_others_are_estimates() -> None:
    doubtful = {"maximum_likelihood": (12, "too high"), "broken_stick": (9, "too high")}
    advice = recommendation(("elbow",), said(two_nn=5, **doubtful))
    assert advice["sentence"] == ("No rule for the number of axes applies. Estimates: TwoNN 5. Without a vote: "
                                  "maximum likelihood 12, broken stick 9 (too high).")
    assert recommendation((), said(two_nn=5))["sentence"] == "Estimates: TwoNN 5."


def test_a_method_without_rules_and_estimates_has_no_part_about_them() -> None:
    """Clusters of `ib` have no dimension, and no eigenvalues."""
    document = found("ib", np.random.default_rng(0).integers(1, 9, (30, 4)).astype(float))
    assert document["rules"] == {} and document["recommendation"]["sentence"] == ""
    assert document["left_out"]["two_nn"] == "a dimension is no number of clusters"
    assert dimension(document, 2) is None


def test_no_broken_stick_of_hundreds_of_pieces_and_no_two_nn_beyond_its_reach_decides() -> None:
    """Points in a ball of 30 dimensions: TwoNN says so, roughly; hundreds of eigenvalues of a kernel pass any stick."""
    points = np.random.default_rng(2).standard_normal((400, 30))
    document = found("isomap", points, neighbors=8, eigensolve={"components": 2})
    assert document["rules"]["two_nn"]["components"] > 10 and document["rules"]["two_nn"]["doubt"]
    assert document["recommendation"]["by"] not in ("two_nn", "broken_stick")
    document = found("kpca", points[:150])
    assert document["rules"]["broken_stick"]["figures"]["pieces"] > 100
    assert document["recommendation"]["by"] != "broken_stick"


def test_shares_over_one_are_told_with_the_share_of_the_positive_ones() -> None:
    generator = np.random.default_rng(1)
    points = generator.standard_normal((30, 2))
    distances = np.abs(points[:, None] - points).sum(axis=2) ** 1.5  # far from Euclidean
    from tests.support import dissimilarities

    document = found("mds", dissimilarities(distances), eigensolve={"components": 2})
    detail = document["rules"]["variance_99"]["detail"]
    assert "of the positive eigenvalues" in detail and "includes the negative ones" in detail
