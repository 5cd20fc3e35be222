"""Stages of a fit are computed and predicted in the order in which they are declared, and each says its cost."""

import gc
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from weakref import ref

import numpy as np
import pytest

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from tests.package import FILES, PACKAGE


@frozen
class First(Composition[float]):
    """One stage, and what it was asked for in a list."""

    asked: list[str]

    @FitStage
    def whole(self) -> Array:
        """Ones."""
        self.asked.append("whole")
        return np.ones(3)

    @whole.cost
    def _(self) -> list[Step]:
        return [Step("graph", "a search", 1.0, 2.0), Step("weights", "of all", 3.0, 4.0)]


@frozen
class Both(First):
    """Another stage after it, which its result is made of."""

    left_out: bool = False

    @FitStage
    def total(self) -> float:
        """Their sum."""
        self.asked.append("total")
        return float(self.whole.sum())

    @total.cost
    def _(self) -> list[Step]:
        return [] if self.left_out else [Step("eigensolve", "a sum", 5.0, 6.0)]

    def result(self) -> float:
        """Return the sum twice."""
        return self.total + self.total


def test_a_fit_computes_each_stage_once_in_the_order_of_declaration() -> None:
    asked: list[str] = []
    assert Both(asked).fit() == 6.0 and asked == ["whole", "total"]


def test_steps_are_those_of_the_stages_in_their_order_and_compute_none() -> None:
    asked: list[str] = []
    assert [step.stage for step in Both(asked).steps()] == ["graph", "weights", "eigensolve"]
    assert [step.stage for step in Both(asked, left_out=True).steps()] == ["graph", "weights"] and asked == []


def test_a_fit_frees_the_values_of_its_stages() -> None:
    held: list[Any] = []

    @frozen
    class Watched(Composition[int]):
        @FitStage
        def large(self) -> Array:
            """Numbers."""
            made = np.ones(5)
            held.append(ref(made))
            return made

        def result(self) -> int:
            """Return how many."""
            return len(self.large)

    watched = Watched()
    assert watched.fit() == 5
    gc.collect()
    assert held[0]() is None and vars(watched) == {}
    assert watched.fit() == 5 and len(held) == 2


def test_a_stage_is_itself_on_its_class() -> None:
    assert Both.total is vars(Both)["total"] and Both.total.__doc__ == "Their sum."
    assert [stage.name for stage in Both.stages()] == ["whole", "total"]


def compositions() -> Iterator[type[Composition[Any]]]:
    """Every class of stages of the package."""
    for path in FILES:
        if "Composition[" in path.read_text(encoding="utf-8"):
            import_module(".".join(("mlcli", *path.relative_to(PACKAGE).with_suffix("").parts)))
    pending = list[type[Composition[Any]]](Composition.__subclasses__())
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith("mlcli."):
            yield kind


@pytest.mark.medium
def test_every_stage_of_a_fit_declares_its_cost() -> None:
    found = [(kind.__qualname__, stage) for kind in compositions() for stage in kind.stages()]
    assert len(found) > 30
    assert [f"{kind}.{stage.name}" for kind, stage in found if not hasattr(stage, "steps")] == []
