"""An input of every format that is read: its bytes, what damages it, and the options that it is read with."""

import bz2
import gzip
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import sparse
from scipy.io import mmwrite, savemat

from mlcli.data.options.formats import FILES
from tests.data.format_samples import WRITERS
from tests.data.text.test_distance_matrices import PRINTED
from tests.faults.failures.support import saved
from tests.faults.fuzz.arrays import of_bytes, of_npy, of_npz
from tests.faults.fuzz.directories import SAMPLES
from tests.faults.fuzz.documents import Damage
from tests.faults.fuzz.tables import of_csv

POINTS = np.random.default_rng(0).standard_normal((30, 4))
RING = sparse.csr_array(np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0))
EDGES = "\n".join(["source,target,length", *(f"p{i},p{(i + 1) % 12},{1 + i / 7}" for i in range(12)), ""]).encode()
NAMED = ("--id-column", "id", "--label-column", "kind")
SQUARE = ("--dissimilarities", "-m", "mds")
GRAPH = ("--graph", "-m", "isomap")
ENTRIES = ("--set", "input.stream=always")
FEW = sparse.csr_array(np.where(POINTS > 0.5, POINTS, 0.0))
TABLES = SAMPLES.parent / "tests" / "tables"


@dataclass(frozen=True)
class Kind:
    """Inputs of a format: `content` makes a whole one, `damages` lists what may become of it."""

    content: Callable[[], bytes]
    damages: Callable[[bytes], list[Damage]]
    options: tuple[str, ...] = ()

    def options_of(self, command: str) -> tuple[str, ...]:
        """The options of a command; `check` examines data, and takes no method."""
        if command != "check" or "-m" not in self.options:
            return self.options
        return self.options[:self.options.index("-m")]


def table() -> pa.Table:
    """Numbers, ids and labels."""
    return pa.table({"id": [f"p{i}" for i in range(30)], "kind": [f"k{i % 3}" for i in range(30)],
                     **{f"x{j}": POINTS[:, j] for j in range(4)}})


def typed() -> pa.Table:
    """Columns of many types, with gaps."""
    rows = range(30)
    return pa.table({"id": pa.array([f"p{i}" for i in rows]).dictionary_encode(),
                     "kind": pa.array([None if i == 9 else "é" * (i % 4) for i in rows], pa.large_string()),
                     "a": pa.array([i % 5 for i in rows], pa.int8()), "b": pa.array([i % 3 == 0 for i in rows]),
                     "c": pa.array([i / 7 for i in rows], pa.float32()),
                     "d": pa.array([i * 10**12 + i % 7 for i in rows], pa.int64()),
                     "e": pa.array(rows, pa.uint16()).cast(pa.decimal128(9, 2))})


def sample(name: str) -> bytes:
    """A file of sample_data."""
    return (SAMPLES / name).read_bytes()


def arrow(data: Callable[[], pa.Table], stream: io.BytesIO) -> None:
    """A table as an Arrow stream."""
    with pa.ipc.new_stream(stream, data().schema) as writer:
        writer.write_table(data())


def parquet(data: Callable[[], pa.Table] = table, **options: Any) -> Kind:
    """A table as a Parquet file."""
    return Kind(lambda: saved(lambda stream: pyarrow.parquet.write_table(data(), stream, **options)), of_bytes, NAMED)


def lower() -> bytes:
    """Distances of cities as the lower triangle of a PHYLIP file."""
    first, *lines = sample("us_cities.phy").decode().splitlines()
    rows = [line.split() for line in lines]
    return "\n".join([first, *("  ".join(row[:place + 1]) for place, row in enumerate(rows)), ""]).encode()


def square(values: np.ndarray) -> bytes:
    """A matrix as CSV, with the names of its points."""
    names = [f"p{i}" for i in range(len(values))]
    return "\n".join([",".join(["", *names]), *(",".join([name, *map(repr, row)]) for name, row in zip(
        names, values.tolist(), strict=True)), ""]).encode()


def written(format: str) -> bytes:
    """A table of three columns, as a format's tests write it."""
    with tempfile.TemporaryDirectory() as folder:
        WRITERS[format](path := Path(folder) / "x", POINTS[:, :3])
        return path.read_bytes()


