"""The interface between the mathematics and everything around it: timing, progress, warnings, caches.

A stage is a function whose result is a frozen value. The listeners installed here are given each call of a stage, and
no stage knows of any of them. Work on live state is a stage that is only `running`: it is watched, and nothing answers
in its place. Stages are not nested: another stage or a pass over a kernel inside a stage is a `part` of it, and shows
the progress. Listeners are also given the values that are `computed`, in stages and between them.

A stage with a version is pure: its result and its notes follow from its arguments, the result is frozen and holds no
closure, and the version is raised when the formula changes. Its key (`storage/keys.py`) is the hash of its name, its
version and its inputs. A stage without a version also depends on something else, such as a file or the machine. A
function that only calls stages, and whose result a cache may hold, is `composed`. A warning is a result:
`note(code, message)`, never a print. A fit that another one follows runs inside `mute_notes`.

`COMPUTED` and `OTHERS` hold the names of the stages, each with what it does, but those of findings, which say it
themselves. `@stage`, `running` and `Step` know no other names, and `docs/stages.md` is made of them. Take a name that
is there if it says what your stage does: every method's matrix of similarities is the `kernel`. A run lists each name
once, in the order in which stages first started.

What a stage would cost is a `Step` of the same name (`base/stages/steps.py`), made beside the stage: a fit declares
its stages in their order, each with its cost (`base/stages/composition.py`).
`tests/laws/contract/test_stages.py` runs every way of every method: plan, progress, run.json and report must agree.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from time import perf_counter
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from mlcli.base.allocators import give_back
from mlcli.base.context import context, set_context
from mlcli.base.frozen import frozen
from mlcli.base.stored import result
from mlcli.errors import conceal

QUICK = 0.005  # seconds in which a stage cannot have touched so much memory that returning it is worth as long
P = ParamSpec("P")
R = TypeVar("R")


@result("note")
@frozen
class Note:
    """A warning or a fact about the run; it stands in `run.json` and in the report."""

    code: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)


@frozen
class Stage:
    """Name and version of a stage, as listeners get them."""

    name: str
    version: int | None = None  # raised with the formula; None: the result depends on more than the inputs


class Listener(Protocol):
    """An observer of a run: a journal and a progress bar watch its stages, a cache also answers for them."""

    caches: bool  # whether it has `around`, and keeps notes with the results of stages

    def begin(self, name: str) -> None:
        """A stage begins."""

    def end(self, name: str) -> None:
        """A stage ended, with or without an error."""

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """The stage, or the named part of it, did `done` of `total` units of its own (blocks, iterations)."""

    def note(self, note: Note) -> None:
        """A warning or a fact."""

    def computed(self, name: str, value: Any, says: str) -> None:
        """The running stage has a value, which what follows may overwrite."""


class Answering(Listener, Protocol):
    """A listener that may answer in the place of a stage with a version, such as a cache."""

    def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], R]) -> R:
        """Return the result of a stage, which `call` computes from the inputs, by the names of its parameters."""


class Watcher:
    """A listener that ignores all events; subclasses override those that they watch."""

    caches = False

    def begin(self, name: str) -> None:
        """Not watched."""

    def end(self, name: str) -> None:
        """Not watched."""

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """Not watched."""

    def note(self, note: Note) -> None:
        """Not watched."""

    def computed(self, name: str, value: Any, says: str) -> None:
        """Not watched."""


@frozen
class WithoutNotes(Watcher):
    """A listener that gets everything but notes."""

    listener: Listener

    def begin(self, name: str) -> None:
        """Pass on to the listener."""
        self.listener.begin(name)

    def end(self, name: str) -> None:
        """Pass on to the listener."""
        self.listener.end(name)

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """Pass on to the listener."""
        self.listener.advance(name, part, done, total)

    def computed(self, name: str, value: Any, says: str) -> None:
        """Pass on to the listener."""
        self.listener.computed(name, value, says)


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Install a listener for the length of a `with` block."""
    return set_context(listeners=(*context().listeners, listener))


def no_listeners() -> AbstractContextManager[None]:
    """Remove all listeners for the length of a `with` block: for work that only checks other work."""
    return set_context(listeners=())


def mute_notes() -> AbstractContextManager[None]:
    """Keep notes from all listeners but those that store them with results: for a fit that another one follows."""
    return set_context(listeners=tuple(listener if listener.caches else WithoutNotes(listener)
                                       for listener in context().listeners))


@contextmanager
def running(name: str) -> Iterator[None]:
    """Announce the block as a stage to listeners; inside another stage it is a part of that."""
    if outer := context().stage:
        with part("" if name == outer else name):
            yield
        return
    for listener in context().listeners:
        listener.begin(name)
    start = perf_counter()
    try:
        with set_context(stage=name, part=""):
            yield
            if perf_counter() - start > QUICK:
                give_back()
    finally:
        for listener in context().listeners:
            listener.end(name)


def part(name: str) -> AbstractContextManager[None]:
    """Name the running part, such as "pass 3", for the progress display.

    Text after a comma is a status and does not start a new part.
    """
    return set_context(part=name)


