"""The finding: a result of a run besides the embedding.

A finding is one file, or one package, of this folder and one line in `NAMES`: its option, its files with their shapes
(that of a JSON file stands in `document.py` of the package, which only reading a run loads), how it is computed,
written and read back, its sections on the page, its facts for the end of the run, and the findings that it needs.
Whatever goes over findings, as the pipeline, the page, the options and the plan do, goes over the registry. Every run
imports the declaration with its options: the top of its file imports only modules below `config`; modules that compute,
read and draw are imported inside its methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray
from mlcli.base.values.plugins import object_at

if TYPE_CHECKING:
    from mlcli.base.values.check import Check
    from mlcli.certify.subject import Subject
    from mlcli.config.report_options import Report
    from mlcli.config.run_config import RunConfig
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

Value = TypeVar("Value")


class Place(IntEnum):
    """The place of a section on the page; sections of one place are in the order of the registry."""

    PICTURE = 0  # under the embedding
    WORDS = 1  # right of the embedding, above the warnings
    ADVICE = 2  # right of the embedding, below the warnings
    ROWS = 3
    RESULT = 4
    DECODER = 5
    COLUMNS = 6  # above the figures of the fit; of factor analysis, items and runs without rows, before all others
    DETAIL = 7


@frozen
class Json:
    """The shape of a JSON document, as MODULE:CLASS of a model of pydantic's."""

    where: str

    def read(self, path: Path) -> dict[str, Any]:
        """Return the document; raises UnsafeFile."""
        from mlcli.rundir.reading import json_of

        return json_of(path, object_at(self.where))

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write a document."""
        from mlcli.findings.frame.files import write_document

        write_document(path, content)


@frozen
class Columns:
    """The shape of a small CSV file: required columns, how many of the first hold texts, and which hold counts."""

    names: Sequence[str]
    texts: int = 0
    counts: Collection[str] = ()

    def read(self, path: Path) -> "CsvColumns":
        """Return the columns; raises UnsafeFile."""
        from mlcli.findings.frame.finished_run import CsvColumns
        from mlcli.rundir.reading import csv_of

        return CsvColumns(csv_of(path, self.names, texts=self.texts))

    def write(self, path: Path, content: "CsvColumns") -> None:
        """Write columns, line by line; warn of names that a spreadsheet would run as formulas.

        Of ids it was warned when the embedding was written.
        """
        from mlcli.data.write.table import warn_of_texts
        from mlcli.findings.frame.files import column_lines, write_text

        first = next(iter(content.columns))
        if self.texts and first != "id":
            warn_of_texts([content.texts(first)], "name", path.name)
        write_text(path, column_lines(content, self.texts, self.counts))


@frozen
class Arrays:
    """The shape of an NPZ file, as MODULE:CLASS of a storable value."""

    where: str

    def read(self, path: Path) -> dict[str, AnyArray]:
        """Return the arrays by their names; raises UnsafeFile."""
        from mlcli.rundir.reading import arrays_of

        return arrays_of(path)

    def write(self, path: Path, content: Any) -> None:
        """Write the arrays of a value, but those that are None."""
        from mlcli.findings.frame.files import write_arrays

        write_arrays(path, content)


@frozen
class File:
    """A file of a run directory; one without a shape is for other programs and never read back."""

    name: str
    shape: Json | Columns | Arrays | None = None

    def read(self, folder: Path) -> Any:
        """Return the content of the file, None where a run does not have it; raises UnsafeFile."""
        path = folder / self.name
        return self.shape.read(path) if self.shape is not None and path.is_file() else None

    def write(self, folder: Path, content: Any) -> None:
        """Write the content of a file that has a shape."""
        assert self.shape is not None
        self.shape.write(folder / self.name, content)


class Finding(ABC, Generic[Value]):
    """One finding. `compute` makes its value in the run, `read` from the run's files later; both are equal.

    By default the value is the content of the one file with a shape, or of several a mapping of contents by file name.
    """

    name: ClassVar[str]
    files: ClassVar[Sequence[File]]
    either: ClassVar[bool] = False  # whether a run has one of its files only
    needs: ClassVar[Sequence[str]] = ()  # findings that `compute` or `sections` use, where a run has them
    option: ClassVar[Any] = None  # type and default of `report.NAME`
    output: ClassVar[bool] = False  # whether `report.outputs` lists it
    stage: ClassVar[str] = ""  # the sentence about the stage of this name
    columns: ClassVar[Sequence[str]] = ()  # of runs.csv: keys in its facts
    of_model: ClassVar[bool] = False  # whether the model has it as well, so that it counts in Python, without files
    on_page: ClassVar[bool] = True  # whether it has sections: pages of finished runs read no others

    @classmethod
    def of(cls, run: "FinishedRun") -> Value | None:
        """Return the value that a finished run has, None where it has none."""
        return run.findings.get(cls.name)

    @abstractmethod
    def compute(self, result: "Result", known: Mapping[str, Any]) -> Value | None:
        """Return the value, None where there is none; `known` holds the values of `needs`."""

    def write(self, value: Value, folder: Path, result: "Result") -> None:
        """Write the files that have a shape."""
        files, contents = [file for file in self.files if file.shape is not None], cast(Any, value)
        for file in files:
            file.write(folder, contents if len(files) == 1 else contents[file.name])

    def read(self, folder: Path, run: "FinishedRun") -> Value | None:
        """Return the value from its files, None where one is missing; raises UnsafeFile.

        `run` has manifest, options and embedding, and no findings yet.
        """
        contents: Any = {file.name: file.read(folder) for file in self.files if file.shape is not None}
        if not contents or None in contents.values():
            return None
        return cast(Value, contents if len(contents) > 1 else next(iter(contents.values())))

    @abstractmethod
    def sections(self, value: Value, run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the sections of the page, each with its place."""

    def facts(self, value: Value | None) -> Mapping[str, Any]:
        """Return facts for the summary at the end of a run, by keys of the summary."""
        return {}

    def headline(self) -> Sequence[str]:
        """Return the keys of its own fact that `--json` shows."""
        return ()

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return lines about the facts for the end of a run: with --verbose, or always if it is off by default."""
        return ()

    def require(self, config: "RunConfig") -> None:
        """Check the option against the others; raises ConfigError where it was chosen and does not fit them."""

    def refuse_blocks(self) -> None:
        """Check that a table in blocks will do; raises ConfigError where the option needs all rows in memory."""

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the predicted cost beside the steps of the fit, None where it is negligible."""
        return None

    def cells(self, method: "Method", table: "Table") -> float:
        """Return how many numbers it writes as text, where these are many."""
        return 0

    def checks(self, folder: Path, subject: "Subject", method: "Method") -> Iterable["Check"]:
        """Return checks for the certificate of what its files in a folder hold; data and model are in the fit's units.
        """
        return ()

    def wanted(self, report: "Report") -> bool:
        """Whether the options ask for it."""
        return self.option is None or report.setting(self.name) is not None

    def precedes_fit(self, config: "RunConfig") -> bool:
        """Whether it is computed before the fit that is written, which then depends on it."""
        return False

    @property
    def default(self) -> Any:
        """The default of its option."""
        field = self.option[1]
        return getattr(field, "default", field)
