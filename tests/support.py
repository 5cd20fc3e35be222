"""Short ways to make inputs and fit methods in tests."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.stages.stage import Note, Watcher, listening
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import (
    CrossLabeled,
    Dissimilarities,
    Features,
    Given,
    Input,
    Labeled,
    Similarities,
    TwoViews,
    ViewedDissimilarities,
)
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Plan
from mlcli.cli.line.parsing import in_flags
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.findings.frame.files import column_lines
from mlcli.findings.spectrum import HEADER
from mlcli.findings.spectrum.table import spectrum_rows
from mlcli.methods import METHODS, Method, Model
from mlcli.methods.views.style_projector import StyleProjector
from mlcli.pipeline.certify import check_numbers, subject_of

EPS = float(np.finfo(float).eps)


def spectrum_table(spectrum: Spectrum, rows: int | None) -> str:
    """The content of spectrum.csv: the first `rows` eigenvalues, by default all computed ones."""
    return "".join(column_lines(spectrum_rows(spectrum, rows), 0, HEADER[:1]))


def features(values: Any) -> Features:
    values = np.asarray(values, dtype=float)
    return Features(values, names(len(values)), columns=[f"x{j + 1}" for j in range(values.shape[1])])


def checks_of(method: Method, data: Input | None, model: Model, *, full: bool = False) -> list[Check]:
    """All checks of a certificate that are of numbers, which overflow where a model is damaged."""
    with np.errstate(all="ignore"):
        return list(check_numbers(method, subject_of(method, data, model, Plan(full=full))))


def dissimilarities(values: Any) -> Dissimilarities:
    values = np.asarray(values, dtype=float)
    return Dissimilarities(values, names(len(values)))


def similarities(values: Any) -> Similarities:
    values = np.asarray(values, dtype=float)
    return Similarities(values, names(len(values)))


def matrices(values: Sequence[Any]) -> ViewedDissimilarities:
    """Several matrices of dissimilarities (n x n) of the same points, the further ones as views with names."""
    first, *others = (np.asarray(one, dtype=float) for one in values)
    view: Features | None = None
    for other in reversed(others):
        own = Features(other, names(len(other)), names(len(other)))
        view = own if view is None else TwoViews(own.values, own.ids, own.columns, view)
    assert view is not None
    return ViewedDissimilarities(first, names(len(first)), view)


def paired(*kinds: Collection[Any]) -> list[Any]:
    """The cases of a product: each value has one among those of every day, and the rest of the product is slow."""
    values = [list(kind) for kind in kinds]
    everyday = [tuple(kind[number % len(kind)] for kind in values) for number in range(max(map(len, values)))]
    return [pytest.param(*case, marks=[] if case in everyday else pytest.mark.slow) for case in product(*values)]


def names(count: int) -> list[str]:
    return [str(i + 1) for i in range(count)]


def fit(method: str, data: Input | Array, **options: Any) -> Model:
    """The model of a method with options as they would stand in YAML."""
    if isinstance(data, np.ndarray):
        data = features(data)
    if type(data) is Features and not issubclass(Features, METHODS[method].accepts):
        data = furnished(data, METHODS[method].accepts)
    if "components" in options:
        section = METHODS[method].axes_section()
        options[section] = {**options.get(section, {}), "components": options.pop("components")}
    if isinstance(options.get("neighbors"), int):
        options["neighbors"] = {"count": options["neighbors"]}
    return of_one_style(METHODS[method](**options).resolve(data).fit(data, Compute()))


def of_one_style(model: Model) -> Model:
    """The model with the map of its first style only, where new points have no style."""
    projector = model.projector
    return replace(model, projector=projector.of_style(0)) if isinstance(projector, StyleProjector) else model


def in_domain(method: str, values: Any) -> Array:
    """Numbers as a method takes them: amounts over zero, or two answers to each question."""
    values = np.asarray(values, dtype=float)
    if METHODS[method].domain == "amounts":
        return np.abs(values) + 2.0 ** -4
    return np.where(values < 0, 1.0, 2.0) if METHODS[method].domain == "answers" else values


def furnished(data: Features, accepts: tuple[type[Given], ...]) -> Features:
    """Points with the labels or the second view that a method needs.

    Both are made of the points' leading principal scores, so that they follow them under permutation, rotation,
    shift and reflection.
    """
    if Features in accepts:
        return data
    centered = data.values - data.values.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    left = np.where(sizes > 1e-13 * np.abs(data.values).max(), left * leading_signs(left), 0.0)
    scores = np.pad(left, ((0, 0), (0, 3)))[:, :3] * np.sqrt(len(left))
    if CrossLabeled in accepts:
        styles = scores[:, 0] > np.quantile(scores[:, 0], 0.5)
        contents = np.zeros(len(scores), dtype=int)
        for style in (rows for rows in (styles, ~styles) if rows.any()):
            contents[style] = np.digitize(scores[style, 1], np.quantile(scores[style, 1], [1 / 3, 2 / 3]))
        return CrossLabeled(data.values, data.ids, data.columns, [f"style {int(style)}" for style in styles],
                            [f"content {content}" for content in contents])
    if Labeled in accepts:
        classes = np.digitize(scores[:, 0], np.quantile(scores[:, 0], [0.2, 0.5, 0.75]))
        return Labeled(data.values, data.ids, data.columns, labels=[f"class {number}" for number in classes])
    if TwoViews in accepts:
        first, second, third = scores.T
        view = np.column_stack([np.tanh(first) + second**2, np.abs(second) + first / 2, np.sin(3 * third)])
        return TwoViews(data.values, data.ids, data.columns, view=Features(view, data.ids, columns=["u", "v", "w"]))
    return data


def distances(points: Array) -> Array:
    return cdist(points, points)


def gram(embedding: Array) -> Array:
    """Inner products: what an embedding is, up to rotation and sign."""
    return embedding @ embedding.T


class Notes(Watcher):
    """Collects the notes of a `with` block."""

    def __enter__(self) -> "Notes":
        self.notes: list[Note] = []
        self._context = listening(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    @property
    def codes(self) -> set[str]:
        return {note.code for note in self.notes}

    def note(self, note: Note) -> None:
        self.notes.append(replace(note, message=in_flags(note.message)))
