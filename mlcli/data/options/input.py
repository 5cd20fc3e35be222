"""The section `input`: the data to read and its conventions, further files of the same rows, and answers to code."""

import codecs
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, Strict, field_validator

from mlcli.base.values.file_names import FileName
from mlcli.base.values.naming import listed, shown
from mlcli.base.values.options import Options, option
from mlcli.data.options.conditions import condition
from mlcli.data.options.formats import KEYS, OfLabels, OfTable, OfView, formats_with_blocks
from mlcli.data.options.numbers import BLANKS
from mlcli.data.options.wording import duplicates
from mlcli.errors import ConfigError

TABS = ("tab", "\\t", "\t")
AnyInput = TypeVar("AnyInput", bound="Input")
NO_IDS = "none"  # the value of `id_column` for no ids
Names = Annotated[tuple[str, ...], Strict(False)]
Range = Annotated[tuple[float, ...], Strict(False), Field(min_length=2, max_length=2)]


class Items(Options):
    """Columns of answers with a scale of their own."""

    columns: Names = option(..., "The columns, by name.", min_length=1)
    answers: Names = option((), "Their answers in words, in ascending order (empty: they hold numbers).")
    range: Range | None = option(None, "Least and greatest answer of columns of numbers, which `reverse` turns.")


class LabelFile(Options):
    """A second file with labels of the rows, joined by id, or row by row without ids."""

    path: FileName | None = option(None, "A file with labels of the rows, joined by id, or row by row (default: none).")
    format: OfLabels = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    key: str | None = option(None, f"Which of a file that may hold several: {KEYS} (default: the only one).",
                             min_length=1)
    id_column: str | None = option(None, "The column of row ids (default: the one that holds the ids of the data).")
    columns: tuple[str, ...] = option((), "The columns to use as labels (empty: all).", strict=False)


class FurtherView(Options):
    """A third or further table of the same rows."""

    path: FileName = option(..., "A file with the view.")
    format: OfView = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids (default: as in the first view).")
    columns: tuple[str, ...] = option((), "The columns to use: names, or ranges first:last (empty: all).", strict=False)
    key: str | None = option(None, f"Which table of a file that may hold several: {KEYS}.", min_length=1)


class View(Options):
    """A second table of the same rows, matched to the first by id, and read in the same conventions."""

    path: FileName | None = option(None, "A file with the second view: other features of the same rows, for cca, ibfa, "
                                   "gib, vib, mvgplvm, rda, dbrda and autoencoder, or further columns, for mfa, famd "
                                   "and statis; of dissimilarities also a second matrix, for statis (default: none).")
    format: OfView = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids (default: as in the first view).")
    columns: tuple[str, ...] = option((), "The columns to use: names, or ranges first:last (empty: all).", strict=False)
    key: str | None = option(None, f"Which table of a file that may hold several: {KEYS}.", min_length=1)
    further: tuple[FurtherView, ...] = option(
        (), "A third view and more, for cca, ibfa, mfa, famd and statis: sections with a path, and format, id_column, "
        "columns and key as of the second (empty: none).", strict=False)


