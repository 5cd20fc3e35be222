"""The fit of a method to prepared rows: planned from its input, then made."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from mlcli.base.machine.footprint import AfterFit, memory_after_fit
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.config.run_config import RunConfig
from mlcli.core.similarities.registration import Registration, registered, require_turnable
from mlcli.data.prepare.missing import Dropped, dropped_row
from mlcli.data.table.table import Table, coordinates
from mlcli.errors import GeometryError
from mlcli.findings import FINDINGS
from mlcli.findings.frame.likeness import procrustes, standardize
from mlcli.findings.frame.onto import OntoRows
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Result, Start, embedded_rows
from mlcli.methods import Method, Model
from mlcli.methods.layouts import LayoutMethod
from mlcli.methods.method import require_memory
from mlcli.pipeline.session import Session
from mlcli.report.paper.needs import plot_cost
from mlcli.rundir.disk_space import require_disk


def fit(plan: FitPlan, session: Session | None = None) -> Result:
    """Fit the method; a session keeps results of stages of this fit.

    Raises RefusedByPlan where disk or memory do not suffice.
    """
    config, prepared, method = plan.config, plan.start.prepared, plan.method
    if config.output is not None:
        require_disk(config, method, prepared.table)
    onto = plan.start.onto
    with (prepared.table.rows_named(), memory_after_fit(plan.after),
          nullcontext() if session is None else session.fitting(
              method, plan.data, *(() if onto is None else onto.parts))):
        model = method.fit_in_range(plan.normalized, plan.steps_before, config.compute) if onto is None else (
            model_onto(plan, onto))
    config.report.require_arrows(model.embedding.shape[1], loaded=model.loadings is not None)
    config = config.replace(method=method.with_components(model.embedding.shape[1]))
    dropped = (*prepared.dropped, *_rows_left_out(model, prepared.table))
    embedding = coordinates(embedded_rows(prepared.table, model), model.embedding)
    return Result(config=config, input=plan.start, embedding=embedding, dropped=dropped, model=model)


def model_onto(plan: FitPlan, onto: OntoRows) -> Model:
    """Return the model of rows that are added to a map, as the way says."""
    method, places = plan.method, onto.places(plan.table.rows)
    if onto.way == "refit":
        axes = onto.coordinates.shape[1]
        return registered_model(method.with_axes(axes).fit_in_range(plan.normalized, plan.steps_before, plan.compute),
                                onto, method)
    require_memory(plan.steps_before, plan.normalized, method, plan.compute)
    assert onto.model is not None
    if onto.weight is None:
        return method.place_among(plan.data, places, onto.moving, onto.model, plan.compute)
    assert isinstance(method, LayoutMethod)
    with no_listeners():  # whose iterations are not those of the fit
        start = method.place_among(plan.data, places.copy(), onto.moving, onto.model, plan.compute).embedding
    tied = method.tied_to(places, start, onto.weight, plan.table.ids)
    return tied.fit_in_range(plan.normalized, plan.steps_before, plan.compute)


def registered_model(model: Model, onto: OntoRows, method: Method) -> Model:
    """Return a model of all rows turned and moved onto the former map, by the rows that both have.

    It is scaled where the unit of coordinates is free, but for layouts, whose distances place new rows. Raises
    GeometryError where the fit has another number of axes, and ConfigError for models that cannot be turned.
    """
    require_turnable((model.spreads, model.memberships, model.joint, model.private, model.forecast), method.name)
    places = np.arange(len(model.embedding)) if model.kept is None else model.kept
    shared = np.isin(places, onto.kept)
    points, targets = model.embedding[shared], onto.coordinates[places[shared]]
    if points.shape != targets.shape:
        raise GeometryError("ONTO-AXES", f"the rows together have {points.shape[1]} axes, and the map has "
                            f"{targets.shape[1]}", hint="place the new rows among those of the map ({onto.way=fixed})")
    registration = Registration.of(points, targets, procrustes(standardize(targets), standardize(points)).m2,
                                   scaled=method.free_scale and "axes" not in type(method).model_fields)
    loadings = model.loadings and replace(
        model.loadings, values=turned_loadings(model.loadings.values, registration.turn))
    return replace(model, embedding=registration(model.embedding), loadings=loadings, registration=registration,
                   projector=registered(model.projector, registration))


def turned_loadings(loadings: Array, turn: Array) -> Array:
    """Return loadings (d x p) on turned axes: their directions turned, of the lengths that variances then have."""
    lengths = np.linalg.norm(loadings, axis=0)
    directions = loadings / np.where(lengths > 0, lengths, 1.0) @ turn
    sizes = np.linalg.norm(directions, axis=0)
    return np.asarray(directions / np.where(sizes > 0, sizes, 1.0) * np.sqrt(lengths**2 @ turn**2))


def drawing_of(config: RunConfig, start: Start) -> AfterFit:
    """Predict the memory of assessing a fit and drawing its figures; little if only the embedding is streamed.

    Raises ConfigError where figures are to show labels that the table lacks.
    """
    table, asked = start.prepared.table, FINDINGS["dimension"].precedes_fit(config)
    source = start.source.source
    read = AfterFit(texts=sum(part.text_bytes for part in start.source.parts))
    read = read if source is None else replace(read, reading=source.reading, kept=source.kept)
    if config.output == "-":
        return replace(read, rules=asked, quality=False)
    report, measures = config.report, config.report.setting("quality")
    report.require_point_labels(table.rows, table.labels)
    if measures is not None:
        from mlcli.findings.quality.measures import Labels

        with no_listeners():
            Labels.first_of(table.labels, measures.label)  # before the fit: one that has no classes
    if not table.rows:  # a covariance, whose columns have names
        table = table.take(())
    drawn = plot_cost(report, table, unsure=config.method.decoder_variance and config.draws_decoder(start.features))
    beside = 0.0
    if measures is not None and config.method.beside_baseline:
        from mlcli.findings.quality.measure import baseline_steps

        beside = max((step.memory for step in baseline_steps(config.method, table.data(), config.compute)), default=0.0)
    return replace(drawn, rules=report.setting("dimension") is not None or asked, quality=measures is not None,
                   baseline=beside, reading=read.reading, kept=read.kept, texts=read.texts)


def plan_fit(config: RunConfig, start: Start, planned: FitPlan | None = None) -> FitPlan:
    """Return the plan of a fit, as `planned` if it was; raises ConfigError for what the report cannot show of the rows.
    """
    config = config.with_image(start.source.image, start.features)
    config.report.require_image(start.features)
    config.report.require_memory_rows(held=rows_of(start.prepared.table.values) is None)
    return planned or FitPlan.of(config, start, drawing_of(config, start))


def _rows_left_out(model: Model, table: Table) -> list[Dropped]:
    """Return the rows that the fit left out, with its reason."""
    if model.kept is None:
        return []
    outside = np.setdiff1d(np.arange(len(table.ids)), model.kept)
    return [dropped_row(table, row, model.left_out) for row in outside.tolist()]