KINDS: dict[str, Kind] = {
    "x.csv": Kind(partial(sample, "us_arrests.csv"), of_csv),
    "d.csv": Kind(partial(sample, "eurodist.csv"), of_csv, SQUARE),
    "k.csv": Kind(lambda: square(np.round(POINTS @ POINTS.T, 12)), of_csv,  # further digits are those of a processor
                  ("--set", "input.kind=kernel", "-m", "kpca")),
    "c.csv": Kind(partial(sample, "ability_cov.csv"), of_csv, ("--set", "input.kind=covariance", "-m", "fa")),
    "x.tsv": Kind(partial(sample, "gaps.tsv"), of_csv, ("--set", "prepare.missing=mean")),
    "x.csv.gz": Kind(lambda: gzip.compress(sample("us_arrests.csv")), of_bytes),
    "x.csv.bz2": Kind(lambda: bz2.compress(sample("us_arrests.csv")), of_bytes),
    "x.csv.zst": Kind(lambda: pa.compress(sample("us_arrests.csv"), "zstd", asbytes=True), of_bytes),
    "wide.txt": Kind(lambda: sample("us_arrests.csv").decode().replace(",", ";").encode("utf-16"), of_bytes,
                     ("--set", "input.encoding=utf-16", "--set", "input.separator=;")),
    "x.npy": Kind(lambda: saved(lambda stream: np.save(stream, POINTS)), of_npy),
    "f.npy": Kind(lambda: saved(lambda stream: np.save(stream, np.asfortranarray(POINTS.astype(">f4")))), of_npy),
    "x.npz": Kind(lambda: saved(lambda stream: np.savez_compressed(stream, x=POINTS)), of_npz),
    "x.parquet": parquet(),
    "plain.parquet": parquet(compression="none", use_dictionary=False, data_page_version="2.0", row_group_size=7),
    "typed.parquet": parquet(typed, compression="gzip", write_page_checksum=True),
    "delta.parquet": parquet(compression="zstd", use_dictionary=False, column_encoding={
        "id": "DELTA_BYTE_ARRAY", "kind": "DELTA_LENGTH_BYTE_ARRAY", "x0": "BYTE_STREAM_SPLIT"}),
    "x.arrow": Kind(lambda: saved(partial(arrow, table)), of_bytes, NAMED),
    "typed.arrow": Kind(lambda: saved(partial(arrow, typed)), of_bytes, NAMED),
    "x.feather": Kind(lambda: saved(lambda stream: pyarrow.feather.write_feather(table(), stream)), of_bytes, NAMED),
    "g.csv": Kind(lambda: EDGES, of_csv, GRAPH),
    "g.npz": Kind(lambda: saved(lambda stream: sparse.save_npz(stream, RING)), of_npz, GRAPH),
    "g.mtx": Kind(lambda: saved(lambda stream: mmwrite(stream, RING, symmetry="symmetric")), of_bytes, GRAPH),
    "s.npz": Kind(lambda: saved(lambda stream: sparse.save_npz(stream, FEW)), of_npz, ENTRIES),
    "s.mtx": Kind(lambda: saved(lambda stream: mmwrite(stream, FEW)), of_bytes, ("--transpose",)),
    "x.mat": Kind(lambda: saved(lambda stream: savemat(stream, {"x": POINTS}, do_compression=True)), of_bytes),
    "old.mat": Kind(lambda: saved(lambda stream: savemat(stream, {"x": POINTS}, format="4")), of_bytes),
    "s.mat": Kind(lambda: saved(lambda stream: savemat(stream, {"x": FEW})), of_bytes),
    "x.h5ad": Kind(lambda: gzip.decompress((TABLES / "anndata" / "cells.h5ad.gz").read_bytes()), of_bytes,
                   ("--label-column", "kind", "--label-column", "count")),
    "r.txt": Kind(lambda: PRINTED.encode(), of_bytes, SQUARE),
    "x.phy": Kind(partial(sample, "us_cities.phy"), of_bytes, SQUARE),
    "lower.phy": Kind(lower, of_bytes, SQUARE),
}
KINDS |= {f"x.{format.name}": Kind(partial(written, format.name), of_bytes, ("--set", f"input.format={format.name}", *(
    SQUARE if format.pairs else ()))) for format in FILES
    if not {format.name, *(ending[1:] for ending in format.endings)} & {name.rpartition(".")[2] for name in KINDS}}