class Input(Options):
    """The data to read, and its conventions."""

    path: FileName = option(
        ..., "The file to read (also s3://, gs:// and hdfs://), or a directory: a finished run, Parquet or CSV files, "
        "or images; - is CSV on standard input.")
    kind: Literal["features", "dissimilarities", "kernel", "covariance", "correlation", "graph"] = option(
        "features", "What DATA holds: a table of points and their features; a square matrix of dissimilarities "
        "(distances), of similarities (kernel), or of covariances or correlations of columns; or the edges of a graph.")
    format: OfTable = option("auto", "The file's format (auto: by its name, then by its first bytes).")
    id_column: str | None = option(None, "The column of row ids, or none: the file has no ids, and a column that "
                                   "looks like ids is data (default: the first text column, if all its values differ).")
    label_columns: Names = option((), "Columns of labels, such as species or batch: kept as text in the output, not "
                                  "used as features.")
    columns: Names = option((), "The columns to use: names, or ranges first:last (empty: all).")
    header: Literal["auto"] | bool = option("auto", "Whether the first row holds the column names (auto: yes, unless "
                                            "all its cells are numbers).")
    separator: str = option("auto", "The character between cells (auto: a tab for .tsv and .tab, else a comma; if "
                            "that gives no table, the one other separator that does).")
    decimal: Literal["auto", ".", ","] = option("auto", "The decimal mark of the numbers (auto: a comma if the "
                                                "separator is another character and numbers hold commas, else a "
                                                "point).")
    encoding: str = option("utf-8", "The text's encoding (UTF-16 is recognized by its byte order mark).")
    key: str | None = option(
        None, f"The table to read from a file that holds several: {KEYS} (default: X of AnnData, else the only one).",
        min_length=1)
    symmetrize: Literal["error", "mean", "min", "max"] = option(
        "error", "What to do with a matrix that is not symmetric.")
    edges: Literal["lengths", "affinities"] = option(
        "lengths", "Meaning of the numbers of a graph's edges: lengths (distances), or affinities (similarities).")
    missing_markers: Names = option((), "Texts that mark a missing cell, such as . or -999, besides empty cells, NA, "
                                    "NaN, nan and #N/A (empty: no others).")
    answers: Names = option((), "Answers in words, in ascending order: columns of text that hold them become numbers "
                            "from 1 (empty: text is not coded).")
    reverse: Names = option((), "Reverse-keyed items: least plus greatest answer of their scale, minus the answer "
                            "(empty: none).")
    range: Range | None = option(None, "Least and greatest answer that reverse-keyed items of numbers allow, whatever "
                                 "occurs (default: not declared).")
    items: tuple[Items, ...] = option((), "Columns with scales of their own: sections with columns, and answers or "
                                      "range (empty: none).", strict=False)
    observations: int | None = option(
        None, "Number of observations that a covariance matrix was computed from (default: not known).", ge=2)
    transpose: bool = option(False, "Read the columns of the file as points (samples), and its rows as features.")
    squared: bool = option(False, "Whether the file holds squared dissimilarities; their square roots are used.")
    similarities: Literal["one-minus", "root-one-minus", "max-minus", "minus-log"] | None = option(
        None, "DATA is a matrix of similarities s, and this is how far apart two points are: 1 - s (one-minus), its "
        "square root (root-one-minus), the largest s minus s (max-minus), or -log s (minus-log). The kind is then "
        "dissimilarities (default: it holds no similarities).")
    rows: int | None = option(None, "Number of rows to use: a random sample, drawn with the seed, of those that "
                              "fulfill `where` (default: all).", ge=1)
    where: Names = option((), "Use only rows that fulfill this condition: COLUMN OP VALUE, where OP is ==, !=, <, <=, "
                          ">, >= or in; several must all hold (empty: all rows).")
    labels: LabelFile = LabelFile()
    view: View = View()
    stream: Literal["auto", "always", "never"] = option(
        "auto", "Whether the table is read in blocks of rows and never held in memory as a whole: if it does not fit "
        f"(auto), always, or never. For features in {formats_with_blocks('features')} files, sparse matrices, whose "
        f"non-zero entries are held, and dissimilarities in {formats_with_blocks('dissimilarities')} files.")
    decompress_ratio: int = option(200, "Largest ratio of decompressed to compressed size that is accepted.", ge=1)
    decompress_limit: int | str = option("64G", "Largest decompressed size that is accepted, as 500M or 64G.")

    @field_validator("separator")
    @classmethod
    def one_character(cls, value: str) -> str:
        """Require one plain character; `tab` and a backslash with t are the tab."""
        if value in TABS:
            return "\t"
        if value != "auto" and (len(value) != 1 or not value.isascii() or value.isalnum() or value in '"\r\n\0.+-'):
            raise ValueError("a separator is one character such as , or ; or tab")
        return value

    @field_validator("where")
    @classmethod
    def conditions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Require texts of conditions."""
        for text in value:
            condition(text)
        return value

    def without_markers(self, cells: list[str]) -> list[str]:
        """Return cells with markers of missing values replaced by empty texts."""
        marks = self.missing_markers
        return ["" if cell.strip(BLANKS) in marks else cell for cell in cells] if marks else cells

    @property
    def point(self) -> str:
        """The decimal point: the chosen one, or a point if a text is not yet examined."""
        return "," if self.decimal == "," else "."

    @property
    def chooses_rows(self) -> bool:
        """Whether the options choose some of the rows."""
        return self.rows is not None or bool(self.where)

    @property
    def without_ids(self) -> bool:
        """Whether the options say that no column names the rows."""
        return self.id_column == NO_IDS

    @property
    def ids_from(self) -> str | None:
        """The column that the options choose for the ids, or None."""
        return None if self.without_ids else self.id_column

    def for_columns(self, names: Sequence[str], beside: Sequence[str] | None = None) -> "Input":
        """Return the options for a file with columns of these names; subclasses choose what the file has.

        `beside` are the columns that may be ids or labels, where these lie apart from those of numbers.
        """
        return self

    def as_subclass(self, subclass: type[AnyInput], **others: Any) -> AnyInput:
        """Return these options as those of a subclass, with `others` that it adds or that differ."""
        return subclass(**{name: getattr(self, name) for name in Input.model_fields} | others)

    def chosen_as(self, subclass: type[AnyInput], **others: Any) -> AnyInput:
        """Return the chosen ones of these options as those of a subclass, with `others`; the rest have their defaults.
        """
        return subclass(**{name: getattr(self, name) for name in Input.model_fields if self.chosen(name)} | others)

    @property
    def views(self) -> tuple[View | FurtherView, ...]:
        """The sections of the second view and further ones."""
        return () if self.view.path is None else (self.view, *self.view.further)

    @property
    def files(self) -> "list[Input]":
        """The options by which each file is read: the first one without its views, and each view."""
        return [self.replace(view=View()), *map(self.of_view, self.views)]

    def of_view(self, view: View | FurtherView) -> "Input":
        """Return the input of a view, in the conventions of the first; what neither chose is not chosen."""
        kept = {name: getattr(self, name) for name in type(self).model_fields
                if self.chosen(name) and name not in OF_FIRST_VIEW}
        own = {name: getattr(view, name) for name in ("path", "format", "columns", "key") if view.chosen(name)}
        named = {} if view.id_column is None else {"id_column": view.id_column}
        pairs = {"kind": "features", "squared": False, "similarities": None, "symmetrize": "error"} if (
            self.kind != "features") else {}
        return type(self)(**{**kept, **own, **named, **pairs})

    @property
    def square(self) -> bool:
        """Whether the numbers belong to pairs of points, or of columns."""
        return self.kind not in ("features", "graph")

    @property
    def of_itself(self) -> float | None:
        """The number of a point, or a column, with itself where a matrix leaves it out; None where it must be there.

        It is not a number where a rule for similarities decides it later.
        """
        if self.kind == "dissimilarities":
            return 0.0 if self.similarities is None else float("nan")
        return 1.0 if self.kind == "correlation" else None

    @property
    def gives(self) -> str:
        """The kind of table that methods take: a correlation matrix is the covariance of standardized columns."""
        return "covariance" if self.kind == "correlation" else self.kind


OF_FIRST_VIEW = ("path", "format", "label_columns", "columns", "key", "view", "labels")  # and of no other


def require_bare(input: Input) -> None:
    """Raise ConfigError for any option besides the path: a run directory determines how it is read."""
    for name, field in type(input).model_fields.items():
        if name != "path" and getattr(input, name) != field.default:
            raise ConfigError("INPUT-OPTION", f"{name} cannot be used with a run directory, whose embedding is the "
                              "input",
                              where=f"input.{name}", hint="leave it out, or give a file")


class WithMatrices(Input):
    """An input whose views are matrices of dissimilarities, as the first one is, and not tables of features."""

    def of_view(self, view: View | FurtherView) -> Input:
        """Return the input of a view, with the first one's kind, and what its options make of a matrix."""
        pairs = {name: getattr(self, name) for name in ("kind", "squared", "similarities", "symmetrize")}
        return super().of_view(view).replace(**pairs)


