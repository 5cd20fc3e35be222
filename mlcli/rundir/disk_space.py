"""Disk space that a run needs, and whether it is free."""

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import gettempdir

from mlcli.base.rows.scratch import bytes_on_disk, scratch_in
from mlcli.base.rows.source import rows_of
from mlcli.base.units import memory
from mlcli.base.values.inputs import Given
from mlcli.base.values.products import Name
from mlcli.config.report_options import MOST_SHOWN, axes_shown
from mlcli.config.run_config import RunConfig
from mlcli.core.similarities.off_manifold import scored_rows
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import RefusedByPlan
from mlcli.methods import Method
from mlcli.methods.method import weights_memory
from mlcli.rundir.kept import bytes_of

NUMBER, LEAST = 20, 8  # bytes of a number as text, about and at least
FILES = 300_000  # bytes of figures, page with up to 2,000 pairs, and small files
PAGE = 200_000  # bytes of interactive.html without points: scripts and picture
AXIS, LABEL, LETTER = 2.6, 1.3, 0.6  # bytes of a point there: for each axis, for each label, for each letter of its id
MADE, TIMES = 40, 5  # bytes of memory for a point while the page is made, and copies of the page
TRIED = 2**20  # bytes up to which a run that may not fit is tried
COPIES = 2  # arrays of coordinates that lie in files without a name when the embedding is written
FIRST = 1_000  # ids whose length counts for all
WEIGHTS = 2  # arrays of weights of columns in a model: to coordinates, and back
LARGER = "give an output directory on a larger disk (-o), or keep fewer axes"


def temporary() -> Path:
    """Return the folder of temporary files, for a run without a directory."""
    return Path(gettempdir())


def in_temporary_files() -> AbstractContextManager[None]:
    """Within the block, large arrays lie in such files."""
    return scratch_in(temporary(), temporary(), "set TMPDIR to a larger disk")


def disk_of(config: RunConfig) -> Path:
    """Return the folder whose disk a run uses: its output, or that of temporary files."""
    return temporary() if config.output == "-" else Path(config.output or "")


def coordinates_of(method: Method, table: Table) -> int:
    """Return the number of coordinates of a run; all axes are counted where a share of variance decides."""
    return table.rows * method.axes_of(table.data())


def numbers_written(config: RunConfig, method: Method, table: Table) -> int:
    """Cells of the embedding in all its files."""
    if table.kind == "covariance" or config.output == "-":  # its points are not at hand; no file is written
        return 0
    beside = table.rows * (1 + len(table.labels))
    return len(config.report.formats) * (coordinates_of(method, table) + beside)


def scratch_bytes(method: Method, table: Table) -> float:
    """Bytes of coordinates in files without a name, of a table that is read in blocks."""
    held = rows_of(table.values) is None
    return 0.0 if held else bytes_on_disk(COPIES, coordinates_of(method, table))


def output_bytes(config: RunConfig, method: Method, table: Table, *, number: int = NUMBER, files: int = FILES) -> int:
    """About how many bytes a run takes: what is kept, model, embedding, findings, figures and page, scratch files."""
    data = table.data()
    stored, weights = method.stored(data), weights_memory(method, data)
    rows = 8 * coordinates_of(method, table) if stored else 0  # weights of rows
    squares = 8 * table.rows**2 * method.squares
    kept = stored + rows + squares + WEIGHTS * weights + reference_bytes(method, data)
    model = kept if config.report.writes("model") else 0.0
    cells: float = numbers_written(config, method, table)
    if config.output != "-":
        cells += sum(finding.cells(method, table) for finding in config.report.wanted())
    shown = interactive_bytes(config, method, table) if files else 0
    written = 0.0 if config.output == "-" else shown + model + files
    return int(written + bytes_of(config.report.products_to_keep(), table.rows)
               + number * cells + scratch_bytes(method, table))


def reference_bytes(method: Method, data: Given) -> float:
    """Bytes of the rows in the model that new ones are compared with, where their scores are of neighbors.

    Those of other methods are what axes of a kernel, or a decoder of their own, leave.
    """
    if data.kind != "features":
        return 0.0
    chain, (rows, columns) = method.chain_of(data.kind), data.values.shape
    neighbors = method.follows_rows or not method.leads_back(data.kind) if chain is None else (
        chain.graph is not None or chain.paths is not None or chain.correction != "none" or not chain.metric.plain
        or not (chain.kernel.of_distances or chain.kernel.by_columns))
    return 8.0 * scored_rows(rows, columns) * (columns + 1) if neighbors else 0.0


def interactive_bytes(config: RunConfig, method: Method, table: Table) -> int:
    """Bytes of the interactive page, where one is asked for: ids that are numbers of rows take nearly none."""
    if not config.report.interactive:
        return 0
    rows = min(table.rows, MOST_SHOWN)
    letters = 0 if isinstance(table.ids, RowNumbers) else max(map(len, table.ids[:FIRST]), default=0)
    axes = axes_shown(rows, method.axes_of(table.data()))
    return int(PAGE + (AXIS * axes + LABEL * len(table.labels) + LETTER * letters) * rows)


def interactive_memory(config: RunConfig, method: Method, table: Table) -> int:
    """Bytes of memory that making the interactive page takes, where one is asked for."""
    made = interactive_bytes(config, method, table)
    return TIMES * made + MADE * min(table.rows, MOST_SHOWN) if made else 0


def fits_on_disk(config: RunConfig, method: Method, table: Table) -> bool:
    """Whether the disk has room for the least that a run takes; a run of little (`TRIED`) is tried in any case."""
    least = output_bytes(config, method, table, number=LEAST, files=0)
    return least <= max(free_bytes(disk_of(config)), 0 if config.report.products_to_keep() else TRIED)


def require_disk(config: RunConfig, method: Method, table: Table) -> None:
    """Refuses, before anything is computed, a run that would not fit on the disk; raises RefusedByPlan."""
    output = disk_of(config)
    require_room(config.report.products_to_keep(), len(table.values), output)
    if not fits_on_disk(config, method, table):
        scratch = scratch_bytes(method, table)
        among = f" ({memory(scratch)} of them for a while)" if scratch else ""
        raise RefusedByPlan("DISK", f"the files of {table.rows:,} rows need about "
                            f"{memory(output_bytes(config, method, table))}{among} on disk, and "
                            f"{memory(free_bytes(output))} are free", where=str(output),
                            hint="set TMPDIR to a larger disk" if config.output == "-" else
                            "give an output directory on a larger disk (-o), or write less ({report.outputs})")


def free_bytes(output: Path) -> int:
    """Return the free bytes of the disk to which a run will be written."""
    around = (output.absolute(), *output.absolute().parents)
    there = next(folder for folder in around if os.path.isdir(folder))  # noqa: PTH112  False for a name too long
    return shutil.disk_usage(there).free


def require_room(keep: Sequence[Name], rows: int, output: Path) -> None:
    """Refuses, before anything is computed, what would not fit on the disk; raises RefusedByPlan."""
    needed = bytes_of(keep, rows)
    if keep and needed > (free := free_bytes(output)):
        raise RefusedByPlan("DISK", f"{' and '.join(keep)} of {rows:,} rows need about {memory(needed)} on disk, and "
                            f"{memory(free)} are free", where="report.keep",
                            hint="keep less, or give an output directory on a larger disk (-o)")
