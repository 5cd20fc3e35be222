"""Models of the former format, which similarities of neighbors distinguish, as trees of the present one."""

from typing import Any

FORMER = 1


def upgrade_model(model: dict[str, Any]) -> dict[str, Any]:
    """The tree of a whole model; raises KeyError, TypeError or AttributeError where it never was one."""
    projector = model.get("projector")
    if projector is None or "neighbors" not in projector["fields"]["similarity"]["fields"]:
        return model
    fields = {**projector["fields"], "similarity": _similarity(projector["fields"]["similarity"])}
    return {**model, "projector": {**projector, "fields": fields}}


def _similarity(former: dict[str, Any]) -> dict[str, Any]:
    """A similarity that held options and a radius in the units of the computation; dissimilarities had a class."""
    fields = dict(former["fields"])
    count, radius = fields.pop("neighbors")["options"]["count"], fields.pop("radius")
    within = {"type": "nearest", "fields": {"count": count}} if radius is None else (
        {"type": "within", "fields": {"radius": radius}})
    if former["type"] == "given-barycenters":
        fields = {"points": fields.pop("distances"), "square": True, **fields}
    kind = former["type"].removeprefix("given-")
    return {"type": kind, "fields": {**fields, "neighbors": within}}
