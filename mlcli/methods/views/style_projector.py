"""New rows of bilinear models: by the map of their style, or by vectors of styles and contents that the fit never saw.

In the symmetric model a row of style s and content c is Σ aᵢ Wᵢ b, with the vector a of its style, the vector b of its
content, and the interaction W. With W fixed, Σ ‖y - Σ aᵢ Wᵢ b‖² is linear least squares in the vectors of new styles
given those of contents, and in those of new contents given those of styles; both are solved in turn (Tenenbaum and
Freeman, 2000). The objective may have several minima, so this begins at the vector of each style of the fit and at that
of each content, and the lowest end counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import NoReturn

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.missing import is_missing, present_cells
from mlcli.base.values.naming import listed
from mlcli.core.centering import uncentered
from mlcli.core.linalg import singular
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import FARTHEST, Projector, require_near
from mlcli.errors import ConfigError, DataError, NumericalError

NAMED_STYLES = 10  # styles in a message
TRIES = 10  # alternations from each start, after which the best goes on
LIMIT = 2_000  # alternations from there
STILL = 1e-13  # relative change of vectors at which they end
LOWER = 1e-9  # share of the squares of rows by which the end of a later start has to be lower
ROWS = 4_096  # rows without labels at once


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
        return self.by_map(self.maps[place])

    def by_map(self, axes: Array) -> Projector:
        """Return the projector of points of one style by its map (c x p)."""
        return Projector(self.similarity, self.centering, axes, exponent_in=self.exponent_in,
                         exponent_out=self.exponent_out)

    def place(self, new: Array, labels: Sequence[Sequence[str]]) -> Array:
        """Return coordinates (m x p) of new points (m x d), whose first labels (m) are their styles.

        Raises ConfigError without labels, and DataError for a style that no row of the fit has.
        """
        if not labels or not any(labels[0]):
            _refuse()
        try:
            places = self.require_styles(labels[0])
        except DataError as error:
            raise error.changed(hint=f"{error.hint}; a run with {{method.style_axes=2}} would place rows of new styles"
                                ) from None
        return self.place_by(new, self.maps, places)

    def place_by(self, new: Array, maps: Array, places: Indices) -> Array:
        """Return coordinates (m x p) of new points (m x d), each by one of some maps (g x d x p), by its place (m)."""
        coordinates = np.empty((len(new), self.maps.shape[2]))
        for place in np.unique(places).tolist():
            rows = np.flatnonzero(places == place)
            try:
                coordinates[rows] = self.by_map(maps[place]).project(new[rows])
            except NumericalError as error:  # which counts rows of this style
                raise error.changed(row=None if error.row is None else int(rows[error.row])) from None
        return coordinates

    def places_of(self, styles: Sequence[str]) -> Indices:
        """Return the place of each style (m) among those of the fit, -1 for others."""
        known = {style: place for place, style in enumerate(self.styles)}
        return np.array([known.get(style, -1) for style in styles], dtype=np.int64)

    def require_styles(self, styles: Sequence[str]) -> Indices:
        """Return the place of each style (m) among those of the fit; raises DataError for others."""
        places = self.places_of(styles)
        if (unknown := np.flatnonzero(places < 0)).size:
            row = int(unknown[0])
            raise DataError("STYLE", f"the run has no style {styles[row][:80]!r}", row=row,
                            hint=f"its styles are {', '.join(style[:80] for style in self.styles[:NAMED_STYLES])}"
                            f"{', ...' * (len(self.styles) > NAMED_STYLES)}; the first label column names the style")
        return places

    def project(self, new: Array) -> Array:
        """Raise ConfigError: the styles of new points (m x d) are needed."""
        _refuse()

    @property
    def leads_back(self) -> bool:
        """Whether coordinates lead back to features: in a style they do."""
        return True

    def reconstruct(self, embedding: Array) -> Array:
        """Raise ConfigError: the styles of coordinates (m x p) are needed."""
        _refuse()

    def decode_in(self, coordinates: Array, styles: Sequence[str]) -> Array:
        """Return features (m x d) of coordinates (m x p) in styles (m) of the fit; raises DataError for others."""
        places = self.require_styles(styles)
        factors = np.linalg.pinv(self.maps, rcond=2**10 * EPS)  # s x p x d
        found = np.einsum("mp,mpd->md", self.output_unit.measured(coordinates), factors[places])
        return self.input_unit.plain(found)


def _refuse() -> NoReturn:
    raise ConfigError("NEEDS-STYLE", "the coordinates of new rows depend on their styles, and no labels are given",
                      where="input.label_columns", hint="name the column of styles with {input.label_columns}")


@stored("factor-projector", axes="cp", maps="scp", style_vectors="sq", interaction="qcp", content_vectors="tp")
@frozen
class FactorProjector(StyleProjector):
    """The map of the symmetric model, which also places points of styles that the fit did not have.

    Raises ValueError for vectors that are not those of the styles and contents.
    """

    style_vectors: Array = field(kw_only=True)  # s x q
    interaction: Array = field(kw_only=True)  # q x c x p: W
    contents: tuple[str, ...] = field(kw_only=True)  # t
    content_vectors: Array = field(kw_only=True)  # t x p

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.contents) != len(self.content_vectors) or len({*self.contents}) != len(self.contents):
            raise ValueError("there is one vector for each content")

    @property
    def rowwise(self) -> bool:
        """Whether a row is placed alike whatever rows come with it: rows of one new style share its vector."""
        return False

    def place(self, new: Array, labels: Sequence[Sequence[str]]) -> Array:
        """Return coordinates (m x p) of new points (m x d), as `place_with` does."""
        return self.place_with(new, labels)[0]

    def project(self, new: Array) -> Array:
        """Return coordinates (m x p) of new points (m x d) whose styles and contents are not known."""
        return self.place(new, ())

    def place_with(self, new: Array, labels: Sequence[Sequence[str]]) -> tuple[Array, Mapping[str, Array]]:
        """Return coordinates (m x p) of new points (m x d), and their style vectors, an (m,) array for each axis.

        The first labels (m) are styles and the second ones contents. Points of a style that the fit did not have share
        its vector, which follows from them, and from the vectors of their contents where the fit had these. A point
        without a style has one of its own, and so for contents. With contents there are their vectors as well: those
        of the fit, or of new ones as all their points give them. Raises ConfigError for points without labels that have
        too few columns, and DataError for a new style of too few points.
        """
        missing = [""] * len(new)
        styles, contents = labels[0] if labels else missing, labels[1] if len(labels) > 1 else missing
        parts = [slice(None)] if labels else row_blocks(max(len(new), 1), ROWS)  # one where there are no rows
        found = [self._place(new[rows], styles[rows], contents[rows]) for rows in parts]
        coordinates, vectors, of_contents = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        beside = dict(zip(self.beside, vectors.T, strict=True))
        if len(labels) > 1:
            beside |= {f"content{axis}": column for axis, column in enumerate(of_contents.T, start=1)}
        return coordinates, beside

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the axes of styles, beside those of coordinates."""
        return tuple(f"style{axis}" for axis in range(1, self.style_vectors.shape[1] + 1))

    def _place(self, new: Array, styles: Sequence[str], contents: Sequence[str]) -> tuple[Array, Array, Array]:
        """Return coordinates (m x p), style vectors (m x q) and content vectors (m x p) of new points (m x d)."""
        style, content = numbered(styles, self.styles), numbered(contents, self.contents)
        others, known = np.flatnonzero(style >= len(self.styles)), np.flatnonzero(style < len(self.styles))
        if named := sorted({styles[row] for row in others.tolist()} - {*filter(is_missing, styles)}):
            said = "style of new rows is" if len(named) == 1 else "styles of new rows are"
            note("N-NEW-STYLES", f"{len(named):,} {said} not of the run, and the rows of each give its vector: "
                 f"{', '.join(name[:80] for name in named[:NAMED_STYLES])}{', ...' * (len(named) > NAMED_STYLES)}",
                 styles=len(named))
            self._warn_of_contents(named)
        coordinates = np.empty((len(new), self.maps.shape[2]))
        coordinates[known] = self.place_by(new[known], self.maps, style[known])
        told = present_cells(contents)
        used = np.flatnonzero((style >= len(self.styles)) | (told & (content >= len(self.contents))))
        found = Vectors(self.style_vectors, self.content_vectors)
        if len(used):
            labeled = bool(told.any()) or len(named) > 0
            found, coordinates[others] = self._solve(new, used=used, others=others, style=style, content=content,
                                                      labeled=labeled)
        return coordinates, found.styles[style], np.where(told[:, None], found.contents[np.where(told, content, 0)],
                                                          coordinates)

    def _warn_of_contents(self, styles: Sequence[str]) -> None:
        """Warn of new styles with names of contents, as where the labels are exchanged or those of styles are left out.

        Where the fit had a style and a content of one name, names do not tell them apart.
        """
        contents = {*self.contents}
        if (alike := [name for name in styles if name in contents]) and contents.isdisjoint(self.styles):
            note("W-STYLES-OR-CONTENTS", f"{len(alike):,} of {len(styles):,} new styles have names of contents of the "
                 f"run: {listed(alike)}; the first label column has to name the style, and the second one the content "
                 "({input.label_columns})", styles=len(alike))

    @stage("project")
    def _solve(self, new: Array, *, used: Indices, others: Indices, style: Indices, content: Indices,
               labeled: bool) -> tuple["Vectors", Array]:
        """Return all vectors, and the coordinates of the `others` (k) of new points (m x d), whose styles are new.

        `used` (j) are the points that determine vectors, by the numbers of the styles and contents of all points (m).
        """
        measured = self.input_unit.measured(new)
        require_near(np.abs(measured) > FARTHEST)
        basis, core = self._reduced
        points = measured @ basis
        cells = Cells.of(points[used], style[used], content[used], known=(len(self.styles), len(self.contents)))
        self._require_determined(cells, used, labeled=labeled)
        found = cells.solve(core, self.style_vectors, self.content_vectors)
        maps = np.linalg.pinv(np.einsum("mq,qrp->mrp", found.styles[style[others]], core), rcond=2**10 * EPS)
        coordinates = self.output_unit.plain(np.einsum("mpr,mr->mp", maps, points[others]))
        require_near(~np.isfinite(coordinates))
        return found, coordinates

    @cached_property
    def _reduced(self) -> tuple[Array, Array]:
        """An orthonormal basis (c x r) of all that the model can give, and the interaction in it (q x r x p)."""
        left, sizes, _ = singular(self.interaction.transpose(1, 0, 2).reshape(self.interaction.shape[1], -1))
        basis = left[:, sizes > 2**4 * EPS * sizes.max(initial=0.0)]
        return basis, np.einsum("qcp,cr->qrp", self.interaction, basis)

    def _require_determined(self, cells: "Cells", rows: Indices, *, labeled: bool) -> None:
        """Raise an error where there are fewer numbers in rows than in the vectors that they have to determine."""
        styles, contents = self.style_vectors.shape[1], self.content_vectors.shape[1]
        given, wanted = cells.equations, cells.unknowns(styles, contents)
        few = np.flatnonzero((given < wanted) & cells.of_new_styles)
        if not len(few):
            return
        if not labeled:
            raise ConfigError("NEEDS-STYLE", f"a row has {given[0]} independent numbers, which do not determine "
                              f"vectors of its style ({styles}) and of its content ({contents}): {wanted[0]} do",
                              where="input.label_columns", hint="name the column of styles with {input.label_columns}, "
                              "or fit fewer axes")
        row = int(rows[int(np.flatnonzero(cells.cell_pieces[cells.cell_of] == few[0])[0])])
        raise DataError("NEW-STYLE", f"the run does not have the style of this row, and the rows with it have "
                        f"{given[few[0]]} independent numbers, which do not determine vectors of their new styles and "
                        f"contents: {wanted[few[0]]} do", row=row, hint="give more rows of the style, or the contents "
                        "of some in a second label column, or one of the run's styles")

    def decode_in(self, coordinates: Array, styles: Sequence[str]) -> Array:
        """Return features (m x d) of coordinates (m x p) in styles (m) of the fit; raises DataError for others."""
        return self.decode_with(coordinates, self.style_vectors[self.require_styles(styles)])

    def reconstruct(self, embedding: Array) -> Array:
        """Return features (m x d) of coordinates and, beside them, style vectors (m x (p + q))."""
        return self.decode_with(*np.split(embedding, [self.maps.shape[2]], axis=1))

    def decode_with(self, coordinates: Array, vectors: Array) -> Array:
        """Return features (m x d) of coordinates (m x p) in the styles of vectors (m x q)."""
        measured = self.output_unit.measured(coordinates)
        return self.input_unit.plain(np.einsum("mq,qcp,mp->mc", vectors, self.interaction, measured, optimize=True))


