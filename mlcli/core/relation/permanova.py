"""Permutational analysis of variance of dissimilarities: model formulas, their terms, and sums of squares."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import running
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.permutations import Permutations
from mlcli.core.relation.traces import Design, DesignTerm, Tile
from mlcli.errors import ConfigError, DataError, GeometryError

TOKENS = re.compile(r"\s*(?:`([^`]+)`|([^\W\d][\w.]*|\.[^\W\d][\w.]*)|([+:*~]))")
Term = tuple[str, ...]  # the variables of an interaction, or one
MOST = 127  # terms of a formula: those of seven variables joined by `*`


def terms_of(formula: str) -> tuple[Term, ...]:
    """Return the terms of a formula such as `A1 + Management * Use`, by their degree as R orders them.

    Names with other characters than letters, digits, dots and underscores stand in backquotes. Raises ConfigError, also
    for more than MOST terms.
    """
    tokens = _tokens(formula)
    if tokens and tokens[0] == ("~", ""):
        tokens = tokens[1:]
    if ("~", "") in tokens:
        raise ConfigError("FORMULA", f"{formula[:80]!r} names what is explained", where="--formula", hint="leave out "
                          "what stands before the variables, as in '~ A1 + Management': the dissimilarities are those "
                          "of the run")
    found: dict[frozenset[str], Term] = {}
    for part in _split(tokens, "+", formula):
        for term in _crossed([_interaction(factor, formula) for factor in _split(part, "*", formula)], formula):
            found.setdefault(frozenset(term), term)
    if len(found) > MOST:
        raise _too_many(formula)
    return tuple(sorted(found.values(), key=len))


def _tokens(formula: str) -> list[tuple[str, str]]:
    """Return operators and names, as pairs of which one is empty."""
    tokens, place, text = [], 0, formula.rstrip()
    while place < len(text):
        match = TOKENS.match(text, place)
        if match is None:
            raise _unreadable(formula, f"character {place + 1}: {text[place:].lstrip()[:20]!r}")
        tokens.append((match[3] or "", match[1] or match[2] or ""))
        place = match.end()
    return tokens


def _split(tokens: Sequence[tuple[str, str]], sign: str, formula: str) -> list[list[tuple[str, str]]]:
    parts: list[list[tuple[str, str]]] = [[]]
    for token in tokens:
        if token == (sign, ""):
            parts.append([])
        else:
            parts[-1].append(token)
    if not all(parts):
        raise _unreadable(formula, f"nothing beside {sign!r}" if len(parts) > 1 else "it is empty")
    return parts


def _interaction(tokens: Sequence[tuple[str, str]], formula: str) -> Term:
    """Return the variables of `a:b:c`, each once."""
    parts = _split(tokens, ":", formula)
    if wrong := next((part for part in parts if len(part) != 1 or not part[0][1]), None):
        raise _unreadable(formula, f"no sign between {' and '.join(repr(sign or name) for sign, name in wrong[:2])}"
                          if len(wrong) > 1 else f"{wrong[0][0]!r} is not a name")
    return tuple(dict.fromkeys(part[0][1] for part in parts))


def _crossed(factors: Sequence[Term], formula: str) -> list[Term]:
    """Return all interactions of some factors: `a*b` is a, b and a:b."""
    factors = list({frozenset(factor): factor for factor in reversed(factors)}.values())[::-1]  # each once
    if 2 ** len(factors) - 1 > MOST:
        raise _too_many(formula)
    return [tuple(dict.fromkeys(name for factor in chosen for name in factor))
            for size in range(1, len(factors) + 1) for chosen in combinations(factors, size)]


def _too_many(formula: str) -> ConfigError:
    return ConfigError("FORMULA-TERMS", f"{formula[:80]!r} has more than {MOST} terms", where="--formula",
                       hint="join fewer variables by `*`: of k variables it makes all 2^k - 1 interactions; name those "
                       "of interest by `:`")


def _unreadable(formula: str, what: str) -> ConfigError:
    return ConfigError("FORMULA", f"{formula[:80]!r} is not a formula of variables: {what}", where="--formula",
                       hint="write it as A1 + Management, or Management*Use or Management:Use for an interaction; "
                       "names with spaces stand in `backquotes`")


def label_of(term: Term) -> str:
    """Return the name of a term, as in `Management:Use`."""
    return ":".join(term)


def droppable(terms: Sequence[Term]) -> list[Term]:
    """Return the terms that are in no other one: those that can be left out first (R's `drop.scope`)."""
    return [term for term in terms if not any(set(term) < set(other) for other in terms)]


ALIASED = 1e-7  # share of a column's length, outside of the span of earlier ones, up to which it is dependent (R's qr)
Variables = Mapping[str, "Array | Factor"]


@frozen
class Factor:
    """A factor: the code of each row from 0, and its levels."""

    codes: Indices  # n
    levels: tuple[str, ...]

    @property
    def indicators(self) -> Array:
        """A column of ones and zeros for each level (n x levels)."""
        return np.asarray(self.codes[:, None] == np.arange(len(self.levels)), dtype=np.float64)


def columns_of(term: Term, variables: Variables) -> Array:
    """Return the columns (n x q) of a term: numbers as they are, indicators of levels, products for an interaction.

    What they span beyond their margins is what R's contrasts span.
    """
    parts = [value.indicators if isinstance(value, Factor) else value[:, None]
             for value in (variables[name] for name in term)]
    return np.column_stack([np.prod(chosen, axis=0) for chosen in product(*(part.T for part in parts))])


def design_term(term: Term, variables: Variables) -> DesignTerm:
    """Return the column of each row, and its number there, for what a term spans beside the mean and its margins.

    Of factors alone the most frequent column is left out: it is the mean less the others.
    """
    factors = [value for value in (variables[name] for name in term) if isinstance(value, Factor)]
    others = [value for value in (variables[name] for name in term) if not isinstance(value, Factor)]
    size = len(factors[0].codes if factors else others[0])
    numbers = np.prod([np.ones(size), *others], axis=0)
    numbers = numbers if factors else numbers - numbers.mean()
    numbers = numbers / max(float(np.abs(numbers).max()), np.finfo(float).tiny)
    if not factors:
        return DesignTerm(np.zeros(size, dtype=np.int64), numbers)
    codes = np.zeros(size, dtype=np.int64)
    for factor in factors:
        codes = np.unique(codes * len(factor.levels) + factor.codes, return_inverse=True)[1]
    if not others:
        largest = int(np.argmax(np.bincount(codes)))
        codes = np.where(codes == largest, -1, np.where(codes > largest, codes - 1, codes))
    return DesignTerm(codes, numbers)


def sequential_bases(terms: Sequence[Term], variables: Variables) -> list[Array]:
    """Return for each term an orthonormal basis (n x q) of what it adds to the mean and the terms before it."""
    basis = np.zeros((0, 0))
    bases = []
    for term in terms:
        columns = columns_of(term, variables)
        basis = basis if len(basis) else np.zeros((len(columns), 0))
        start = basis.shape[1]
        for column in (columns - columns.mean(axis=0)).T:
            basis = _extended(basis, column)
        bases.append(basis[:, start:])
    return bases


def _extended(basis: Array, column: Array) -> Array:
    """Return the basis (n x q) with one more direction, where a centered column (n) has one outside of its span."""
    length = float(np.linalg.norm(column))
    if not length or basis.shape[1] >= len(column) - 1:
        return basis
    rest = column / length
    for _ in range(2):  # once more for the rounding of the first
        rest = rest - basis @ (basis.T @ rest)
    left = float(np.linalg.norm(rest))
    if left <= ALIASED:
        return basis
    rest = rest / left
    rest -= rest.mean()
    return np.column_stack([basis, rest / np.linalg.norm(rest)])


By = Literal["terms", "margin", "none"]
HELD = 2**27  # numbers of the permutations that are held together: 512 MiB
EXACT = 1e-12  # share of the whole up to which the residual is rounding


@frozen
class AnalysisRow:
    """A row of the table: a term, the residual, or the whole."""

    term: str
    freedom: int
    squares: float
    share: float  # R²: of the whole
    ratio: float | None = None  # pseudo-F
    p_value: float | None = None


def inner_products(squared: Array) -> Array:
    """Return -H D² H / 2 (n x n) of squared dissimilarities (n x n), whose array is lost (Gower, 1966)."""
    squared *= -0.5
    squared -= squared.mean(axis=0)
    squared -= squared.mean(axis=1)[:, None]
    return squared


def permanova(tile: Tile, terms: Sequence[Term], variables: Variables, by: By, permutations: Permutations,
              strata: Indices | None = None) -> list[AnalysisRow]:
    """Partition tr(G), G = -H D² H / 2, among the terms of a model, as vegan's `adonis2`.

    `tile` gives squared dissimilarities D² of two ranges of the n rows that the variables have. `terms` are tested in
    their order, `margin` tests each after all others, `none` tests the model as a whole. The last two rows are the
    residual and the total. Raises DataError for a model without residuals and GeometryError where all dissimilarities
    are zero (McArdle and Anderson, 2001).
    """
    sequence = sequential_bases(terms, variables)
    model = np.column_stack(sequence)
    size, freedom = model.shape
    left = size - 1 - freedom
    if not freedom:
        raise DataError("MODEL-FREEDOM", "the variables of the formula do not vary in these rows", where="--formula",
                        hint="name others")
    if left < 1:
        raise DataError("MODEL-FREEDOM", f"the terms take all {left + freedom:,} degrees of freedom of "
                        f"{size:,} rows, and leave no residual", where="--formula",
                        hint="name fewer variables, or those with fewer levels")
    tested = _tested(terms, variables, sequence, by)
    design = Design.of([design_term(term, variables) for term in terms], [model, *(basis for _, basis in tested)])
    freedoms = np.array([basis.shape[1] for _, basis in tested])
    parts: list[Array] = []
    with running("permutations"):
        for orders in _places(permutations, size, strata):
            found, whole = design.squares(tile, orders)
            parts.append(found)
    if not whole > 0:
        raise GeometryError("ALL-EQUAL", "all dissimilarities of the rows are zero", hint="nothing can be partitioned")
    sums = np.concatenate(parts)
    residual = whole - sums[:, :1]
    residual = np.where(np.abs(residual) <= EXACT * whole, 0.0, residual)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (sums[:, 1:] / freedoms) / (residual / left)
    squares, statistics, p_values = sums[0].tolist(), ratios[0], permutations.shares_reached(ratios[0], [ratios[1:]])
    rows = [AnalysisRow(name, int(freedom), size, size / whole, ratio=float(ratio), p_value=float(p_value))
            for (name, _), freedom, size, ratio, p_value in zip(
                tested, freedoms, squares[1:], statistics, p_values, strict=True)]
    rest = whole - squares[0]
    return [*rows, AnalysisRow("Residual", left, rest, rest / whole), AnalysisRow("Total", size - 1, whole, 1.0)]


def _places(permutations: Permutations, size: int, strata: Indices | None) -> Iterator[AnyArray]:
    """Yield the row of the design at each place (b x n) for the order as it is, first, and for each permutation.

    There are as many together as memory holds for one pass.
    """
    count = permutations.count + 1
    together = max(1, HELD // size)
    held = np.empty((min(together, count), size), dtype=np.int32)
    held[0], filled = np.arange(size), 1
    for orders in permutations.batches(size, strata):
        for order in orders:
            if filled == len(held):
                yield held
                filled = 0
            held[filled, order] = np.arange(size)
            filled += 1
    yield held[:filled]


def _tested(terms: Sequence[Term], variables: Variables, sequence: Sequence[Array],
            by: By) -> list[tuple[str, Array]]:
    """Return the name and the basis of what each test is about; terms that add nothing are left out."""
    if by == "none":
        return [("Model", np.column_stack(list(sequence)))]
    found = list(zip(terms, sequence, strict=True))
    if by == "margin":
        found = [(term, sequential_bases([*(other for other in terms if other != term), term], variables)[-1])
                 for term in droppable(terms)]
    return [(label_of(term), basis) for term, basis in found if basis.shape[1]]
