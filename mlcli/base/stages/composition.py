"""Compositions: the stages of a fit in their order, each with what it computes and, beside it, what that costs.

A `Composition` is the computation for one input, before it is carried out: `steps()` are its costs, `fit()` carries it
out. A method's `composition(data, compute)` makes it. For a method that is a chain of stages this is the work of
`compose(chain, data, compute)` (`core/chain/compose.py`), which chooses among the computations of chains by kernel and
input; a method without a chain makes its own.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar, overload

from mlcli.base.stages.stage import computed
from mlcli.base.stages.steps import Step

R = TypeVar("R")
V = TypeVar("V")


class FitStage(Generic[V]):
    """A stage of a composition: as a property its value, computed once; `cost` declares its steps beside it.

    It is no `functools.cached_property`, which before Python 3.12 lets fits in two threads wait for each other.
    """

    name: str
    steps: Callable[[Any], list[Step]]

    def __init__(self, compute: Callable[[Any], V]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, fit: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, fit: object, owner: type[Any]) -> V: ...

    def __get__(self, fit: object | None, owner: type[Any]) -> "V | Self":
        if fit is None:
            return self
        value = vars(fit)[self.name] = self.compute(fit)  # the next time Python finds it there, before the property
        computed(self.compute.__qualname__, value, self.__doc__ or "")
        return value

    def cost(self, steps: Callable[[Any], list[Step]]) -> Callable[[Any], list[Step]]:
        """Declare the steps of the stage: one of each name under which it runs, and none where it is left out."""
        self.steps = steps
        return steps


class Composition(Generic[R]):
    """A computation of stages, its properties declared by `FitStage`, in the order in which they are declared."""

    @classmethod
    def stages(cls) -> Iterable[FitStage[Any]]:
        """Return the stages in their order, those of a base first."""
        return {name: value for kind in reversed(cls.__mro__) for name, value in vars(kind).items()
                if isinstance(value, FitStage)}.values()

    def steps(self) -> list[Step]:
        """Return the stages with their costs."""
        return [step for stage in self.stages() for step in stage.steps(self)]

    def fit(self) -> R:
        """Compute one stage after the other, and return what is made of their values, which are freed."""
        for stage in self.stages():
            getattr(self, stage.name)
        found = self.result()
        for stage in self.stages():
            del vars(self)[stage.name]
        return found

    def result(self) -> R:
        """Return what is made of the values of the stages."""
        raise NotImplementedError
