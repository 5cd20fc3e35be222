"""Whether the parts of a stored model fit together: shapes by letters, places within range."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from mlcli.base.stored import BY_KIND, Storable
from mlcli.base.values.scaling import all_finite
from mlcli.core.graph.graph import Graph
from mlcli.core.similarities.projector import NoProjection, Projector
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.table import axis_names
from mlcli.rundir.reduction import Reduction
from mlcli.storage.fields import Unfit, is_of, nested_parts


def require_finite(model: Mapping[str, Any]) -> None:
    """Raises Unfit where an array of a model holds a number that is not finite."""
    for name, value in model.items():
        for place, part in nested_parts(value, name):
            for field in fields(part):
                array = getattr(part, field.name)
                if isinstance(array, np.ndarray) and not all_finite(array):
                    raise Unfit(f"{place}.{field.name} holds a number that is not finite")


def require_fit(model: Mapping[str, Any]) -> None:
    """Raises Unfit where the parts of a whole model do not fit together."""
    preparation, projector, unfolded = model["preparation"], model["projector"], model["unfolded"]
    if not (isinstance(preparation, Preparation) and isinstance(projector, Projector | NoProjection)
            and is_of(model["reductions"], tuple[Reduction, ...])
            and is_of(model["views"], tuple[Reduction, ...])
            and (model["joint"] is None or declaration(model["joint"]).tag == "joint-views")
            and (unfolded is None or declaration(unfolded).tag == "unfolded")
            and is_of(model["trained"], tuple[str, ...])
            and isinstance(model["transpose"], bool) and isinstance(model["categories"], dict)
            and all(is_of(texts, tuple[str, ...]) for texts in model["categories"].values())
            and (model["coding"] is None or is_coding(model["coding"]))
            and isinstance(model["id_name"], str) and isinstance(model["kind"], str)
            and isinstance(model["invented"], bool)):
        raise Unfit("a part of the model is of another type")
    width = None if model["kind"] == "features" else len(model["trained"])
    for number, step in enumerate(model["reductions"]):
        place = f"reductions.{number}."
        require_step(step.preparation, step.projector, nested_parts(step, place[:-1]), place, width)
        following = [*(later.preparation for later in model["reductions"]), preparation][number + 1]
        if isinstance(step.projector, Projector) and following.columns != axis_names(step.projector.axes.shape[1]):
            raise Unfit(f"{place}projector has other axes than the next step has columns")
        width = None
    parts = [*nested_parts(preparation, "preparation"), *nested_parts(projector, "projector"),
             *nested_parts(unfolded, "unfolded"), *nested_parts(model["joint"], "joint")]
    require_step(preparation, projector, parts, "", width)
    require_views(projector, model["views"], model["joint"])


def is_coding(part: Any) -> bool:
    """Whether a part is a coding of answers, with texts in order and scales of two numbers."""
    return declaration(part).tag == "coding" and all(
        isinstance(name, str) and is_of(texts, tuple[str, ...]) for name, texts in part.answers.items()) and all(
        isinstance(name, str) and is_of(scale, tuple[float, float]) for name, scale in part.reverse.items())


def require_views(projector: Projector | NoProjection, views: Sequence[Reduction], joint: Any) -> None:
    """Raises Unfit where second and further views do not have the axes of the first."""
    for number, step in enumerate(views):
        place = f"views.{number}."
        require_step(step.preparation, step.projector, nested_parts(step, place[:-1]), place, None)
        if not (isinstance(step.projector, Projector) and isinstance(projector, Projector)
                and step.projector.axes.shape[1] == projector.axes.shape[1]):
            raise Unfit(f"{place}projector has other axes than that of the first view")
    if joint is not None and joint.precisions is not None and len(joint.precisions) != len(views) + 1:
        raise Unfit("joint.precisions are not those of the views")


def require_step(preparation: Preparation, projector: Projector | NoProjection, within: Iterable[tuple[str, Any]],
                 place: str, width: int | None) -> None:
    """Raises Unfit where the parts of one step do not fit together; `width` is that of a new row of a square input."""
    known = {"i": len(preparation.columns)}
    if preparation.chosen is None:
        known["k"] = known["i"]
    if isinstance(projector, Projector):
        known["d"] = len(preparation.exponent) if width is None else width
    parts = list(within)
    for name, part in parts:
        if isinstance(part, Graph):
            require_rows(part, name)
            known["n"] = part.size
    for name, part in parts:
        require_shape(part, name, known)
    for name, part in parts:
        require_within(part, name, known)
    if preparation.fill.shape not in ((0,), (known["i"],)):
        raise Unfit(f"{place}preparation.fill is of another length")
    if isinstance(projector, Projector) and projector.similarity.width(known["d"]) != known["c"]:
        raise Unfit(f"{place}projector.centering.means is of another length")


def declaration(part: Any) -> Storable:
    """Return the declared shapes of a part's arrays; an empty declaration for options."""
    return BY_KIND.get(type(part)) or Storable("", type(part), {}, {})


def require_shape(part: Any, place: str, known: dict[str, int]) -> None:
    """Raises Unfit where an array does not have the shape of its letters; new letters are recorded."""
    for name, letters in declaration(part).shapes.items():
        array = getattr(part, name)
        if array is not None and (array.ndim != len(letters) or any(
                known.setdefault(letter, size) != size for letter, size in zip(letters, array.shape, strict=True))):
            raise Unfit(f"{place}.{name} is of the shape {array.shape}, which does not fit the other parts")


def require_within(part: Any, place: str, known: Mapping[str, int]) -> None:
    """Raises Unfit where an array of places is out of range."""
    for name, letter in declaration(part).within.items():
        array = getattr(part, name)
        if array is not None and array.size and not (array.min() >= 0 and array.max() < known[letter]):
            raise Unfit(f"{place}.{name} names places that are not there")


def require_rows(graph: Graph, place: str) -> None:
    """Raises Unfit where the rows of a graph are not one after the other."""
    starts = graph.starts
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or starts[-1] != graph.indices.size or (
            np.diff(starts) < 0).any():
        raise Unfit(f"{place}.starts does not cut the edges into rows")
    if graph.lengths.size and graph.lengths.min() < 0:
        raise Unfit(f"{place}.lengths holds a number below zero")