def numbered(labels: Sequence[str], known: Sequence[str]) -> Indices:
    """Return the place of each label (m) among known ones, or a number above theirs: the same for the same label.

    Each missing label has a number of its own.
    """
    places, found = {name: place for place, name in enumerate(known)}, []
    for row, label in enumerate(labels):
        key = (row,) if is_missing(label) else label
        found.append(places.setdefault(key, len(places)))  # type: ignore[arg-type]
    return np.array(found, dtype=np.int64)


@frozen
class Cells:
    """Means of new rows by style and content, whose vectors are not all known: numbers from `known` on are new.

    Cells that share a new style or a new content are of one piece, and pieces do not depend on each other.
    """

    points: Array  # k x r
    style: Indices  # k
    content: Indices  # k
    cell_of: Indices  # of each row
    known: tuple[int, int]  # styles and contents of the fit
    pieces: tuple[Indices, Indices]  # the piece of each style and of each content, those of the fit included

    @classmethod
    def of(cls, points: Array, style: Indices, content: Indices, *, known: tuple[int, int]) -> "Cells":
        """Return the cells of points (m x r) by their style and content (m each)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs, cell_of, counts = np.unique(np.column_stack([style, content]), axis=0, return_inverse=True,
                                           return_counts=True)
        cell_of = cell_of.ravel()
        means = np.zeros((len(pairs), points.shape[1]))
        np.add.at(means, cell_of, points / counts[cell_of, None])
        styles, contents = int(max(pairs[:, 0].max(), known[0])) + 1, int(max(pairs[:, 1].max(), known[1])) + 1
        both = pairs[(pairs[:, 0] >= known[0]) & (pairs[:, 1] >= known[1])]
        linked = coo_array((np.ones(len(both)), (both[:, 0], styles + both[:, 1])), shape=(styles + contents,) * 2)
        pieces = connected_components(linked, directed=False)[1].astype(np.int64)
        cells = cls(means, pairs[:, 0], pairs[:, 1], cell_of, known, (pieces[:styles], pieces[styles:]))
        present = np.unique(cells.cell_pieces)  # only these are numbered, from 0
        numbers = np.full(int(pieces.max()) + 1, -1, dtype=np.int64)
        numbers[present] = np.arange(len(present))
        return replace(cells, pieces=(numbers[cells.pieces[0]], numbers[cells.pieces[1]]))

    @property
    def cell_pieces(self) -> Indices:
        """The piece of each cell (k)."""
        return np.where(self.style >= self.known[0], self.pieces[0][self.style], self.pieces[1][self.content])

    @property
    def new(self) -> tuple[Indices, Indices]:
        """The numbers of the new styles and of the new contents."""
        return (np.unique(self.style[self.style >= self.known[0]]),
                np.unique(self.content[self.content >= self.known[1]]))

    @property
    def count(self) -> int:
        """The number of pieces."""
        return int(self.cell_pieces.max()) + 1

    @property
    def free(self) -> AnyArray:
        """A mask of the pieces in which no vector is known, so that those of styles have no scale."""
        held = (self.style < self.known[0]) | (self.content < self.known[1])
        return np.asarray(np.bincount(self.cell_pieces[held], minlength=self.count) == 0)

    @property
    def equations(self) -> Indices:
        """The numbers that the rows of each piece give."""
        return np.bincount(self.cell_pieces, minlength=self.count) * self.points.shape[1]

    def unknowns(self, styles: int, contents: int) -> Indices:
        """Return how many numbers each piece needs, with so many numbers in a vector of a style and of a content.

        As many equations as unknown numbers have several solutions, unless they are linear.
        """
        first, second = (np.bincount(pieces[new], minlength=self.count)
                         for pieces, new in zip(self.pieces, self.new, strict=True))
        return first * styles + second * contents + np.where((first > 0) & (second > 0) & ~self.free, 1, 0)

    @property
    def of_new_styles(self) -> AnyArray:
        """A mask of the pieces with new styles."""
        return np.asarray(np.bincount(self.pieces[0][self.new[0]], minlength=self.count) > 0)

    def squares(self, values: Array) -> Array:
        """Return the sums of squares of values (k x r) of the cells, of each piece."""
        return np.asarray(np.bincount(self.cell_pieces, np.einsum("kr,kr->k", values, values), minlength=self.count),
                          dtype=np.float64)

    def within(self, pieces: AnyArray) -> "Cells":
        """Return the cells of some pieces, by a mask of these; the numbers of pieces stay."""
        held = pieces[self.cell_pieces]
        return replace(self, points=self.points[held], style=self.style[held], content=self.content[held])

    def solve(self, core: Array, styles: Array, contents: Array) -> "Vectors":
        """Return vectors of styles and contents, those of the fit (s x q, t x p) and then new ones, with a core
        (q x r x p). Warns where the alternation did not converge.
        """
        lowest, best = np.full(self.count, np.inf), Vectors.of(self, styles, contents)
        size = self.squares(self.points)
        for start in best.starts(self):
            found = start
            for _ in range(TRIES if all(map(len, self.new)) else 1):
                found = found.alternated(core, self)
            left = self.squares(self.points - found.rows(core, self))
            lower = left < lowest - LOWER * size
            lowest = np.where(lower, left, lowest)
            best = best.with_pieces(found, self, lower)
        return best.converged(core, self).scaled(self, styles)


@frozen
class Vectors:
    """Vectors of styles and contents: of the fit, and then of new ones."""

    styles: Array  # (s + g) x q
    contents: Array  # (t + h) x p
    contents_first: bool = True  # whether an alternation begins with those of contents

    @classmethod
    def of(cls, cells: Cells, styles: Array, contents: Array) -> "Vectors":
        """Return the vectors of the fit's styles (s x q) and contents (t x p), and zeros for those that are new."""
        wholes = [np.vstack([known, np.zeros((len(pieces) - len(known), known.shape[1]))])
                  for known, pieces in zip((styles, contents), cells.pieces, strict=True)]
        return cls(wholes[0], wholes[1])

    def starts(self, cells: Cells) -> Iterator["Vectors"]:
        """Yield the starts: all new styles are like one of the fit, or all new contents; one where either is known."""
        (styles, contents), (new_styles, new_contents) = cells.known, cells.new
        if not (len(new_styles) and len(new_contents)):
            yield replace(self, contents_first=len(new_styles) == 0)
            return
        for style in range(styles):
            moved = self.styles.copy()
            moved[new_styles] = self.styles[style]
            yield replace(self, styles=moved)
        for content in range(contents):
            moved = self.contents.copy()
            moved[new_contents] = self.contents[content]
            yield replace(self, contents=moved, contents_first=False)

    def rows(self, core: Array, cells: Cells) -> Array:
        """Return the rows (k x r) that the model gives for the cells."""
        return np.einsum("kq,qrp,kp->kr", self.styles[cells.style], core, self.contents[cells.content], optimize=True)

    def alternated(self, core: Array, cells: Cells) -> "Vectors":
        """Return the vectors after a step for those of either side, given the others, by least squares."""
        found = self
        for contents in (True, False) if self.contents_first else (False, True):
            if contents:
                designs = np.einsum("kq,qrp->krp", found.styles[cells.style], core)
                found = replace(found, contents=least_squares(designs, cells.points, cells.content, found.contents,
                                                              cells.known[1]))
            else:
                designs = np.einsum("qrp,kp->krq", core, found.contents[cells.content])
                found = replace(found, styles=least_squares(designs, cells.points, cells.style, found.styles,
                                                            cells.known[0]))
        return found

    def with_pieces(self, other: "Vectors", cells: Cells, pieces: AnyArray) -> "Vectors":
        """Return these vectors with those of another in some pieces, by a mask of these."""
        taken = [(place >= 0) & pieces[place] for place in cells.pieces]
        for mask, known in zip(taken, cells.known, strict=True):
            mask[:known] = False
        return replace(self, styles=np.where(taken[0][:, None], other.styles, self.styles),
                       contents=np.where(taken[1][:, None], other.contents, self.contents))

    def converged(self, core: Array, cells: Cells) -> "Vectors":
        """Return the vectors after alternations until those of each piece stay; warns of pieces where they do not."""
        found, going = self, np.ones(cells.count, dtype=bool)
        for _ in range(LIMIT):
            some = cells.within(going)
            after = found.alternated(core, some)
            gaps = [np.linalg.norm(new - old, axis=1) / np.maximum(np.linalg.norm(new, axis=1), TINY)
                    for new, old in ((after.styles, found.styles), (after.contents, found.contents))]
            found, moved = after, np.zeros(cells.count)
            for gap, pieces, known in zip(gaps, cells.pieces, cells.known, strict=True):
                np.maximum.at(moved, pieces[known:][pieces[known:] >= 0], gap[known:][pieces[known:] >= 0])
            going &= moved > STILL
            if not going.any():
                return found
        note("W-UNCONVERGED", f"vectors of new styles and contents still changed after {LIMIT:,} alternations in "
             f"{int(going.sum()):,} of {cells.count:,} groups of new rows")
        return found

    def scaled(self, cells: Cells, fitted: Array) -> "Vectors":
        """Return the vectors with a scale where they have none: (t a, b / t) gives the same rows as (a, b).

        In such a piece the first style has the length and the sign of the style of the fit (s x q) that is nearest in
        direction.
        """
        styles = cells.new[0]
        pieces, first = np.unique(cells.pieces[0][styles], return_index=True)
        vectors = self.styles[styles[first]]
        sizes = np.linalg.norm(fitted, axis=1)
        cosines = vectors @ (fitted / np.maximum(sizes, TINY)[:, None]).T
        nearest = np.abs(cosines).argmax(axis=1)
        lengths = np.linalg.norm(vectors, axis=1)
        factors = np.ones(cells.count)
        factors[pieces] = np.where(lengths > 0, np.sign(np.take_along_axis(cosines, nearest[:, None], axis=1)[:, 0])
                                   * sizes[nearest] / np.maximum(lengths, TINY), 1.0)
        factors = np.where(cells.free & (factors != 0), factors, 1.0)
        of_styles, of_contents = (np.where(place >= 0, factors[place], 1.0) for place in cells.pieces)
        of_styles[: cells.known[0]] = of_contents[: cells.known[1]] = 1.0
        return replace(self, styles=self.styles * of_styles[:, None], contents=self.contents / of_contents[:, None])


TINY = float(np.finfo(np.float64).tiny)


def least_squares(designs: Array, points: Array, places: Indices, vectors: Array, known: int) -> Array:
    """Return vectors (g x q) of which those from `known` on are v of least Σ ‖y - X v‖² over cells of their place.

    X are designs (k x r x q), y the points (k x r) of the cells. Of several such v it is the shortest; vectors of no
    cell stay.
    """
    new = places >= known
    groups, group = np.unique(places[new], return_inverse=True)
    width = vectors.shape[1]
    squares, sums = np.zeros((len(groups), width, width)), np.zeros((len(groups), width))
    np.add.at(squares, group, np.einsum("krq,krw->kqw", designs[new], designs[new]))
    np.add.at(sums, group, np.einsum("krq,kr->kq", designs[new], points[new]))
    found = vectors.copy()
    found[groups] = np.einsum("gqw,gw->gq", np.linalg.pinv(squares, rcond=width * EPS, hermitian=True), sums)
    return found
