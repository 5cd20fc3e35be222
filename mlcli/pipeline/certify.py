"""The certificate of a run, just computed or read back: checks of its rows, model and numbers, and their verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import parts, take_rows
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners, note, stage
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check, Verdict, count, skipped
from mlcli.base.values.inputs import Input
from mlcli.certify.onto import kept_check, moved_check, registration_check
from mlcli.certify.subject import NoInput, Plan, Subject
from mlcli.certify.transforms import BY_COLUMN, transform
from mlcli.config.run_config import RunConfig
from mlcli.core.layouts.anchors import Anchors
from mlcli.core.similarities.projector import NoProjection
from mlcli.core.similarities.registration import Registration, unregistered
from mlcli.data.prepare.missing import Dropped
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import NumericalError
from mlcli.findings.frame.onto import OntoRows
from mlcli.findings.frame.result import Result, Start
from mlcli.findings.moved import TABLE as MOVED
from mlcli.methods import Method, Model
from mlcli.rundir import archive, names
from mlcli.rundir.json_values import json_value
from mlcli.rundir.model import Reduction
from mlcli.rundir.onto import MapRows
from mlcli.rundir.output import failed_name

FORMAT = 1
WORST: tuple[Verdict, ...] = ("fail", "warn", "pass")
FORMAL = ("model", "rows", "prepared", "finite", "size")  # checks that look at no number of the result


@frozen
class Certificate:
    """Checks and facts of one result."""

    checks: tuple[Check, ...]
    facts: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all checks; `unchecked` if none failed and none looked at a number of the result."""
        verdicts = {check.verdict for check in self.checks}
        worst: Verdict = next((verdict for verdict in WORST if verdict in verdicts), "pass")
        numbers = {check.verdict for check in self.checks if check.name not in FORMAL} - {"skipped"}
        return worst if numbers or worst != "pass" else "unchecked"

    @property
    def failed(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.verdict == "fail"]

    def document(self) -> dict[str, Any]:
        """Return the certificate as plain values, for JSON."""
        return {"format": FORMAT, "verdict": self.verdict, "checks": [{**vars(check)} for check in self.checks],
                "facts": self.facts}


def subject_of(method: Method, given: Input | None, model: Model, plan: Plan) -> Subject:
    """Return the subject of a certificate: a method's model of an input, which is None where it is not at hand."""
    return Subject.of(method.chain_of("features" if given is None else given.kind), dict(method), given, model, plan)


def check_numbers(method: Method, subject: Subject, onto: OntoRows | None = None,
                  anchors: Anchors | None = None) -> Iterator[Check]:
    """Yield every check of a result against its input; without the input, the checks that the result allows alone.

    Of rows that were added to a map whose others are fixed, the fit is that of the former run. With anchors, in the
    units of the subject, rows are tied to their places there.
    """
    if subject.places:
        if subject.known is not None and len(subject.data.values) != subject.size:
            missing = abs(len(subject.data.values) - subject.size)
            yield count("size", missing, "rows of the data without coordinates")
            return
        finite = _finite_check(subject)
        yield finite
        if finite.verdict == "fail":
            return
    elif subject.size:
        yield count("finite", int(np.count_nonzero(~np.isfinite(subject.embedding))), "coordinates not finite")
    try:
        if onto is not None and onto.is_fixed:
            yield from method.checks_among(subject, onto.moving)
        elif anchors is not None:
            yield from method.checks_tied(subject, anchors)
        else:
            yield from method.checks(subject)
    except NoInput:
        yield skipped("input", "the input is not at hand")


def _finite_check(subject: Subject) -> Check:
    """Check that all numbers of coordinates, eigenvalues and projector are finite."""
    named = {"embedding": subject.embedding, "eigenvalues": subject.spectrum.solved, "axes": subject.projector.axes,
             "means": subject.projector.centering.means}
    wrong = sum(int(np.size(some) - np.isfinite(some).sum()) for part in named.values() for some in parts(part))
    return count("finite", wrong, f"numbers that are not finite in {', '.join(named)}")


def facts_of(subject: Subject) -> dict[str, Any]:
    """Return facts that are not judged: the numbers of rows, axes, points of the fit, eigenvalues and edges."""
    graph = subject.similarity.parts.graph if subject.places else None
    return {"rows": subject.size, "components": int(subject.embedding.shape[1]),
            "carriers": subject.fit_size if subject.places else 0,
            "eigenvalues": len(subject.spectrum.solved), "edges": None if graph is None else graph.edges}


