"""A finished run as a file that other programs read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.products import Name, Sparse
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.wording import place
from mlcli.data.write.h5ad import Content, write_h5ad
from mlcli.data.write.ordination import Ordination, ordination_text
from mlcli.errors import ConfigError
from mlcli.findings.frame.files import csv_lines
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.methods.principal.pca import of_answers
from mlcli.pipeline.read_run import read_run, with_labels
from mlcli.publication.publish import write_whole
from mlcli.rundir import names
from mlcli.rundir.archive import read_model as model_of
from mlcli.runs import scanpy_members as scanpy
from mlcli.runs.kept import is_square, kept_matrix, kept_square, require_kept
from mlcli.runs.neighbor_graph import neighbor_graph
from mlcli.runs.scanpy_members import Places


@frozen
class Exported:
    """A run, with what its axes are made of where they are directions of the features."""

    folder: Path
    run: FinishedRun
    features: Sequence[str]  # d
    directions: Array | None  # d x p


def exported(folder: Path, labels: str | None = None) -> Exported:
    """A run read back, with the labels of a file before its own; raises as `mlcli report` does.

    Raises ConfigError for a run without points.
    """
    run = with_labels(read_run(folder), labels)
    if not len(run.embedding.ids):
        raise ConfigError("NO-ROWS", "the run was made from a covariance matrix and has no points", where=place(
            str(folder)), hint="give the run of a table; loadings.csv holds what this one found")
    features, directions = _directions(folder, run)
    return Exported(folder, run, features, directions)


def _directions(folder: Path, run: FinishedRun) -> tuple[Sequence[str], Array | None]:
    """The features and their directions (d x p) where coordinates lead back to them by one affine map, else none.

    Those of polychoric correlations are of standardized codes, whose components they are.
    """
    if names.MODEL not in run.manifest["files"]:
        return (), None
    step, *ahead = reversed(model_of(folder).steps)
    affine = step.projector.affine
    if ahead or affine is None:
        return (), None
    directions = affine.directions
    if of_answers(run.config.method, run.config.input.gives):
        directions = standard_directions(require_projector(step.projector).axes, directions)
    return step.preparation.names, directions


def standard_directions(axes: Array, directions: Array) -> Array:
    """Return the directions v of standardized columns (d x p), of axes v / s and directions v s for deviations s."""
    found = np.sign(directions) * np.sqrt(np.abs(axes * directions))
    return found / np.linalg.norm(found, axis=0)  # units of s are not known here


def write_ordination(content: Exported, path: Path) -> None:
    """Ordination results, as scikit-bio reads them; raises ConfigError where the run has no eigenvalues."""
    lines = ordination_of(content)
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(lines)


def ordination_of(content: Exported) -> Iterator[str]:
    """Yield the lines of ordination results; raises ConfigError where the run has no eigenvalues."""
    run, count = content.run, content.run.embedding.values.shape[1]
    spectrum = SpectrumFinding.of(run)
    if spectrum is None:
        raise ConfigError("NO-SPECTRUM", f"{run.manifest['method']} has no eigenvalues, which the format needs",
                          where="--format", hint="choose h5ad, or give a run of another method")
    return ordination_text(Ordination(
        eigenvalues=np.array(spectrum.numbers("eigenvalue")[:count]),
        proportions=np.array(spectrum.numbers("proportion")[:count]), sites=run.embedding.ids,
        coordinates=run.embedding.values, species=content.features, loadings=content.directions))


def write_anndata(content: Exported, path: Path) -> None:
    """AnnData: coordinates, labels, the spectrum and the run's options, a kept graph; raises DependencyMissing."""
    run, count = content.run, len(content.run.embedding.ids)
    places = Places(np.arange(count), count, content.features)
    graph = neighbor_graph(content.folder, run, None)
    write_h5ad(Content(run.embedding.ids, run.embedding.labels, content.features, {
        **scanpy.coordinates(run, places), **scanpy.loadings(run, content.directions, content.features, places),
        **scanpy.facts(run), **scanpy.neighbors(run, graph, "X", places)}), path)


def kept_lines(folder: Path, name: Name) -> Iterator[str]:
    """Return the lines of a result that a run kept as CSV: a square table, or an entry of a sparse matrix in each.

    Numbers have all digits. Raises ConfigError where the run did not keep it, and UnsafeFile where it was changed.
    """
    run = read_run(folder)
    require_kept(run, name, "--kept")
    if is_square(name):
        return csv_lines(["", *run.embedding.ids], _square_rows(folder, run, name))
    header = ["source", "target", "length" if name == "graph" else "weight"]
    return csv_lines(header, _entries(kept_matrix(folder, run, name), run.embedding.ids))


def _square_rows(folder: Path, run: FinishedRun, name: Name) -> Iterator[Sequence[object]]:
    """Yield the rows of a square table, each after its id."""
    for row, numbers in zip(run.embedding.ids, kept_square(folder, run, name), strict=True):
        yield [row, *numbers.tolist()]


def _entries(matrix: Sparse, ids: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield the entries of a sparse matrix (n x n), each after the ids of its row and its column."""
    for row, name in enumerate(ids):
        part = slice(matrix.starts[row], matrix.starts[row + 1])
        for column, value in zip(matrix.indices[part].tolist(), matrix.values[part].tolist(), strict=True):
            yield [name, ids[column], value]


def export_kept(folder: Path, name: Name, output: Path, *, force: bool = False) -> None:
    """Writes a result that a run kept as CSV, whole or not at all."""
    lines = kept_lines(folder, name)

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(lines)

    write_whole(output, write, force=force)


WRITERS: Mapping[str, Callable[[Exported, Path], None]] = {"h5ad": write_anndata, "ordination": write_ordination}


def export(folder: Path, output: Path, format: str, *, labels: str | None = None, force: bool = False) -> None:
    """Writes a run as a file of a format, whole or not at all."""
    content = exported(folder, labels)
    write_whole(output, lambda draft: WRITERS[format](content, draft), force=force)
