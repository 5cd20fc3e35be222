"""How much room a run takes on a disk, and whether there is so much."""

from pathlib import Path

from mlcli.base.units import memory
from mlcli.config.run_config import RunConfig
from mlcli.data.table import Table
from mlcli.errors import RefusedByPlan
from mlcli.methods import Method
from mlcli.rundir.kept import bytes_of, free_bytes, require_room

NUMBER, LEAST = 20, 8  # bytes of a number as text, about and at least
FILES = 200_000  # bytes of figures, page and small files
TRIED = 2**20  # bytes up to which a run that may not fit is tried


def numbers_written(config: RunConfig, method: Method, table: Table) -> int:
    """Cells of the embedding in all its files; of a share of the variance, as if all axes were kept."""
    if table.kind == "covariance":  # its points are not at hand
        return 0
    kept = method.axes_options.components
    axes = kept if isinstance(kept, int) else method.limit(table.data())
    return len(config.report.formats) * table.rows * (axes + 1 + len(table.labels))


def output_bytes(config: RunConfig, method: Method, table: Table, *, number: int = NUMBER, files: int = FILES) -> int:
    """About how many bytes the files of a run take: what is kept, the model, the embedding, figures and page."""
    model = method.stored(table.data()) if config.report.writes("model") else 0.0
    return int(bytes_of(config.report.kept(), table.rows) + model + files
               + number * numbers_written(config, method, table))


def fits_on_disk(config: RunConfig, method: Method, table: Table) -> bool:
    """Whether the least that a run takes is there; little is tried."""
    least = output_bytes(config, method, table, number=LEAST, files=0)
    return least <= max(free_bytes(Path(config.output or "")), 0 if config.report.kept() else TRIED)


def require_disk(config: RunConfig, method: Method, table: Table) -> None:
    """Refuses, before anything is computed, a run that would not fit on the disk; raises RefusedByPlan."""
    output = Path(config.output or "")
    require_room(config.report.kept(), len(table.values), output)
    if not fits_on_disk(config, method, table):
        raise RefusedByPlan("DISK", f"the files of {table.rows:,} rows need about "
                            f"{memory(output_bytes(config, method, table))} on disk, and {memory(free_bytes(output))} "
                            "are free", where=str(output),
                            hint="give an output directory on a larger disk (-o), or write less (--outputs)")