ID = 1e-7  # seconds for the comparison of an id
NUMBER = 2e-8  # seconds for a number that is prepared back
LEAST = 1e-300  # numbers as small as this have few digits, or none
SAMPLE = 256  # rows that are checked in any case
TOGETHER = 2**20  # prepared numbers that are compared at once


@stage("certify")
def certify(result: Result, folder: Path | None, stored: Mapping[str, Any] | None = None, *,
            full: bool = False) -> Certificate:
    """The certificate of a run, by the model that lies in its folder where it has been written.

    `stored` is that model where it has been read already.
    """
    config, start = result.config, result.input
    rows = None if start is None else rows_of(start.prepared.table.values)
    plan = Plan(full or config.report.certify == "full", config.compute.seed, rows)
    # The pieces of work are too small to be shared. An overflow gives inf or NaN, and the check of it fails.
    with no_listeners(), single_threaded_blas(), np.errstate(all="ignore"):
        held = {"projector": result.model.projector}
        stored = stored or ({} if folder is None else archive.load(folder, finite=False, held=held))
        model = replace(result.model, embedding=result.embedding.values,
                        projector=stored.get("projector", result.model.projector),
                        others=tuple(view.projector for view in stored.get("views", ())) or result.model.others,
                        joint=stored.get("joint", result.model.joint),
                        unfolded=stored.get("unfolded", result.model.unfolded))
        kept = stored.get("onto") if stored else result.finished().onto if (
            start is not None and start.onto is not None) else None
        registration: Registration | None = getattr(model.projector, "registration", None)
        if registration is None and kept is not None:
            registration = kept.registration
        if registration is not None:  # the former run's, where its projector places new rows
            model = before_registration(model, registration)
        given = None if start is None else config.method.with_metric(start.prepared.table.data())
        subject = subject_of(config.method, given, model, plan)
        checks = [same_model(stored, result)] if stored else []
        onto = None if start is None else start.onto
        if kept is not None:
            checks += kept_rows(kept, onto, result, folder)
        alone = onto is None and kept is not None and kept.way != "refit"
        anchors = None if onto is None or onto.weight is None else Anchors(
            model.projector.output_unit.measured(onto.places(len(model.embedding))), onto.weight)
        checks += [*_rows(result, plan), *_reduced(start, stored, plan),
                   *([skipped("input", "the run or the rows are not at hand")] if alone else
                     _numbers(config.method, subject, onto, anchors))]
        checks += _off_manifold(result, model, stored, plan)
        checks += _findings(config, subject, folder)
        facts = {**facts_of(subject), "seed": plan.seed, "certify": "full" if plan.full else "auto"}
    return Certificate(tuple(checks), facts)


def _findings(config: RunConfig, subject: Subject, folder: Path | None) -> list[Check]:
    """Return the checks of what findings have written, where the input is at hand."""
    if folder is None or subject.known is None:
        return []
    return [check for finding in config.report.wanted()
            for check in finding.checks(folder, subject, config.method)]


def certificate_of(result: Result, folder: Path | None) -> Certificate:
    """Certify a run that was just computed, with its model as it lies in `folder` where it has been written."""
    certificate = certify(result, folder)
    if doubtful := [check.name for check in certificate.checks if check.verdict == "warn"]:
        note("W-CERTIFICATE", f"more rounding than expected, see certificate.json: {', '.join(doubtful)}",
             checks=doubtful)
    if certificate.verdict == "unchecked":
        note("N-UNCHECKED", "the certificate checked rows and files, but no number of the result: only the fit itself "
             "can compute them")
    return certificate


def require_passed(certificate: Certificate, output: Path | None = None) -> None:
    """Refuse a result whose certificate failed; raises NumericalError."""
    if failed := certificate.failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise NumericalError("CERTIFICATE", f"check {failed[0].name!r}{more} failed ({failed[0].how}: "
                             f"{failed[0].value:.3g}, allowed {failed[0].tolerance:.3g}): the result is wrong",
                             where="" if output is None else str(failed_name(output)),
                             hint="run `mlcli doctor`; if it finds nothing, this is a bug: please report it with "
                             "certificate.json")