class WithTables(Input):
    """An input whose views are further columns of the table, those of text read as in the first file."""


class InBlocksBesideOthers(WithTables):
    """An input of one of several files whose rows are read in blocks together."""


class AllTexts(Input):
    """An input whose columns are all read as text."""

    named: Names = option((), "Columns that options of the file's use name.")


class WithCategories(Input):
    """An input with some of the columns read as text, as categories."""

    categories: Names = option((), "The columns of text, chosen among the others.")
    words: Literal["numbers", "labels", "categories"] = option("numbers", "Use of other columns of words.")
    found: bool = option(False, "Whether columns of text that are found among the numbers are categories, too.")
    named_by: str = option("input.columns", "The option that names the columns of text.")


class LikeRun(WithCategories):
    """An input that is read as that of a run: with its columns of ids and of numbers, where the file has them."""

    named: Names = option((), "Names that the column of ids may have (empty: as the other options say).")
    only: Names = option((), "The only columns of numbers, where the file has all of them.")
    beside: Names = option((), "Columns of the run that are left out without a note.")

    def for_columns(self, names: Sequence[str], beside: Sequence[str] | None = None) -> Input:
        """Return the options with the first of the names that the file has, and with the columns if it has all."""
        named = [name for name in self.named if name in (names if beside is None else beside)]
        ids = self.id_column if not self.named else next(iter(named), None)
        has = bool(self.only) and set(self.only) <= {*names} - {ids, *self.label_columns}
        return self.replace(id_column=ids, columns=self.only if has else self.columns, named=(), only=(), beside=())


