"""The sections of the page about quality: the measures in words and as a table, with their figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlcli.base.units import percent
from mlcli.findings.quality.measure import FREE, OF_LABELS, SCALED, QualityResult, relevant_measures, share_kept
from mlcli.methods import Method
from mlcli.report.drawing.html import Part, figure, fold, section, sentence, side_by_side, table
from mlcli.report.drawing.text import four_digits, number
from mlcli.report.figures.curves import curve, shepard

MEASURES = {  # key of quality.json -> name and meaning
    "trustworthiness": ("trustworthiness", "1: no false neighbors"),
    "continuity": ("continuity", "1: no neighbors of the data are lost"),
    "lcmc": ("LCMC", "mean R_NX: shared neighbors beyond chance"),
    "stress_1": ("stress-1", "0: all distances are preserved"),
    "stress_1_scaled": ("stress-1, best scale", "the same at the best scale of the embedding"),
    "sammon_stress": ("Sammon stress", "0: all distances are preserved; errors of short ones weigh more"),
    "sammon_stress_scaled": ("Sammon stress, best scale", "the same at the best scale of the embedding"),
    "residual_variance": ("residual variance", "1 - r² of distances, without the diagonal"),
    "residual_variance_tenenbaum": ("residual variance (Tenenbaum)", "1 - r² over the whole matrix"),
    "shepard_correlation": ("Shepard correlation", "rank correlation of distances"),
    "reconstruction_error": ("reconstruction error", "mean squared distance between points and their reconstructions"),
    "label_1nn_error": ("1-NN error of labels", "share of points whose nearest neighbor has another label"),
    "silhouette": ("silhouette", "1: points with the same label lie together"),
}


OPEN = 3  # measures that are not folded
BASELINES = {"pca": "PCA", "mds": "classical scaling"}  # the method of a baseline -> its name in sentences


def in_words(document: Mapping[str, Any], lost: str = "", of_ranks: float | None = None) -> Part:
    """Return the measures in sentences without judgment, then a sentence on what the method does not keep.

    `of_ranks` is the stress that a method of ranks made small, which is not that of the distances.
    """
    said = (_neighbors_kept(document), _distances_kept(document, of_ranks), _beside(document), lost)
    return section("Quality in words", *(sentence(text, "lead") for text in said if text))


def _neighbors_kept(document: Mapping[str, Any]) -> str:
    """Return a sentence on the share of neighbors that are kept; empty where it is not known."""
    near, kept = document.get("neighbors"), share_kept(document, document.get("neighbors"))
    if kept is None or near is None:
        return ""
    chance = near / (document["rows"] - 1) if document.get("rows", 0) > 1 else None
    beside = "" if chance is None else f" (expected by chance: {percent(chance, 0)})"
    return (f"Of the {near} nearest neighbors of a point, {percent(kept, 0)} are also among its nearest neighbors in "
            f"the embedding{beside}.")


def _beside(document: Mapping[str, Any]) -> str:
    """Return a sentence on the neighbors and distances that the baseline keeps; empty where there is none."""
    title = title_of(document)
    if title is None:
        return ""
    measures = document["baseline"]
    kept, rank = share_kept(measures, document.get("neighbors")), measures.get("shepard_correlation")
    said = [*([f"{percent(kept, 0)} of the neighbors"] if kept is not None else []),
            *([f"distances with a rank correlation of {rank:.2f}"] if isinstance(rank, float) else [])]
    axes = f"{measures['components']} ax{'e' if measures['components'] > 1 else 'i'}s"
    return f"{title[:1].upper()}{title[1:]} on {axes} keeps {' and '.join(said)}." if said else ""


def _distances_kept(document: Mapping[str, Any], of_ranks: float | None) -> str:
    """Return a sentence on distances: the correlation of their ranks, and the stress."""
    measures = relevant_measures(document)
    rank = measures.get("shepard_correlation")
    name, words = ("stress_1", "stress-1") if "stress_1" in measures else (
        SCALED["stress_1"], "stress-1 at the best scale")
    stress = measures.get(name)
    if not (isinstance(rank, float) and isinstance(stress, float)):
        return ""
    if of_ranks is not None:
        return (f"The rank correlation of distances in the embedding with those in the data is {rank:.2f}. The stress "
                f"of their ranks, which this method makes small, is {of_ranks:.3g}; {words} of the distances "
                f"themselves, which it does not, is {stress:.3g}. Of either, 0 means that all are preserved.")
    return (f"The rank correlation of distances in the embedding with those in the data is {rank:.2f}; {words} is "
            f"{stress:.3g}, where 0 means that all are preserved{_beyond(stress, measures)}.")


def _beyond(stress: float, measures: Mapping[str, Any]) -> str:
    """Return why a stress is above one; the stress is the size of errors over that of distances in the picture."""
    if stress <= 1:
        return ""
    best = measures.get(SCALED["stress_1"])
    scaled = f"; at the best scale of the embedding it is {best:.3g}" if isinstance(best, float) else ""
    return (" and 1 means errors as large as the distances in the embedding: these axes show little of the distances, "
            f"so points lie closer together than in the data{scaled}")


def quality(found: QualityResult, method: Method, *, own_diagram: bool = False, added: bool = False) -> Part:
    """Return the measures with standard errors, the Shepard diagram and the Q_NX curve.

    Three measures are shown, by which the method is judged; the others are folded. A run with a Shepard diagram of its
    own, that of its stress, has no second one. With `added`, rows were added to a fit whose space has none of them.
    """
    document = found.figures
    values = {key: value for key, value in relevant_measures(document).items()
              if isinstance(value, float) and not key.endswith("_se")}
    pairs = None if own_diagram or found.pairs is None else figure(
        shepard("Shepard diagram", found.pairs, scaled=document.get("scale") != FREE),
        f"{len(found.pairs):,} pairs of points: the distance in the data and the distance in the embedding.")
    scale = None if document.get("scale") != FREE else sentence(
        "The scale of the coordinates is arbitrary for this method: stress is given at the best scale.", "soft")
    tables = _measures(document, values, main_measures(document, values, method))
    by_data = sentence("Residual variance is that of distances in the data: those that the method keeps are of the fit "
                       "alone, which the added rows have no part in.", "soft") if added else None
    return section("Quality", _basis(document), scale, by_data, *tables,
                   side_by_side(pairs, _q_nx(document)))


def main_measures(document: Mapping[str, Any], values: Mapping[str, float], method: Method) -> list[str]:
    """Return the three measures that a method is judged by: two of neighbors, and one by `Method.judged_by`.

    That is the stress, or the order of distances where only it counts, the LCMC where neighbors are to be kept or the
    scale is of no meaning, the error of reconstruction of a decoder, and the residual variance for the others.
    """
    stress = "shepard_correlation" if method.keeps_order else (
        "sammon_stress" if getattr(method, "exponent", 0.0) < 0 else "stress_1")
    by = {"stress": stress, "neighbors": "lcmc", "reconstruction": "reconstruction_error"}
    own = by.get(method.judged_by, "lcmc" if document.get("scale") == FREE else "residual_variance")
    order = dict.fromkeys(("trustworthiness", "continuity", own, "residual_variance", *values))
    return [key for key in order if key in values][:OPEN]


def _measures(document: Mapping[str, Any], values: Mapping[str, float], first: Sequence[str]) -> list[Part]:
    """Return the first measures as a table, and the others folded.

    They stand beside those of a baseline, with standard errors where they are from a sample.
    """
    title = title_of(document)
    sides: list[tuple[str, Mapping[str, Any]]] = [("value", document)]
    if title is not None:
        sides.append((title, document["baseline"]))
    head = [word for word, _ in sides for word in (word, "± s.e.")]
    rows = {key: (measure_name(key, document.get("label")),
                  *(cell for _, side in sides for cell in (_value(side.get(key)), _error(side.get(f"{key}_se")))),
                  MEASURES.get(key, ("", ""))[1]) for key in values}

    def shown(keys: Iterable[str]) -> Part:
        return table(("measure", *head, "meaning"), [rows[key] for key in keys], range(1, 1 + len(head)), said=True)

    others = [key for key in values if key not in first]
    return [shown(first), fold(f"{len(others)} further measure{'s' * (len(others) != 1)}", shown(others))]


def measure_name(key: str, label: str | None) -> str:
    """Return the name of a measure, with the column where it is about labels."""
    name = MEASURES.get(key, (key.replace("_", " "), ""))[0]
    return f"{name.removesuffix(' of labels')} of {label}" if label and key in OF_LABELS else name


def _value(value: float | None) -> str:
    return "" if value is None else four_digits(value)


def title_of(document: Mapping[str, Any]) -> str | None:
    """Return the name of the baseline that quality.json has measures of; None where it has none."""
    beside = document.get("baseline")
    return None if beside is None else BASELINES.get(beside["method"])


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _basis(document: Mapping[str, Any]) -> Part:
    """Return a sentence on the number of anchors, and on the distances to keep."""
    exact = document.get("exact", True)
    points = "all points" if exact else f"a seeded sample of {number(document.get('anchors'))} points"
    words = [f"Neighborhoods of {document['neighbors']} points" if document.get("neighbors") else "",
             f"measured from {points}", distances_said(document["distances"]) if document.get("distances") else ""]
    return sentence("; ".join(word for word in words if word).capitalize() + ".", "soft")


def distances_said(name: str) -> str:
    """Return what distances of a name are called in a sentence."""
    return "distances of all columns as they are weighted" if name == "tables" else f"{name} distances"


def _q_nx(document: Mapping[str, Any]) -> Part:
    values = document.get("q_nx")
    if not isinstance(values, Mapping) or not values.get("values"):
        return None
    places = [float(place) for place in values["neighbors"]]
    lines, title = {"Q_NX": values["values"]}, title_of(document)
    if title is not None and document["baseline"].get("q_nx"):
        lines = {"this embedding": values["values"], title: document["baseline"]["q_nx"]["values"]}
    return figure(curve("Shared neighbors by their number (Q_NX)", "neighbors", "share", places, lines),
                  "The mean share of each point's nearest neighbors that are preserved.")
