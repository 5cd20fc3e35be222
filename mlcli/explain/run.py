"""An explanation carried out: the rows chosen, the method fitted to them by the pipeline, and its values recorded.

A sample is drawn at random, but of a sequence its rows are consecutive, and of styles and contents they have every
pair of some of these. A dozen rows have fewer neighbors than a file. So a default number of neighbors becomes the
fewest that show a neighborhood and that the method takes; chosen options that fit the file and not its sample go back
to their defaults; columns that are zero in all of its rows are left out where these are amounts; and a graph of a
sample in pieces is joined. All of this is said. What fails on the rows of a file fails as `mlcli embed` does.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.context import spelled
from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import listening, mute_notes, tell
from mlcli.base.types import Indices
from mlcli.base.values.inputs import CrossLabeled
from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.neighbors import NeighborOptions
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, GeometryError, UsageError
from mlcli.explain.record import Recorder
from mlcli.explain.steps import Choice, Explanation
from mlcli.pipeline.fit import fit
from mlcli.pipeline.run import plan_of
from mlcli.pipeline.session import Session
from mlcli.pipeline.start import begin
from mlcli.rundir.journal import recording
from mlcli.rundir.reading import is_run

ROWS = 12  # that a page shows at most
SHARE = 3  # a row has one in so many others as its neighbors, unless that was chosen
LEAST = 2  # neighbors
PIECES = "method.neighbors.pieces"
BY_SIZE = ("method.neighbors.count", "method.graph.neighbors.count", "method.perplexity",
           "method.landmarks")  # options that fewer rows allow less of
Again = Callable[[Mapping[str, Any]], str]  # the command of a run with these options besides


@frozen
class Sample:
    """The rows of an explanation, read once."""

    table: Table
    of: int  # the rows that they were drawn from
    by_option: bool  # whether `input.rows` chooses them
    choice: Choice

    @property
    def drawn(self) -> bool:
        """Whether there are rows beside them."""
        return self.table.rows < self.of

    @classmethod
    def read(cls, config: RunConfig) -> "Sample":
        """Read the table and choose a seeded sample of its rows; raises what reading raises, and UsageError."""
        count = config.input.rows or ROWS
        if count > ROWS:
            raise UsageError("ROWS", f"{count} rows were requested, and a page shows {ROWS} at most", where="--rows",
                             hint="leave it out, or give a smaller number")
        method = type(config.method)
        choice: Choice = ("consecutive" if method.ordered else "crossed" if CrossLabeled in method.accepts else
                          "random")
        by_option = (choice == "random" and config.input.gives != "covariance" and config.input.view.path is None
                     and not is_run(config.input.path))
        if by_option or choice != "random":
            config = config.replace(input=config.input.replace(rows=count if by_option else None))
        with recording() as journal, mute_notes():
            table = begin(config).source
        for note in journal.notes:
            if note.code != "N-CHOSEN-ROWS":  # which the page says
                tell(note)
        if by_option or table.rows <= count:
            return cls(table, (table.chosen_of if by_option else None) or table.rows, by_option, choice)
        generator = config.compute.generator()
        if choice == "consecutive":
            kept = int(generator.integers(table.rows - count + 1)) + np.arange(count)
        elif choice == "crossed" and len(table.labels) > 1:
            kept = _crossed(table, count, generator)
        else:
            kept = np.sort(generator.choice(table.rows, count, replace=False))
        return cls(table.take(kept), table.rows, by_option, choice)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """The columns that are zero in all rows, where these are a sample."""
        if not self.drawn or not self.table.columns:
            return ()
        some = (np.asarray(self.table.values) != 0).any(axis=0)
        return tuple(name for name, kept in zip(self.table.columns, some.tolist(), strict=True) if not kept)

    def without(self, columns: Collection[str]) -> "Sample":
        """Return the sample without some columns of its table."""
        kept = [place for place, name in enumerate(self.table.columns) if name not in columns]
        names = tuple(self.table.columns[place] for place in kept)
        return replace(self, table=replace(self.table, values=self.table.values[:, kept], columns=names))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say in an error of the block that it is of a sample, where there are more rows."""
        try:
            yield
        except (DataError, GeometryError) as error:
            if not self.drawn:
                raise
            said = f"these are {self.table.rows} of {self.of:,} rows, and {{compute.seed}} draws others"
            raise spelled(error.changed(hint=f"{error.hint}; {said}" if error.hint else said)) from error