def like_run(input: Input, *, texts: Iterable[str] = (), id_names: Iterable[str] = (),
             only: Iterable[str] = (), beside: Iterable[str] = ()) -> LikeRun:
    """Return the input with the columns `texts` read as text, and the ids and columns that it should have."""
    return input.chosen_as(LikeRun, categories=tuple(texts), words="labels", named=tuple(id_names), only=tuple(only),
                           beside=tuple(beside))


def with_categories(input: Input, names: Iterable[str], words: Literal["numbers", "labels", "categories"] = "numbers",
                    *, found: bool = False, named_by: str = "input.columns") -> Input:
    """Return the input with the columns `names` read as text, and the use of other columns of words.

    With `found`, other columns of text that are found among the numbers are categories, too.
    """
    return input.as_subclass(WithCategories, categories=tuple(names), words=words, found=found, named_by=named_by)


def options_of_whole(input: Input) -> list[str]:
    """Return the names of chosen options that need the whole of a matrix of pairs in memory."""
    return [name for name in ("squared", "symmetrize") if getattr(input, name) not in (False, "error")]


def without_roles(input: Input) -> Input:
    """Return the options of a table of features in which every column has the role that its content gives it."""
    return input.replace(kind="features", id_column=NO_IDS, label_columns=())


def categories_hint(input: Input) -> str:
    """Return what makes a column of text a category, as the end of a hint, where those that are named would be."""
    named = isinstance(input, WithCategories) and input.words == "numbers" and not input.found and not input.transpose
    return "; a column of text that {input.columns} names is a category" if named else ""


def with_found(input: Input, columns: Sequence[str]) -> Input | None:
    """Return the input with columns of text that were found among the numbers as categories; None if they are not."""
    return input.replace(categories=(*getattr(input, "categories", ()), *columns)) if (
        columns and finds_texts(input)) else None


