"""Ordination results for scikit-bio, QIIME 2 and Emperor: text with tabs, in six sections.

Source: the format `ordination` of scikit-bio,
https://scikit.bio/docs/latest/generated/skbio.io.format.ordination.html
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import parts
from mlcli.base.types import Array
from mlcli.base.values.naming import shown
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.errors import DataError

BREAKS = "\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # characters that end a cell or a line for a reader


@frozen
class Ordination:
    """The content of the format; sections that no run has are empty."""

    eigenvalues: Array  # p
    proportions: Array  # p; NaN where the trace is not known
    sites: Sequence[str]  # n
    coordinates: Array  # n x p
    species: Sequence[str] = ()  # d
    loadings: Array | None = None  # d x p


def ordination_text(result: Ordination) -> Iterator[str]:
    """Yield the lines of the file.

    Every number has 17 digits. Raises DataError for names that the format cannot hold.
    """
    for names in (result.sites, result.species):
        wrong = None if isinstance(names, RowNumbers) else next(
            (name for name in names if not name.strip() or any(mark in name for mark in BREAKS)), None)
        if wrong is not None:
            raise DataError("ORDINATION-NAME", f"the format cannot hold the name {shown(wrong)}",
                            hint="rename it: names hold neither tabs nor ends of lines, and are not empty")
    sections = (_vector("Eigvals", result.eigenvalues), _vector("Proportion explained", result.proportions),
                _matrix("Species", result.species, result.loadings), _matrix("Site", result.sites, result.coordinates),
                ["Biplot\t0\t0"], ["Site constraints\t0\t0"])
    for place, section in enumerate(sections):
        yield from ["\n"] * (place > 0)
        yield from (f"{line}\n" for line in section)


def _vector(name: str, values: Array) -> list[str]:
    return [f"{name}\t{len(values)}", "\t".join(_cells(values))]


def _matrix(name: str, names: Sequence[str], values: Array | None) -> Iterator[str]:
    if values is None or not len(values):
        yield f"{name}\t0\t0"
        return
    yield f"{name}\t{len(values)}\t{values.shape[1]}"
    rows = chain.from_iterable(parts(values))
    yield from ("\t".join([name, *_cells(row)]) for name, row in zip(names, rows, strict=True))


def _cells(values: Array) -> Iterator[str]:
    return (f"{value:.17g}" for value in values.tolist())
