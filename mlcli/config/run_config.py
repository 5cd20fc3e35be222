"""The whole configuration of a run: its input, preparation, method, resources and output."""

from collections.abc import Sequence
from functools import cache
from math import prod

from pydantic import PrivateAttr, SerializeAsAny

from mlcli.base.values.compute import Compute
from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option
from mlcli.base.values.plugins import Plugin
from mlcli.base.values.products import Name
from mlcli.config.describe import OptionRow, plugins_in, rows
from mlcli.config.onto import Onto
from mlcli.config.report_options import MOST_CELLS, Report, added_findings, with_all_findings
from mlcli.core.metrics import METRICS
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input, WithMatrices, WithTables
from mlcli.data.prepare.prepare import Prepare
from mlcli.errors import ConfigError, MlcliError
from mlcli.methods import METHODS, AnyMethod, methods_accepting, methods_in_blocks
from mlcli.methods.principal.pca import PCA

OF_A_FIT = (  # what is of a fit of the rows
    "dimension", "stability", "discontinuity", "reliability", "contributions", "keep", "draw_graph")


class RunConfig(Options):
    """The whole configuration of a run."""

    input: Input = option(..., "Where the data is and how to read it.")
    prepare: Prepare = option(Prepare(), "What happens to the data before the method.")
    method: AnyMethod = option(PCA(), "The method; `mlcli methods` describes each.")
    onto: Onto | None = option(None, "The map of a finished run that the rows are added to (default: none).")
    compute: Compute = option(Compute(), "What the run may use of the machine.")
    report: SerializeAsAny[Report] = option(Report(), "What is written besides the model.")
    output: FileName | None = option(None, "Directory to write; - writes the embedding as CSV to standard output "
                                     "(default: runs/DATA-METHOD).")
    _conversions: tuple[str, ...] = PrivateAttr(default=())  # sentences on options that were given under other names

    @property
    def conversions(self) -> tuple[str, ...]:
        """Sentences on options that were given under another name."""
        return self._conversions

    def with_conversions(self, said: Sequence[str]) -> "RunConfig":
        """Return the configuration with sentences on options that were given under another name."""
        if said:
            self._conversions = tuple(said)
        return self

    def require_fitting(self) -> None:
        """Raise ConfigError if the method does not accept the input and its preparation, or options have no effect."""
        if self.onto is not None:
            self._require_onto(self.onto)
        self._require_kind()
        if self.method.domain == "amounts" and (centers := self.prepare.signs):
            raise ConfigError("CENTERED", f"{self.method.name} takes numbers of zero or more, and this makes some of "
                              "them negative", where=centers, hint="leave it out")
        self._require_blocks()
        self.method.require_products(self.report.keep, self.input.gives, "report.keep")
        drawn: tuple[Name, ...] = ("graph",) if self.report.draw_graph else ()
        self.method.require_products(drawn, self.input.gives, "report.draw_graph")
        if self.report.image is not None and self.input.gives != "features":
            self.method.require_decoder(self.input.gives, "report.image")
        if self.report.arrows:
            self.method.require_loadings(self.input.gives, "report.arrows")
        chosen = [finding.name for finding in self.report.wanted() if finding.option and finding.default is None
                  and not finding.of_model]
        written = [f"report.{name}" for name in ("keep", "draw_graph", "image", "interactive", *chosen, "title")
                   if getattr(self.report, name)]
        written += [f"report.{name}" for name in self.report.plotting]
        written += [f"method.{name}" for name in self.method.tables()]
        if self.output == "-" and written:
            name = written[0].partition(".")[2]
            raise ConfigError("UNUSED", f"{name} has no effect: standard output takes the embedding alone",
                              where=written[0], hint="leave it out, or give a directory (-o)")
        self._require_rows_drawn()
        for finding in self.report.wanted():
            finding.require(self)
        if self.report.image is None:
            self.report.refuse_unused("report.image is not set", "image_order", where="report")
        if self.output == "-" and self.input.gives == "covariance":
            raise ConfigError("NO-ROWS", "a covariance matrix has no rows, so there is no embedding to write",
                              where="output", hint="give a directory: it will hold loadings.csv and spectrum.csv")

    def _require_blocks(self) -> None:
        """Raise ConfigError if the input is to be read in blocks, and the method needs all of it."""
        if self.input.stream != "always" or self.streams:
            return
        others = ", ".join(name for name in methods_in_blocks() if name != self.method.name)
        what, hint = self.method.name, f"put PCA ahead of the method ({{prepare.reduce}}), or choose one of {others}"
        if self.input.kind != "features":
            hint = "of dissimilarities mds is read in blocks, without correction and landmarks"
        elif getattr(self.method, "correlations", "pearson") == "polychoric":
            what, hint = f"{what} of polychoric correlations", "choose {method.correlations=pearson}"
        raise ConfigError("STREAM", f"{what} needs the whole table in memory, but it is read in blocks (input.stream)",
                          where="input.stream", hint=hint)

    def _require_onto(self, onto: Onto) -> None:
        """Raise ConfigError if rows cannot be added to a map: for other input than features, or more than one view."""
        wrong = next((what for what, there in (
            (f"input.kind: {self.input.kind}", self.input.kind != "features"),
            ("a second view", self.input.views and not self.joins_views),
            ("input.stream: always", self.input.stream == "always")) if there), None)
        if wrong is not None:
            raise ConfigError("ONTO-INPUT", f"rows of features are added to a map, and not with {wrong}",
                              where="onto.run", hint="give a table of features that fits in memory")
        if onto.way != "tied" and onto.chosen("weight"):
            raise ConfigError("UNUSED", "onto.weight has no effect: no row is tied to its place", where="onto.weight",
                              hint="give {onto.way=tied}, or leave it out")
        if onto.way != "refit":
            for name in OF_A_FIT:
                if self.report.chosen(name) and getattr(self.report, name):
                    raise ConfigError("UNUSED", f"report.{name} has no effect: the method is not fitted to the rows",
                                      where=f"report.{name}", hint="leave it out, or give {onto.way=refit}")

    def _require_rows_drawn(self) -> None:
        """Raise ConfigError if the interactive page was chosen and would be empty."""
        if self.report.interactive and not self.report.writes("report"):
            raise ConfigError("UNUSED", "report.interactive has no effect: no report is written",
                              where="report.interactive", hint="add report to report.outputs, or leave it out")
        if self.report.interactive and self.input.gives == "covariance":
            raise ConfigError("UNUSED", "report.interactive has no effect: a covariance matrix has no rows to show",
                              where="report.interactive", hint="leave it out")

    def _require_kind(self) -> None:
        """Raise ConfigError if the method does not take this kind of input, with the methods that do."""
        try:
            self.method.require_kind(self.input.gives, self.prepare.missing)
        except ConfigError as error:
            if error.code == "E-KIND":
                names = ", ".join(methods_accepting(self.input.gives))
                error = error.changed(hint=f"choose a method that does: {names}")
            raise error from None

    def plugins(self) -> list[Plugin]:
        """Return what installed packages add to the tables and these options choose."""
        return [*plugins_in(self), *self.report.plugins()]

    @property
    def streams(self) -> bool:
        """Whether the first step, the method or PCA ahead of it, can read a table in blocks."""
        return self.method.streams(self.input.gives) or self.prepare.reduce is not None

    @property
    def input_of_method(self) -> Input:
        """The options of the input, whose views are read like the first one where the method takes them so."""
        if self.input.kind == "dissimilarities" and self.method.views_match:
            return self.input.chosen_as(WithMatrices)
        return self.input.chosen_as(WithTables) if self.joins_views else self.input

    @property
    def joins_views(self) -> bool:
        """Whether the columns of views lie beside those of the first file, in one table."""
        return self.input.kind == "features" and self.method.joins_views

    def with_image(self, image: tuple[int, ...] | None, columns: int) -> "RunConfig":
        """Return the configuration with an image shape, if none is chosen and the report can draw such rows."""
        if image is None or self.report.image is not None or not columns == prod(image) <= MOST_CELLS:
            return self
        return self.replace(report=self.report.replace(image=image))

    def draws_decoder(self, columns: int) -> bool:
        """Whether the report draws rows that the method's decoder computes, for so many features."""
        return self.method.leads_back(self.input.gives) and self.report.draws(columns)


@cache
def option_rows() -> tuple[OptionRow, ...]:
    """Return every option of a run, in words, with those of findings that installed packages add."""
    added = rows(with_all_findings(), "report", fields=added_findings()[0])
    return (*(row for section in RunConfig.model_fields for row in section_rows(section)), *added)


def unusable_plugins() -> list[MlcliError]:
    """Return the errors of what installed packages add to the tables and the program cannot use."""
    return [*METHODS.unusable, *METRICS.unusable, *FORMATS.unusable, *added_findings()[1]]


@cache
def section_rows(section: str) -> tuple[OptionRow, ...]:
    """Return the options of a section of a run, in words; for the method those of all methods, which imports them."""
    return tuple(rows(RunConfig, fields=(section,)))