def finds_texts(input: Input) -> bool:
    """Whether columns of text that are found among the numbers are categories."""
    return isinstance(input, WithCategories) and input.found


def check(input: Input) -> None:
    """Raise ConfigError for options that contradict each other or have no effect."""
    _check_encoding(input)
    if input.point == input.separator:
        _refuse("the decimal point and the separator are the same character", "input.decimal")
    _check_rows(input)
    if input.squared and input.kind != "dissimilarities":
        _refuse(f"squared cannot be used with kind {input.kind}", "input.squared")
    _check_similarities(input)
    if input.observations is not None and input.gives != "covariance":
        _refuse(f"observations cannot be used with kind {input.kind}", "input.observations")
    if input.edges != "lengths" and input.kind != "graph":
        _refuse(f"edges cannot be used with kind {input.kind}", "input.edges")
    if input.kind == "graph":
        _check_graph(input)
    if input.symmetrize != "error" and input.kind == "features":
        _refuse("symmetrize cannot be used with kind features", "input.symmetrize")
    if input.columns and input.square:
        _refuse(f"columns cannot be chosen with kind {input.kind}, where rows and columns are the same points",
                "input.columns")
    if input.transpose and input.square:
        _refuse(f"transpose cannot be used with kind {input.kind}", "input.transpose")
    if input.transpose and input.label_columns:
        _refuse("label columns cannot be used with transpose, where columns are points", "input.label_columns")
    _check_view(input)
    _check_labels(input)
    check_items(input)
    again = duplicates(input.label_columns)
    if again:
        _refuse(f"label columns are named more than once: {listed(again)}", "input.label_columns")
    if input.ids_from is not None and input.ids_from in input.label_columns:
        _refuse(f"column {input.id_column!r} is named both as id and as label", "input.label_columns")


def _check_similarities(input: Input) -> None:
    """Raise ConfigError for a rule for similarities of another kind, or of squared dissimilarities."""
    if input.similarities is None:
        return
    if input.kind != "dissimilarities":
        _reject(f"a rule that makes dissimilarities of similarities cannot be used with kind {input.kind}",
                "input.similarities", "give {input.kind=dissimilarities}, or leave the rule out")
    if input.squared:
        _refuse("squared cannot be used with a rule for similarities", "input.squared")


def _check_graph(input: Input) -> None:
    """Raise ConfigError for options of tables with a graph."""
    for name in ("id_column", "label_columns", "columns"):
        if getattr(input, name) not in (None, ()):
            _refuse(f"{name} cannot be used with kind graph, whose points are named by its edges", f"input.{name}")
    if input.header is False:
        _refuse("an edge list names its columns", "input.header")
    if input.transpose:
        _refuse("transpose cannot be used with kind graph, whose edges have two equal ends", "input.transpose")


def _check_view(input: Input) -> None:
    """Raise ConfigError for a second view of pairs or of standard input, and for its options without a file."""
    if input.view.path is None and input.view != View():
        _refuse("options of a second view are given, and no file: input.view.path is missing", "input.view")
    if input.view.path is not None and input.kind not in ("features", "dissimilarities"):
        _refuse(f"a second view cannot be used with kind {input.kind}", "input.view.path")
    if [input.path, *(view.path for view in input.views)].count("-") > 1:
        _refuse("two views are standard input", "input.view.path")


def _check_rows(input: Input) -> None:
    """Raise ConfigError for a choice of rows with a second view, or of a covariance matrix."""
    name = "rows" if input.rows is not None else "where"
    if input.chooses_rows and input.gives == "covariance":
        _refuse(f"{name} cannot be used with kind {input.kind}, which holds no points", f"input.{name}")
    if input.chooses_rows and input.view.path is not None:
        _refuse(f"{name} cannot be used with a second view, whose rows would be others", f"input.{name}")