def stage(name: str, version: int | None = None, *, composed: bool = False,
          ) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares a function or method as the stage `name`.

    With a version it is pure: what it returns, and what it notes, follows from its arguments alone. Then a listener
    may answer in its place. A version that was raised makes it another stage. One that is `composed` of other stages
    is not watched itself: they are.
    """
    declared = Stage(name, version)

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with nullcontext() if composed else running(name):
                found = function(*args, **kwargs)
            computed(function.__qualname__, found, function.__doc__ or "")
            return found

        if version is None:
            return call

        @functools.wraps(function)
        def answered(*args: P.args, **kwargs: P.kwargs) -> R:
            answering = [cast(Answering, listener) for listener in context().listeners if listener.caches]
            if not answering:
                return call(*args, **kwargs)
            inputs = _signature(function).bind(*args, **kwargs)
            inputs.apply_defaults()
            answers: Callable[[], R] = functools.partial(call, *args, **kwargs)
            for listener in reversed(answering):  # the one that was installed first is the outermost
                answers = functools.partial(listener.around, declared, inputs.arguments, answers)
            return answers()

        return answered

    return declare


_signature = functools.cache(inspect.signature)


class Limit(int):
    """The largest number of iterations of a stage, which ends sooner where it converges."""


def advance(done: int, total: int) -> None:
    """Reports how far the running stage, or the part of it, has come, in its own units (blocks, iterations).

    A `total` that convergence may spare is a `Limit`: the time to it is the most that is left.
    """
    now = context()
    for listener in now.listeners:
        listener.advance(now.stage, now.part, done, total)


def computed(name: str, value: Any, says: str = "") -> None:
    """Gives listeners a value of the mathematics, before anything overwrites it.

    Every stage does so with its result, a composition with each of its stages, under the name of the function and with
    what its docstring `says`, and an iteration with its start and each state. A further value that a reader of the
    method's formula looks for is given where it is computed, as the kernel before it is centered.
    """
    for listener in context().listeners:
        listener.computed(name, value, says)


def note(code: str, message: str, **facts: Any) -> None:
    """Records a warning (`W-...`), a note for the user (`N-...`) or a mere fact (`F-...`), under a stable code."""
    tell(Note(code, conceal(message), facts))


def tell(note: Note) -> None:
    """Records a note that was made before: by the stage whose result a cache holds."""
    for listener in context().listeners:
        listener.note(note)


COMPUTED: Mapping[str, str] = {  # what comes before findings, in about the order in which a run has them
    "read": "Reads the input, computes its hash and checks its numbers.",
    "prepare": "Fills, drops or scales as `prepare` says, and brings the data to units whose squares stay in range.",
    "reduce": "Replaces the columns by their leading principal components, as `prepare.reduce` says.",
    "neighbors": "Finds the neighbors of every point.",
    "fewer neighbors": "Takes the first neighbors from the lists of a search for more.",
    "graph": "Joins neighbors to a graph and makes sure that it is in one piece.",
    "distances": "Computes the distances of all pairs of points, or takes the given ones.",
    "weights": "Computes the weights of the edges of the neighbor graph.",
    "tangents": "Finds the tangent space of every neighborhood, and the functionals that vanish on it.",
    "paths": "Chooses how to find shortest paths; finds them here where they are stored.",
    "elimination": "Eliminates the points of the graph one after the other; all shortest paths follow from the rest.",
    "unfold": "Solves the semidefinite program of an unfolding.",
    "whitening": "Centers the columns and turns them into uncorrelated ones of equal variance.",
    "residuals": "Finds the axes along which rows of counts or answers differ most, from standardized residuals.",
    "groups": "Compares the kernels of groups of columns, or of several tables, and finds the weight of each.",
    "combine": "Adds up the kernels of several tables; of a method, finds the axes of the sum.",
    "discriminants": "Finds the directions in which classes differ most, relative to their spread.",
    "styles": "Averages the rows of each style with each content, and finds the factors of these means.",
    "correlations": "Finds the pairs of directions of two views that are most correlated.",
    "polychoric correlations": "Estimates the correlations of the normal variables behind ordered answers.",
    "constraints": "Finds which columns of the second view are independent, and a basis of what they explain.",
    "permutations": "Permutes the rows, and counts how often constraints then explain as much.",
    "slow features": "Finds the directions that change most slowly from row to row.",
    "covariance": "Centers the columns and computes their cross products.",
    "rate": "Chooses the rate of the gaussian kernel by the median distance.",
    "correction": "Finds the constant that makes dissimilarities Euclidean.",
    "walk": "Computes the steps of a random walk between points or clusters of points, and how many to take.",
    "kernel": "Computes the kernel matrix, the inner products of all pairs of points.",
    "centering": "Moves the origin to the mean of the points.",
    "eigensolve": "Computes eigenvalues and eigenvectors, and with them the coordinates.",
    "iterate": "Improves the fit step by step until it has converged.",
    "training": "Trains a network, epoch by epoch.",
    "coordinates": "Computes the coordinates of every point from the fitted model.",
    "decoder": "Fits the map from coordinates back to features, and measures its error on the training rows.",
    "reconstruct": "Maps coordinates back to features.",
}
OTHERS: Mapping[str, str] = {  # what comes after findings; then the stages of other commands
    "write": "Writes the files of the run and computes their hashes.",
    "keep": "Writes what `report.keep` asks for of what the fit made.",
    "certify": "Computes results again by other means, and compares.",
    "project": "Places new points on the axes of a run.",
    "compare": "Compares embeddings of the same points.",
    "relate": "Relates variables of the rows to an embedding.",
    "features": "Examines the columns and rows of a table.",
    "metric": "Examines whether a matrix of dissimilarities holds distances.",
    "triangle inequality": "Looks for three points of which two are farther apart than by way of the third.",
    "euclidean": "Examines whether dissimilarities are distances of points in a Euclidean space.",
    "column subsets": "Compares rows by more and more of their columns: distances, and how far they part classes.",
    "cause": "Looks for what makes eigenvalues of dissimilarities negative.",
    "definiteness": "Examines whether a matrix holds inner products.",
    "concentration": "Examines how much the distances of pairs differ.",
}