def document_of(certificate: Certificate, result: Result, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of certificate.json: checks, and hashes of the input and of all files that hold no paths."""
    document, origin = certificate.document(), result.source.source
    hashes: dict[str, Any] = {"input": {"sha256": origin.sha256 if origin else None},
                              "files": {name: known for name, known in files.items() if name != names.CONFIG}}
    place = hashes["input"]
    for other in result.source.parts[1:]:
        if other.source:
            place["view"] = place = {"sha256": other.source.sha256}
    if labels := result.source.labels_source:
        hashes["input"]["labels"] = {"sha256": labels.sha256}
    return dict(json_value({**document, "facts": {**document["facts"], **hashes}}))


def before_registration(model: Model, registration: Registration) -> Model:
    """Return a model as it was fitted, before it was turned onto the map of another run, without its loadings."""
    return replace(model, embedding=registration.undo(model.embedding),
                   projector=unregistered(model.projector, registration),
                   loadings=None)


def kept_rows(held: MapRows, onto: OntoRows | None, result: Result, folder: Path | None) -> list[Check]:
    """Check the rows that are the former run's: in a map whose rows are fixed that they lie where they were.

    Those of rows that were fitted anew lie as near to their former places as a turn and a shift can bring them; of rows
    that are tied to them, the distances from them are as written.
    """
    values = result.embedding.values
    if len(values) != held.rows or (held.kept.size and held.kept.max() >= len(values)):
        return [count("kept", abs(len(values) - held.rows) or 1, "rows of the map without coordinates")]
    if held.way == "fixed":
        former = None if onto is None else onto.coordinates[onto.kept]
        return [kept_check(values[held.kept], former, held.sha256)]
    if held.way == "tied":
        former = None if onto is None else onto.coordinates[onto.kept]
        written = None if folder is None else MOVED.read(folder)
        if written is None:
            return []
        places = np.column_stack([written.array(name) for name in written.columns if name.startswith("former")])
        return [moved_check(values[held.kept], known=former, stated=held.sha256, former=places,
                            distances=written.array("moved"))]
    if onto is None:
        return []
    places = held.kept if result.model.kept is None else result.model.kept[held.kept]
    return [registration_check(values[held.kept], onto.coordinates[places], held.registration)]


def _numbers(method: Method, subject: Subject, onto: OntoRows | None = None,
             anchors: Anchors | None = None) -> list[Check]:
    """The checks of the numbers; those that a matrix of the result does not let finish count as failed."""
    checks: list[Check] = []
    try:
        for check in check_numbers(method, subject, onto, anchors):
            checks.append(check)  # noqa: PERF402 (those before an error are kept)
    except np.linalg.LinAlgError as error:
        checks.append(count("matrices", 1, f"matrices of the result without a decomposition ({str(error)[:80]})"))
    return checks


def _rows(result: Result, plan: Plan) -> list[Check]:
    """Rows and their preparation."""
    start, kept = result.input, result.model.kept
    if start is None or not start.source.rows:
        return []
    if start.onto is not None:
        return _new_rows(result, start, start.onto, plan)
    checks = [same_rows(start.source, result.embedding, result.dropped, plan)]
    left = RemainingRows.of(start.source, result.dropped)
    if len(left) == len(result.embedding.ids) and start.source.kind == "features":
        prepared = start.prepared if start.reduced is None else start.reduced.given
        rows = prepared.table.values if kept is None else prepared.table.values[kept]
        checks.append(prepared_rows(start.source, rows, prepared.preparation, left, plan))
    return checks


def _new_rows(result: Result, start: Start, onto: OntoRows, plan: Plan) -> list[Check]:
    """Rows that were added to a map, and their preparation."""
    source, table, embedding = start.source.take(onto.fresh), start.prepared.table, result.embedding
    kept = np.arange(table.rows) if result.model.kept is None else result.model.kept
    there = kept >= onto.count
    tail, source = embedding.take(np.flatnonzero(there)), source.take(kept[there] - onto.count)
    labels = {name: texts for name, texts in source.labels.items() if name in tail.labels}
    ids = tail.ids if isinstance(source.ids, RowNumbers) else source.ids
    source = replace(source, labels=labels, ids=ids)
    checks = [same_rows(source, tail, (), plan)]
    if not onto.parent.reductions and len(source.ids):
        checks.append(prepared_rows(source, table.values[kept[there]], start.prepared.preparation,
                                    RemainingRows(source.rows, np.zeros(0, dtype=np.int64)), plan))
    return checks


def _reduced(start: Start | None, stored: Mapping[str, Any], plan: Plan) -> list[Check]:
    """The checks of PCA ahead of the method, as those of a run of its own."""
    if start is None or start.reduced is None:
        return []
    first = start.reduced
    model = first.model if not stored else replace(first.model, projector=stored["reductions"][-1].projector)
    checks = _numbers(first.method, subject_of(first.method, first.given.table.data(), model, plan))
    return [replace(check, name=f"reduce: {check.name}") for check in checks]


def _off_manifold(result: Result, model: Model, stored: Mapping[str, Any], plan: Plan) -> list[Check]:
    """The scores from which p of new rows is computed, of training rows or of those held out, computed again."""
    score, start, projector = stored.get("score"), result.input, model.projector
    if score is None or start is None or isinstance(projector, NoProjection):
        return []
    from mlcli.certify.off_manifold import ScoredStep, chosen_scores, off_manifold_check
    from mlcli.findings.frame.off_manifold import sample_rows

    places, held, steps = sample_rows(result), start.held_out, list[ScoredStep]()
    if places is None:
        return [skipped("off manifold", "rows of this run have no scores")]
    sampled, size = places, len(places) if held is None else len(held.ids)
    chosen = chosen_scores(size, plan)
    places, first, kept = places[chosen] if held is None else places, start.reduced, result.model.kept
    held = None if held is None else held.views[0].take(chosen)
    fits = [] if first is None else [(stored["reductions"][-1], first.model, first.given.table)]
    fits.append((Reduction(stored["preparation"], projector, score), model, result.prepared))
    if held is not None and held.kind != "features" and kept is not None:
        held = replace(held, values=held.values[:, kept])
    for step, fitted, table in fits:
        found, own = step.projector, places
        if step.score is None or isinstance(found, NoProjection):
            continue
        if held is not None:
            prepared = step.prepared(held)
            held, _ = step.place_prepared(prepared)
            rows, coordinates = prepared.values, held.values
        else:
            own = kept[places] if table is not result.prepared and kept is not None else places
            rows = table.values[own]
            coordinates = found.project(rows) if fitted.others else take_rows(fitted.embedding, own)
            if fitted.others:  # those that rows of the first view have alone
                fitted = replace(fitted, embedding=found.project(table.values[sampled]))
        steps.append(ScoredStep(step.score, found, fitted.ranks.solved[: found.axes.shape[1]], values=table.values,
                                embedding=fitted.embedding, rows=rows,
                                coordinates=coordinates, numbers=None if held is not None else chosen,
                                places=chosen if fitted.others else own))
    return [] if score.calibration is None else [off_manifold_check(steps, score.calibration, size)]


def same_rows(source: Table, embedding: Table, dropped: Sequence[Dropped], plan: Plan) -> Check:
    """The embedding's rows are the input's, under their ids and labels and in their order, but for those dropped."""
    left = RemainingRows.of(source, dropped)
    if len(left) != len(embedding.ids) or len(embedding.ids) != len(embedding.values):
        return count("rows", abs(len(left) - len(embedding.ids)) or 1,
                     "rows of the input that are neither in the embedding nor dropped")
    chosen = plan.sample(0.1, ID, len(left), least=SAMPLE)
    pairs = [(source.ids, embedding.ids), *((texts, embedding.labels[name]) for name, texts in source.labels.items())]
    differing = [(read, kept) for read, kept in pairs if read is not kept]  # rather than one object that is both
    places = list(zip(left[chosen].tolist(), chosen.tolist(), strict=True)) if differing else []
    wrong = sum(any(read[row] != kept[place] for read, kept in differing) for row, place in places)
    return count("rows", wrong, "ids and labels that are not the input's, in order", exact=len(chosen) == len(left))


@frozen
class RemainingRows:
    """The rows of the input that were not dropped, in their order."""

    rows: int  # of the input
    gone: Indices  # ascending

    @classmethod
    def of(cls, source: Table, dropped: Sequence[Dropped]) -> "RemainingRows":
        """By the rows' numbers."""
        numbers = np.array(sorted(lost.row for lost in dropped), dtype=np.int64)
        if source.places is not None:
            return cls(source.rows, np.flatnonzero(np.isin(source.numbers, numbers)))
        return cls(source.rows, numbers[(numbers > 0) & (numbers <= source.rows)] - 1)

    def __len__(self) -> int:
        return self.rows - len(self.gone)

    def __getitem__(self, chosen: Indices) -> Indices:
        """The places among the input's of some of them."""
        return chosen + np.searchsorted(self.gone - np.arange(len(self.gone)), chosen, side="right")


def prepared_rows(source: Table, data: Array, preparation: Preparation, kept: RemainingRows, plan: Plan) -> Check:
    """Check that prepared numbers `data`, an (n, k) array, lead back to the transformed numbers of the input."""
    chosen = plan.sample_in_memory(0.1, NUMBER * max(data.shape[1], 1), len(kept), least=SAMPLE)
    places = kept[chosen]
    blocks, varies = row_blocks(len(chosen), TOGETHER, data.shape[1]), preparation.spread != 0
    if set(preparation.transform).isdisjoint(BY_COLUMN):
        originals = [unscaled(source.values[places[part]], preparation) for part in blocks]
    else:
        whole, bounds = unscaled(np.asarray(source.values), preparation)
        originals = [(whole[places[part]], bounds[places[part]]) for part in blocks]
    exact = len(chosen) == len(kept)
    origin = preparation.undo(np.zeros((1, data.shape[1])))  # the center, and the spread beside it
    size = np.abs(origin) + np.abs(preparation.undo(np.ones((1, data.shape[1]))) - origin) * (not preparation.unscaled)
    for original, _ in originals:
        known = np.where(np.isfinite(original) & varies, original, 0.0)
        size = np.maximum(size, np.abs(known).max(axis=0, initial=0.0))
    allowed, wrong = 0.0 if preparation.unscaled and not preparation.transform else 1e-9, 0
    for part, (original, errors) in zip(blocks, originals, strict=True):
        back, there = preparation.undo(data[chosen[part]]), np.isfinite(original) & varies
        wrong += int(np.sum(there & (np.abs(back - original) > allowed * (size + LEAST) + errors)))
    return count("prepared", wrong, "prepared numbers that do not lead back to the input's", exact=exact)


def unscaled(values: Array, preparation: Preparation) -> tuple[Array, Array]:
    """Return the input's numbers before scaling and their errors, for an (m, d) array; NaN for unfilled cells."""
    values = np.where(np.isfinite(values), values, preparation.fill if preparation.fill.size else np.nan)
    there = np.isfinite(values).all(axis=1) if preparation.sizes is not None else np.full(len(values), True)
    transformed, errors = transform(values[there], preparation.transform)
    values, bounds = np.full(values.shape, np.nan), np.zeros((len(values), 1))
    values[there], bounds[there] = transformed, errors
    errors = bounds
    return values if preparation.chosen is None else values[:, preparation.chosen], errors


PREPARED = ("columns", "missing", "fill", "exponent", "center", "spread", "transform", "chosen", "sizes")


def same_model(stored: Mapping[str, Any], result: Result) -> Check:
    """The model read back names the input's points, and prepares and places rows as the run did."""
    start, ids = result.input, () if result.config.input.kind == "features" else result.embedding.ids
    if start is None:  # of a run that was given another's embedding, the first input's points are not at hand
        wrong = int(not stored["reductions"] and tuple(stored["trained"]) != tuple(ids))
        return count("model", wrong, "parts of the model read back that are not the run's")
    meant = result.finished()
    wrong = int(tuple(stored["trained"]) != tuple(meant.trained)) + sum(
        stored[name] != getattr(meant, name) for name in ("coding", "rule", "files"))
    held = [*(step.preparation for step in stored["reductions"]), stored["preparation"]]
    made = [*(step.preparation for step in meant.reductions), meant.preparation]
    wrong += abs(len(held) - len(made))
    wrong += sum(not np.array_equal(getattr(one, name), getattr(other, name))
                 for one, other in zip(held, made, strict=False)
                 for name in PREPARED)
    held_views = tuple(replace(view, score=None) for view in stored["views"])
    views = archive.ARCHIVE.stored({"": held_views}), archive.ARCHIVE.stored({"": meant.views})
    wrong += views[0] != views[1]
    previous = start.previous_steps  # of another run, which are the same to the last bit
    again = stored["reductions"][:len(previous)]
    wrong += archive.ARCHIVE.stored({"": again}) != archive.ARCHIVE.stored({"": previous})
    return count("model", wrong, "parts of the model read back that are not the run's")
