"""A finished run checked again from its files: hashes, and the certificate where the input is what it was."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.check import Check, count, skipped
from mlcli.base.values.naming import listed
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import Unit
from mlcli.config.build import fingerprint
from mlcli.config.run_config import RunConfig
from mlcli.core.model import Loadings
from mlcli.core.similarities.projector import Projector
from mlcli.data.options.input import Input
from mlcli.data.prepare.prepare import remaining_rows
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table, axis_names, coordinates
from mlcli.errors import MlcliError
from mlcli.findings.frame.result import Result
from mlcli.findings.groups import stated_groups
from mlcli.findings.loadings import TABLE as LOADINGS
from mlcli.findings.posterior import memberships_of, posterior_of
from mlcli.findings.private import TABLE as PRIVATE
from mlcli.findings.stress import goodness_of
from mlcli.findings.trace import TABLE as TRACE
from mlcli.methods import Model
from mlcli.pipeline.certify import Certificate, certify
from mlcli.pipeline.read_parts import loadings_of, stated_spectrum
from mlcli.pipeline.read_run import config_of, existing_path, facts_of_views, moved, without_rows
from mlcli.pipeline.start import begin
from mlcli.rundir import archive, names
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.embedding import dropped_rows, read_embedding
from mlcli.rundir.manifest import read_manifest
from mlcli.rundir.reading import damaged, is_own, own_file, sha256_of
from mlcli.runs.input import REMOTE, input_state, input_states, worst_state


def private_of(folder: Path) -> Loadings | None:
    """The loadings of private factors, where the run has any."""
    rows = PRIVATE.read(folder)
    if rows is None:
        return None
    names_of, _, _, *factors = rows.columns
    values = np.array([rows.array(factor) for factor in factors]).reshape(len(factors), -1)
    return Loadings(np.nan_to_num(values.T), rows.texts(names_of), power=0)


def trace_of(folder: Path) -> tuple[Quantity | None, dict[str, Quantity]]:
    """The objective after each iteration, where the run has any, and its other curves by name."""
    rows = TRACE.read(folder)
    if rows is None:
        return None, {}
    curves = {name: Quantity(rows.array(name)) for name in rows.columns}
    return curves.pop("objective"), {name: curve for name, curve in curves.items() if name != "iteration"}


PARALLEL = 1e-9  # of the lengths: how far two directions may be from parallel


class FitFacts(dict[str, Any]):
    """The figures of a fit in run.json; reading one that is missing raises an error of the file."""

    def __missing__(self, name: str) -> Any:
        raise damaged(Path(names.MANIFEST), f"fit.{name} is missing", f"fit.{name}")


@frozen
class Verified:
    """The result of checking a run again."""

    changed: tuple[str, ...]  # files that are not those the run wrote
    input: str  # unchanged, changed, missing, or on a network
    certificate: Certificate
    onto: str | None = None  # likewise the run whose map it adds rows to; None where it adds none
    files: tuple[tuple[str, str], ...] = ()  # path and state of each file of the input that is not unchanged

    def document(self, folder: Path) -> dict[str, Any]:
        """Return the verification as plain values."""
        verdict = "changed" if self.changed else self.certificate.verdict
        return {"run": str(folder), "verdict": verdict, "changed": list(self.changed), "input": self.input,
                "input_files": [{"path": path, "state": state} for path, state in self.files],
                **({} if self.onto is None else {"onto": self.onto}), "certificate": self.certificate.document()}


def verify(folder: Path, given: str | None = None, views: Sequence[str] = (), *, full: bool = False) -> Verified:
    """Hashes of all files, then the certificate from the files alone, with the input where it is still the same.

    `given` and `views` are where the input and its second view and further ones lie now. An input that the run names
    on a network is opened only where the context allows it. Raises InputMissing if there
    is no run, NumericalError if the run failed, UnsafeFile if it cannot be read, and ConfigError for a view that the
    run does not have.
    """
    manifest = read_manifest(folder)
    changed = changed_files(folder, manifest)
    if changed:
        return Verified(changed, "not looked at", Certificate((), {}))
    config = read_as_then(moved(config_of(folder, manifest), manifest, given, views), manifest)
    states = input_states(config, manifest["input"], (given, *views))
    state, lost = worst_state(states), tuple(one for one in states if one[1] != "unchanged")
    onto = None if config.onto is None else parent_state(config.onto.run, manifest["onto"])
    whole = state == "unchanged" and onto in (None, "unchanged")
    with limit_threads(config.compute.thread_count()), in_temporary_files():
        if names.MODEL not in manifest["files"]:
            return Verified((), state, Certificate((skipped("model", "the run wrote no model"),), {}), onto, lost)
        stored = archive.load(folder, whole=True)
        values, texts = embedding_of(folder, config, manifest)
        stated, (objective, curves) = manifest.get("spectrum"), trace_of(folder)
        spectrum = stated and stated_spectrum(folder, stated, config.method.axes_options.written(values.shape[1]))
        if stated and spectrum is None:
            outside = skipped("spectrum", "the eigenvalues are outside the range of doubles")
            return Verified((), state, Certificate((outside,), {}), onto, lost)
        model = Model(embedding=values, spectrum=spectrum and replace(spectrum, vectors=values),
                      projector=stored["projector"], others=tuple(view.projector for view in stored["views"]),
                      joint=stored["joint"], private=private_of(folder), fit=FitFacts(manifest["fit"]),
                      objective=objective, curves=curves, loadings=loadings_of(folder),
                      spreads=posterior_of(folder, values.shape), memberships=memberships_of(folder, len(values)),
                      goodness=goodness_of(folder, len(values)), groups=stated_groups(folder, values.shape))
        require_columns(folder, model.loadings, expected_rows(config, manifest, stored), values.shape[1])
        result_of = result_with_input if whole else result_without_input
        result = result_of(folder, config, model, texts)
        with own_file(folder / names.MANIFEST):  # files whose numbers do not fit together end a check with an error
            certificate = certify(result, folder, stored, full=full)
        checked = any(check.name == "loadings" for check in certificate.checks)  # as of polychoric correlations
        if model.loadings is not None and isinstance(stored["projector"], Projector) and not checked:
            wrong = other_directions(model.loadings, stored["projector"])
            certificate = replace(certificate, checks=(*certificate.checks, *wrong))
        if not whole:
            absent = skipped("input", why_without(state, lost) if lost else
                             f"rows and coordinates are not compared with it, as the run whose map it adds rows to is "
                             f"{onto}")
            others = tuple(check for check in certificate.checks if check.name != absent.name)
            certificate = replace(certificate, checks=(*others, absent))
        return Verified((), state, certificate, onto, lost)


def why_without(state: str, files: Sequence[tuple[str, str]]) -> str:
    """Return in words why numbers are not compared with an input, of which some files are not unchanged."""
    way = ("--network opens it, and --input names a copy" if state == REMOTE else
           "name what the run read with --input and --view, or put it back")
    return (f"rows, preparation and coordinates are not compared with it, as it is {state} "
            f"({listed([Path(path).name for path, _ in files])}): {way}")


def unlike(folder: Path, config: RunConfig) -> str:
    """Why a folder does not hold the run of a configuration, whole and of the input as it is now; empty if it does."""
    try:
        manifest = read_manifest(folder)
    except MlcliError as error:
        return error.what
    for changed in changed_files(folder, manifest):
        return f"{changed} is not the file that the run wrote"
    if manifest.get("asked") != fingerprint(config):
        return "it was made with other options"
    state = input_state(config, manifest["input"], None)
    if state == "unchanged" and config.onto is not None:
        parent = parent_state(config.onto.run, manifest.get("onto") or {})
        return "" if parent == "unchanged" else f"the run whose map it adds rows to is {parent}"
    return "" if state == "unchanged" else f"its input is {state}"


def parent_state(path: str, facts: Mapping[str, Any]) -> str:
    """Return whether the run that a run added rows to is there, and has the run.json that it had."""
    manifest = Path(existing_path(path, dict(facts))) / names.MANIFEST
    if not manifest.is_file():
        return "missing"
    return "unchanged" if sha256_of(manifest) == facts.get("sha256") else "changed"


def expected_rows(config: RunConfig, manifest: dict[str, Any], stored: dict[str, Any]) -> int | None:
    """Return the number of rows of loadings.csv, as far as the other files tell; None where they do not."""
    own, views = len(stored["preparation"].names) or int(manifest["input"]["columns"]), stored["views"]
    projector = stored["projector"]
    if (config.method.domain == "answers" or config.method.loads == "levels") and isinstance(projector, Projector):
        own = len(projector.axes)  # one for each category
    if config.method.loads in ("columns", "shares", "levels"):
        return own
    if config.method.loads == "views":
        others = [len(view.preparation.names) for view in views] or [
            facts["columns"] for facts in facts_of_views(manifest["input"], len(config.input.views))]
        return own + sum(others)
    return None


def require_columns(folder: Path, loadings: Loadings | None, rows: int | None, axes: int) -> None:
    """Raise UnsafeFile for loadings of another number of columns, or of axes, than the run has."""
    if loadings is None:
        return
    found = loadings.values.shape
    if found[1] != axes or found[0] != (rows or found[0]):
        raise damaged(folder / LOADINGS.name, f"it has {found[0]} rows and {found[1]} axes, not {rows} and {axes}")


def other_directions(loadings: Loadings, projector: Projector) -> list[Check]:
    """Return a failed check where loadings have other directions than the decoder of the model; else none."""
    if projector.affine is None:
        return []
    known = projector.affine.directions
    found = loadings.values[:len(known)]
    with np.errstate(invalid="ignore"):  # a damaged file may hold infinite numbers, whose axes are wrong
        found, known = Unit.of(found).measured(found), Unit.of(known).measured(known)  # whose squares are in range
        sizes = np.linalg.norm(found, axis=0) * np.linalg.norm(known, axis=0)
        wrong = ~(sizes - np.abs(np.sum(found * known, axis=0)) <= PARALLEL * sizes)
    if not wrong.any():
        return []
    return [count("loadings", int(wrong.sum()), "axes whose loadings are not those of the model's decoder")]


def changed_files(folder: Path, manifest: dict[str, Any]) -> tuple[str, ...]:
    """Return the files of a run that are not those it wrote."""
    return tuple(name for name, known in manifest["files"].items() if not is_own(folder, name, known))


def read_as_then(config: RunConfig, manifest: dict[str, Any]) -> RunConfig:
    """The configuration by which a table is read in blocks where the run read it so, whatever memory there is now."""
    streamed = any(said["code"] == "N-STREAMED" for said in manifest.get("notes", ()))
    return config.replace(input=config.input.replace(stream="always")) if streamed else config


def result_with_input(folder: Path, config: RunConfig, model: Model,
                      texts: Sequence[Sequence[str]] | None) -> Result:
    """The run with its input, read and prepared again."""
    with own_file(folder / names.CONFIG):  # the input is the one that the run read: what does not fit it is damaged
        start = begin(config)
    if start.reduced is not None:
        start = start.with_scores(scores_of(folder / names.SCORES, start.prepared.table.values.shape))
    source, prepared = start.source, start.prepared
    gone = dropped_rows(folder)
    chosen, table = remaining_rows(source, prepared, gone), prepared.table
    if start.onto is not None:  # rows of the former run may be among those left out
        there = None if texts is None or len(model.embedding) == table.rows else {*texts[0]}
        chosen = None if there is None else np.flatnonzero([name in there for name in table.ids])
    table = table if chosen is None else table.take(chosen)
    embedding = coordinates(table, model.embedding)
    if texts is not None:
        labels = dict(zip(table.labels, map(tuple, texts[1:]), strict=True))
        numbered = isinstance(table.ids, RowNumbers) and table.ids == texts[0]
        embedding = replace(embedding, ids=table.ids if numbered else texts[0], labels=labels)
    return Result(config, start, embedding, tuple(gone), replace(model, kept=chosen))


def scores_of(path: Path, shape: tuple[int, ...]) -> Array:
    """Read the scores of PCA before the method, an (n, k) array; raises UnsafeFile for another shape."""
    with own_file(path):
        scores = read(Input(path=str(path), format="npy")).values
    if scores.shape != shape:
        raise damaged(path, f"its shape is {scores.shape}, not {shape}")
    return scores


def result_without_input(folder: Path, config: RunConfig, model: Model,
                         texts: Sequence[Sequence[str]] | None) -> Result:
    """The run without its input: whether its files agree."""
    ids = texts[0] if texts is not None else RowNumbers.up_to(len(model.embedding))
    labels = {} if texts is None else {str(i): tuple(column) for i, column in enumerate(texts[1:])}
    table = Table(model.embedding, axis_names(model.embedding.shape[1]), ids, labels=labels)
    return Result(config, None, table, (), model)


def embedding_of(folder: Path, config: RunConfig,
                 manifest: dict[str, Any]) -> tuple[Array, list[Sequence[str]] | None]:
    """Coordinates (n x p), and ids and labels as columns of text; none of those in an NPY file."""
    if not manifest["embedding"]["rows"]:
        return without_rows(manifest).values, [[]]
    format = next((kind for kind in ("csv", "parquet") if kind in config.report.formats), "npy")
    table = read_embedding(folder / names.embedding(format), manifest)
    return table.values, None if format == "npy" else [table.ids, *table.labels.values()]
