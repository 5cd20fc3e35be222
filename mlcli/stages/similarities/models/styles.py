"""The map from new rows to content vectors, one for each style."""

from collections.abc import Sequence
from dataclasses import field
from typing import NoReturn

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.errors import ConfigError, DataError, NumericalError
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.projector import Projector

NAMED = 10  # styles in a message


@stored("style-projector", axes="cp", maps="scp")
@frozen
class StyleProjector(Projector):
    """The map from new points to coordinates by the map of each one's style; `axes` are the mean of these.

    Raises ValueError for maps that are not those of the styles.
    """

    styles: tuple[str, ...] = field(kw_only=True)  # s
    maps: Array = field(kw_only=True)  # s x c x p

    def __post_init__(self) -> None:
        if len(self.styles) != len(self.maps) or len({*self.styles}) != len(self.styles):
            raise ValueError("there is one map for each style")

    @classmethod
    def of(cls, styles: tuple[str, ...], maps: Array) -> "StyleProjector":
        """Return the projector by maps (s x d x p) of styles (s)."""
        return cls(Columns(), uncentered(maps.shape[1]), maps.mean(axis=0), styles=styles, maps=maps)

    def of_style(self, place: int) -> Projector:
        """Return the projector of points of one style, by its place."""
        return Projector(self.similarity, self.centering, self.maps[place], exponent_in=self.exponent_in,
                         exponent_out=self.exponent_out)

    def place(self, new: Array, labels: Sequence[str] | None) -> Array:
        """Return coordinates (m x p) of new points (m x d), whose labels (m) are their styles.

        Raises ConfigError without labels, and DataError for a style that no row of the fit has.
        """
        if labels is None:
            _refuse()
        known = {style: place for place, style in enumerate(self.styles)}
        places = np.array([known.get(label, -1) for label in labels], dtype=np.int64)
        if (unknown := np.flatnonzero(places < 0)).size:
            row = int(unknown[0])
            raise DataError("STYLE", f"the run has no style {labels[row][:80]!r}", row=row,
                            hint=f"its styles are {', '.join(style[:80] for style in self.styles[:NAMED])}"
                            f"{', ...' * (len(self.styles) > NAMED)}; the first label column names the style")
        coordinates = np.empty((len(new), self.maps.shape[2]))
        for place in np.unique(places).tolist():
            rows = np.flatnonzero(places == place)
            try:
                coordinates[rows] = self.of_style(place).project(new[rows])
            except NumericalError as error:  # which counts rows of this style
                raise error.changed(row=None if error.row is None else int(rows[error.row])) from None
        return coordinates

    def project(self, new: Array) -> Array:
        """Raise ConfigError: the styles of new points (m x d) are needed."""
        _refuse()


def _refuse() -> NoReturn:
    raise ConfigError("NEEDS-STYLE", "the coordinates of new rows depend on their styles, and no labels are given",
                      where="input.label_columns", hint="name the column of styles with {input.label_columns}")
