"""Chain documents drawn at random from the options that there are, each with data of its own kind."""

from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import alternatives, flat, tag_of
from mlcli.errors import MlcliError
from mlcli.methods.kernel.chain import Chain
from tests.laws.contract.option_values import values

KINDS = ("features", "features", "dissimilarities", "kernel")
SENSIBLE = 0.8  # the share of documents that are drawn again until the stages fit each other
OFTEN, SELDOM = 0.5, 0.25  # how often a stage, and an option of it, is not as by default
ROWS, COLUMNS = 25, 6


@dataclass(frozen=True)
class Drawn:
    """A document with the data that it is about."""

    kind: str
    method: dict[str, Any]
    values: Array

    def written(self, folder: Path) -> Path:
        """The YAML file, with its data beside it."""
        np.save(folder / "data.npy", self.values)
        document = {"input": {"path": str(folder / "data.npy"), "kind": self.kind}, "method": self.method,
                    "report": {"quality": None, "dimension": False}}
        (folder / "chain.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        return folder / "chain.yaml"


def drawn(number: int) -> Drawn:
    """The document of a number."""
    random = np.random.default_rng([12, number])
    kind = str(random.choice(KINDS))
    method = document(random)
    if random.random() < SENSIBLE:
        while not sensible(method, kind):
            method = document(random)
    return Drawn(kind, method, of_kind(kind, points(random)))


def document(random: np.random.Generator) -> dict[str, Any]:
    """A chain with some stages and options that are not the defaults."""
    return {TAG: tag_of(Chain), **some(Chain, random, OFTEN)}


def some(options: type[Options], random: np.random.Generator, share: float) -> dict[str, Any]:
    """Some of the options of a section, each with a value that it may have by itself."""
    found: dict[str, Any] = {}
    for name, info in options.model_fields.items():
        if name == TAG or random.random() >= share:
            continue
        kinds, several = alternatives(info), values(info)
        if kinds:
            kind = kinds[int(random.integers(len(kinds)))]
            found[name] = {**({TAG: tag_of(kind)} if len(kinds) > 1 else {}), **some(kind, random, SELDOM)}
        elif several:
            found[name] = several[int(random.integers(len(several)))]
        elif NoneType in flat(info.annotation):
            found[name] = None
    return found


def sensible(method: dict[str, Any], kind: str) -> bool:
    """Whether the stages fit each other and this kind of input."""
    try:
        chosen = Chain(**method)
        chosen.require_kind(kind)
        if (chain := chosen.chain(kind)) is not None:
            chain.require_decoder(kind)
    except (MlcliError, ValidationError):
        return False
    return True


def points(random: np.random.Generator) -> Array:
    """A few points: scattered, counted, repeated, in groups, on a lattice, on a line; of any size."""
    rows, columns = int(random.integers(2, ROWS)), int(random.integers(1, COLUMNS))
    scattered = random.standard_normal((rows, columns))
    return [scattered, np.abs(scattered), scattered + 1e4, 1e100 * scattered, 1e-100 * scattered,
            random.integers(0, 9, (rows, columns)).astype(float), scattered[random.integers(0, rows, rows)],
            scattered + 9.0 * (np.arange(rows) % 2)[:, None], scattered[:, :1] * np.ones(columns),
            random.integers(0, 2, (rows, columns)).astype(float), 1.0 + 1e-9 * scattered][int(random.integers(11))]


def of_kind(kind: str, points: Array) -> Array:
    """Points, their distances, or their inner products."""
    if kind == "features":
        return points
    return cdist(points, points) if kind == "dissimilarities" else points @ points.T