def _crossed(table: Table, most: int, generator: np.random.Generator) -> Indices:
    """Return the rows (m) of some styles and contents, the first two labels: one of each pair, of as many as may be.

    Styles and contents are shuffled. The first row of a pair is taken, and others of these pairs while there is room.
    """
    styles, contents = (np.unique(list(texts), return_inverse=True)[1] for texts in list(table.labels.values())[:2])
    styles, contents = (generator.permutation(codes.max() + 1)[codes] for codes in (styles, contents))
    sizes = [(min(styles.max() + 1, count), min(contents.max() + 1, most // count)) for count in range(1, most + 1)]
    height, width = max(sizes, key=lambda size: (size[0] * size[1], min(size)))
    inside = np.flatnonzero((styles < height) & (contents < width))
    first = inside[np.unique(styles[inside] * width + contents[inside], return_index=True)[1]]
    return np.sort(np.concatenate([first, np.setdiff1d(inside, first)])[:most])


def explain(layer: Layer, again: Again) -> Explanation:
    """Fit the method of a layer to a sample of the rows, and return the steps; raises what a run raises."""
    config = build(layer)
    with Session.open(config) as session:
        sample = Sample.read(config)
        layer, changes = _without_excess(layer, sample, session)
        if empty := sample.empty_columns if type(config.method).domain == "amounts" else ():
            sample = sample.without(empty)
            columns = [*sample.table.columns]
            layer = assignment("input.columns", columns, "explain").over(layer)
            changes.append(f"left out, as they are zero in all of these rows: {', '.join(empty)}")
            of_sample, again = again, lambda values: of_sample({**values, "input.columns": json.dumps(columns)})
        *others, last = _settings(layer, sample)
        for values, said in others:
            with suppress(ConfigError, GeometryError):
                return _explained(layer, values, sample, session, [*changes, *said], again)
        with sample.named():
            return _explained(layer, last[0], sample, session, [*changes, *last[1]], again)


def _explained(layer: Layer, values: Mapping[str, Any], sample: Sample, session: Session, changes: list[str],
               again: Again) -> Explanation:
    """Fit the method to the rows, with some options besides, and record it."""
    for path, value in values.items():
        layer = assignment(path, value, "explain").over(layer)
    session.config = config = build(layer)
    with recording() as journal:
        plan = plan_of(session, sample.table)
        with plan.table.rows_named():
            recorder = Recorder(plan)
        with listening(recorder):
            result = fit(plan, session)
    method = config.method
    said = [note.message for note in journal.notes if not note.code.startswith("F-")]
    ids = [*result.embedding.ids] if sample.table.rows else []
    same = sample.by_option or not sample.drawn
    title = " ".join((type(method).__doc__ or "").split("\n\n")[0].split())
    return Explanation(method=method.name, title=title, path=config.input.path,
                       ids=ids, of=sample.of, choice=sample.choice, changes=changes, said=said,
                       seed=config.compute.seed, command=again(values) if same else "",
                       command_of_all="" if same else again({}), steps=recorder.steps(plan, result))


def _settings(layer: Layer, sample: Sample) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield options besides those of the layer, each with what is said of them: numbers of neighbors from few to many.

    The last are none, so that what fails then fails as a run of these rows does.
    """
    rows: dict[str, Any] = {"input.rows": sample.table.rows} if sample.by_option and sample.drawn else {}
    method = build(layer).method
    own = getattr(method, "neighbors", None)
    if isinstance(own, NeighborOptions):
        joined = {PIECES: "connect"} if sample.drawn and not layer.place_of(PIECES) and "pieces" in type(
            own).model_fields else {}
        chosen = layer.place_of("method.neighbors")
        if chosen and joined:
            yield {**rows, **joined}, []
        for count in range(max(LEAST, sample.table.rows // SHARE), sample.table.rows) if not chosen else ():
            yield {**rows, **joined, "method.neighbors.count": count}, [
                f"k = {count} neighbors instead of {own.count}: with more, almost all of {sample.table.rows} rows "
                "would be neighbors of each other (-k sets another number)"]
    yield rows, []


def _without_excess(layer: Layer, sample: Sample, session: Session) -> tuple[Layer, list[str]]:
    """Return the layer without chosen options that a sample is too small for, and what is said of each."""
    said: list[str] = []
    while sample.drawn:
        session.config = build(layer)
        try:
            with mute_notes():
                plan_of(session, sample.table)
        except ConfigError as error:
            if error.where not in BY_SIZE or not layer.place_of(error.where):
                break
            value = layer.values
            for key in error.where.split("."):
                value = value[key]
            said.append(f"{error.where.removeprefix('method.')} = {value} does not fit {sample.table.rows} rows, and "
                        "is smaller here")
            layer = layer.drop(tuple(error.where.split(".")))
        except GeometryError:
            break
        else:
            break
    return layer, said
