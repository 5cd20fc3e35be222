"""Inputs that a metric, a transform, a graph or a chain may not be made for, by name."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from tests.faults.failures.support import saved

RANDOM = np.random.default_rng(5)
COUNTS = RANDOM.integers(1, 40, (14, 4)).astype(float)
SQUARE = cdist(COUNTS, COUNTS)
PLACES = np.column_stack([RANDOM.uniform(-80, 80, 14), RANDOM.uniform(-170, 170, 14)])


def npz(matrix: Any) -> bytes:
    """A sparse matrix as SciPy writes it."""
    return saved(lambda stream: sparse.save_npz(stream, matrix))


def cell(values: Array, value: float, *, both: bool = False) -> Array:
    """The same numbers with another one in a cell; in a square matrix, `both` sides of the diagonal."""
    values = values.copy()
    values[3, 1] = value
    if both:
        values[1, 3] = value
    return values


def csv(values: Any, names: list[str] | None = None, ids: list[str] | None = None) -> bytes:
    """A table as CSV; cells may be texts."""
    rows = [[text if isinstance(text, str) else repr(text) for text in row] for row in values]
    head = names or [f"c{place}" for place in range(len(rows[0]))]
    head, rows = (["id", *head], [[name, *row] for name, row in zip(ids, rows, strict=True)]) if ids else (head, rows)
    return "\n".join([*map(",".join, [head, *rows]), ""]).encode()


def beside(column: list[str]) -> bytes:
    """Numbers with a column of texts."""
    return csv([[text, *row] for text, row in zip(column, COUNTS.tolist(), strict=True)])


def rows(values: Array) -> bytes:
    """Numbers as CSV."""
    return csv(values.tolist())


TABLES: dict[str, bytes] = {
    "counts": rows(COUNTS), "not a number": rows(cell(COUNTS, np.nan)), "infinite": rows(cell(COUNTS, np.inf)),
    "below zero": rows(cell(COUNTS, -3.0)), "a row of zeros": rows(COUNTS * (np.arange(14) != 5)[:, None]),
    "zeros": rows(0 * COUNTS), "all equal": rows(np.ones((14, 4))), "mostly zeros": rows(COUNTS * (COUNTS > 30)),
    "a constant column": rows(np.column_stack([COUNTS, np.full(14, 7.0)])),
    "rows without variation": rows(np.repeat(COUNTS[:, :1], 3, axis=1)),
    "repeated rows": rows(np.repeat(COUNTS[:4], 4, axis=0)), "one row": rows(COUNTS[:1]), "two rows": rows(COUNTS[:2]),
    "two equal rows": rows(COUNTS[[0, 0]]), "three rows": rows(COUNTS[:3]),
    "one column": rows(COUNTS[:, :1]), "two columns": rows(COUNTS[:, :2]), "no columns": b"id\n" + b"p\n" * 14,
    "a huge cell": rows(cell(COUNTS, 1e200)), "a tiny cell": rows(cell(COUNTS, 1e-200)),
    "a denormal cell": rows(cell(COUNTS, 5e-324)), "large": rows(COUNTS * 1e200), "small": rows(COUNTS * 1e-200),
    "denormals": rows(COUNTS * 5e-324), "the largest": rows(np.where(COUNTS > 20, 1.7e308, -1.7e308)),
    "all scales": rows(COUNTS * [1e-300, 1.0, 1e300, 1e10]), "far from zero": rows(COUNTS + 1e16),
    "a text": beside(["few"] * 14).replace(b"few", b"3", 13), "texts": beside([f"kind {i % 3}" for i in range(14)]),
    "only texts": csv([[f"a{i}", f"b{i % 2}"] for i in range(14)]), "truth": beside(["true", "false"] * 7),
    "a category each": beside([f"é{i} ☃" for i in range(14)]),
    "other alphabets": csv(COUNTS.tolist(), ids=[f"Ω{i}\u202e" for i in range(14)]),
    "ids of numbers": csv(COUNTS.tolist(), ids=[str(15 - i) for i in range(14)]),
    "equal ids": csv(COUNTS.tolist(), ids=["twin"] * 14), "places": rows(PLACES),
    "beyond a pole": rows(cell(PLACES[:, ::-1], 91.0)), "poles": rows(np.where(COUNTS[:, :2] > 20, 90.0, -90.0)),
    "empty": b"", "names only": b"a,b\n", "blank lines": b"\n\n\n", "bytes": RANDOM.bytes(300),
    "1,500 columns": rows(RANDOM.integers(0, 2, (6, 1500)).astype(float)),
}
SQUARES: dict[str, Array] = {
    "distances": SQUARE, "not symmetric": np.triu(SQUARE), "nearly symmetric": cell(SQUARE, SQUARE[3, 1] * (1 + 1e-9)),
    "below zero": cell(SQUARE, -1.0, both=True), "all below zero": -SQUARE,
    "not a number": cell(SQUARE, np.nan, both=True), "infinite": cell(SQUARE, np.inf, both=True),
    "a huge entry": cell(SQUARE, 1e200, both=True), "a denormal entry": cell(SQUARE, 5e-324, both=True),
    "large": SQUARE * 1e200, "small": SQUARE * 1e-200, "denormals": np.round(SQUARE) * 5e-324, "zeros": 0 * SQUARE,
    "all equal": 1.0 - np.eye(14), "a diagonal": SQUARE + np.eye(14), "twins": SQUARE[np.ix_([0, 0, 1, 2, 2], [
        0, 0, 1, 2, 2])], "not square": SQUARE[:5], "one point": np.zeros((1, 1)), "two points": SQUARE[:2, :2],
    "two equal points": np.zeros((2, 2)), "no points": np.zeros((0, 0)), "no triangle": SQUARE * SQUARE * SQUARE,
    "two groups": SQUARE + 1e6 * (np.arange(14)[:, None] % 2 != np.arange(14) % 2),
}


def edges(*changes: str, size: int = 12) -> bytes:
    """A ring with chords as an edge list, and some lines more."""
    ring = [f"p{i},p{(i + step) % size},{1 + (i * step) % 5}" for i in range(size) for step in (1, 3)]
    return "\n".join(["source,target,length", *ring, *changes, ""]).encode()


def outside(where: str) -> bytes:
    """A sparse matrix one of whose arrays leads out of it."""
    matrix = sparse.csr_array(np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0))
    getattr(matrix, where)[5] = 99 if where == "indices" else -4
    return npz(matrix)


MARKET = "%%MatrixMarket matrix coordinate real {}\n{} {} {}\n{}"
GRAPHS: dict[str, tuple[str, bytes]] = {  # with the ending of the file
    "a ring": ("csv", edges()), "not a number": ("csv", edges("p0,p5,nan")), "infinite": ("csv", edges("p0,p5,inf")),
    "no length": ("csv", edges("p0,p5,")), "below zero": ("csv", edges("p0,p5,-1")),
    "a zero length": ("csv", edges("p0,p5,0")), "an edge twice": ("csv", edges("p0,p1,1")),
    "an edge twice, otherwise": ("csv", edges("p0,p1,9")), "another way back": ("csv", edges("p1,p0,7")),
    "a loop": ("csv", edges("p3,p3,2")), "a loop of zero": ("csv", edges("p3,p3,0")),
    "two pieces": ("csv", edges("q0,q1,1", "q1,q2,1", "q2,q0,2")),
    "a lone edge": ("csv", b"source,target,length\na,b,1\n"),
    "only a loop": ("csv", b"source,target,length\na,a,0\n"), "no edges": ("csv", b"source,target,length\n"),
    "zeros": ("csv", b"source,target,length\na,b,0\nb,c,0\nc,a,0\n"), "no columns": ("csv", b"a,b,1\nb,c,2\n"),
    "a star": ("csv", b"source,target,length\n" + b"".join(b"hub,p%d,1\n" % i for i in range(9))),
    "huge": ("csv", edges("p0,p5,1e200")), "tiny": ("csv", edges("p0,p5,1e-200")),
    "denormal": ("csv", edges("p0,p5,5e-324")),
    "the largest": ("csv", edges("p0,p5,1.7e308", "p1,p6,1.7e308")), "a text": ("csv", edges("p0,p5,far")),
    "other alphabets": ("csv", edges("Ω☃,p5,2", "Ω☃,p1,2")), "numbers for names": ("csv", edges("1,p5,2", "01,p5,2")),
    "no name": ("csv", edges(",p5,2")), "empty": ("csv", b""), "an index outside": ("npz", outside("indices")),
    "a start below zero": ("npz", outside("indptr")), "not square": ("npz", npz(sparse.csr_array(np.ones((3, 5))))),
    "one direction": ("npz", npz(sparse.csr_array(np.triu(SQUARE)))), "directions": ("npz", npz(sparse.csr_array(
        np.tril(SQUARE) + 2 * np.triu(SQUARE)))), "complete": ("npz", npz(sparse.csr_array(SQUARE))),
    "no points": ("npz", npz(sparse.csr_array((0, 0)))), "lone points": ("npz", npz(sparse.csr_array((7, 7)))),
    "complex": ("npz", npz(sparse.csr_array(SQUARE * 1j))), "truth": ("npz", npz(sparse.csr_array(SQUARE > 9))),
    "a market": ("mtx", MARKET.format("symmetric", 3, 3, 2, "2 1 1\n3 2 4\n").encode()),
    "an index beyond the market": ("mtx", MARKET.format("symmetric", 3, 3, 1, "4 1 1\n").encode()),
    "a market of few": ("mtx", MARKET.format("general", 3, 3, 5, "2 1 1\n").encode()),
    "an endless market": ("mtx", MARKET.format("general", 10**18, 10**18, 1, "2 1 1\n").encode()),
    "a skew market": ("mtx", MARKET.format("skew-symmetric", 3, 3, 2, "2 1 1\n3 1 2\n").encode()),
}
