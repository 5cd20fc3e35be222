"""A fit with what the rules for the number of axes say of it."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.findings.dimension.rules import dimension
from mlcli.methods import METHODS
from tests.support import features


def found(method: str, data: Input | Array, seed: int = 0, **options: Any) -> dict[str, Any]:
    """dimension.json of a run with options as they would stand in YAML."""
    if isinstance(data, np.ndarray):
        data = features(data)
    if isinstance(options.get("neighbors"), int):
        options["neighbors"] = {"count": options["neighbors"]}
    resolved = METHODS[method](**options).resolve(data)
    model = resolved.fit(data, Compute())
    return dimension(resolved, model, data if model.kept is None else data.take(model.kept),
                     Compute(seed=seed))


def counts(document: dict[str, Any]) -> dict[str, int | None]:
    """The count of each rule that applies."""
    return {name: rule["components"] for name, rule in document["rules"].items()}


def standardized(points: Array) -> Array:
    """Columns of mean zero and standard deviation one."""
    return (points - points.mean(axis=0)) / points.std(axis=0)


def with_correlation(matrix: Array, rows: int, seed: int = 0) -> Array:
    """Points whose columns have exactly these correlations."""
    plain = np.random.default_rng(seed).standard_normal((rows, len(matrix)))
    basis = np.linalg.qr(plain - plain.mean(axis=0))[0] * np.sqrt(rows)
    return basis @ np.linalg.cholesky(matrix).T


def planted(rows: int, columns: int, rank: int, noise: float, seed: int = 0) -> Array:
    """Points near a subspace, with directions of equal variance, and noise in every column."""
    generator = np.random.default_rng(seed)
    directions = np.linalg.qr(generator.standard_normal((columns, rank)))[0]
    signal = generator.standard_normal((rows, rank)) * np.sqrt(columns)
    return signal @ directions.T + noise * generator.standard_normal((rows, columns))


def roll(size: int, seed: int = 0) -> Array:
    """A swiss roll, four times as long as wide."""
    generator = np.random.default_rng(seed)
    angle = 1.5 * np.pi * (1 + 2 * generator.random(size))
    return np.column_stack([angle * np.cos(angle), 20 * generator.random(size), angle * np.sin(angle)])