def _check_labels(input: Input) -> None:
    """Raise ConfigError for labels of columns, and for options of a file of labels without the file."""
    if input.labels.path is None and input.labels != LabelFile():
        _refuse("options of a file of labels are given, and no file: input.labels.path is missing", "input.labels")
    if input.labels.path is not None and input.gives == "covariance":
        _refuse(f"labels cannot be used with kind {input.kind}, which holds no points", "input.labels.path")
    if input.labels.path == "-":
        _refuse("a file of labels is not read from standard input", "input.labels.path")


def _check_encoding(input: Input) -> None:
    """Raise ConfigError for an encoding that Python does not know."""
    try:
        "".encode(codecs.lookup(input.encoding).name)
    except (LookupError, ValueError):
        raise ConfigError("ENCODING-NAME", f"{input.encoding!r} is not the name of a text encoding",
                          where="input.encoding", hint="for example utf-8, latin-1 or utf-16") from None


def has_coding(input: Input) -> bool:
    """Whether any option says how answers become numbers."""
    return bool(input.answers or input.reverse or input.range is not None or input.items)


def check_items(input: Input) -> None:
    """Raise ConfigError for scales that are none, for columns named twice, and where there are no items."""
    if not has_coding(input):
        return
    first = next(name for name in ("answers", "reverse", "range", "items") if getattr(input, name) not in ((), None))
    wrong = (f"kind {input.kind}" if input.kind != "features" else "transpose, where columns are points"
             if input.transpose else "a second view" if input.view.path is not None else
             "stream: always, as answers are coded in memory" if input.stream == "always" else "")
    if wrong:
        _refuse(f"{first} cannot be used with {wrong}", f"input.{first}")
    _check_scale(input.answers, input.range, "input")
    if again := duplicates(input.reverse):
        _reject(f"columns are reversed more than once: {listed(again)}", "input.reverse", "name each column once")
    if input.range is not None and not input.reverse:
        _reject("range has no effect: no column is reversed", "input.range", "leave it out, or give {input.reverse}")
    for number, items in enumerate(input.items):
        where = f"input.items.{number}"
        _check_scale(items.answers, items.range, where)
        if bool(items.answers) == (items.range is not None):
            _reject("a scale has either answers in words or a range of numbers", where, "give one of the two")
        if items.range is not None and not {*items.columns} & {*input.reverse}:
            _reject("range has no effect: none of these columns is reversed", f"{where}.range",
                    "leave it out, or name them in {input.reverse}")
    if again := duplicates([name for items in input.items for name in items.columns]):
        _reject(f"columns have more than one scale: {listed(again)}", "input.items", "name each column once")


def refuse_coding(input: Input, source: str) -> None:
    """Raise ConfigError for a coding of a `source` that holds no questionnaire."""
    if has_coding(input):
        _reject(f"{source} holds no answers to code", "input", "leave {input.answers}, {input.reverse} and input.items "
                "out, or give a table")


def _check_scale(answers: Sequence[str], range: Sequence[float] | None, where: str) -> None:
    """Raise ConfigError for a scale of one answer, with an answer twice, or with a range that is empty."""
    if len(answers) == 1:
        _reject(f"a scale of one answer, {shown(answers[0])}, has no order", f"{where}.answers",
                "name all answers, the least first")
    if again := duplicates(answers):
        _reject(f"answers are named more than once: {listed(again)}", f"{where}.answers", "name each answer once")
    if range is not None and not range[0] < range[1]:
        _reject(f"a range from {range[0]:g} to {range[1]:g} holds no scale", f"{where}.range",
                "give the least answer first, as in 1,6")


def _refuse(what: str, where: str) -> None:
    """Raise the error of two options that exclude each other, with the hint that all such errors have."""
    raise ConfigError("INPUT-OPTION", what, where=where, hint="leave one of the two out")


def _reject(what: str, where: str, hint: str) -> None:
    """Raise the error of options of answers that say nothing, or have no effect, with a hint of its own."""
    raise ConfigError("INPUT-OPTION", what, where=where, hint=hint)
