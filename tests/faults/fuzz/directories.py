"""Run directories to damage: small runs of many kinds, and files put back with the hashes that belong to them."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlcli.cli.program import run
from mlcli.findings import FINDINGS
from tests.faults.fuzz.arrays import of_bytes, of_npy, of_npz
from tests.faults.fuzz.documents import Damage, of_json, of_yaml
from tests.faults.fuzz.tables import of_csv

SAMPLES = Path(__file__).parents[3] / "sample_data"
CHOSEN = [text for name, finding in FINDINGS.items() if finding.option and finding.default is None
          for text in ("--set", f"report.{name}={{}}")]  # findings that are off unless they are chosen
RUNS = {  # the arguments of `embed`: a file of samples, which also holds new points, or another run of these
    "pca": ("us_arrests.csv", "--scale", "standard", "--set", "report.formats=[csv, parquet, npy]"),
    "stable": ("us_arrests.csv", "-p", "2", "--set", "report.image=[2,2]", *CHOSEN,
               "--set", "report.stability.resamples=4"),
    "transformed": ("us_arrests.csv", "--transform", "sqrt,total", "--top-variance", "3"),
    "mds": ("eurodist.csv", "--dissimilarities", "-m", "mds", "--set", "report.formats=[parquet]"),
    "isomap": ("helix.npy", "-m", "isomap", "-k", "8", "--set", "report.formats=[npy]", "--draw-graph"),
    "lle": ("us_arrests.csv", "-m", "lle", "-k", "6"),
    "kpca": ("us_arrests.csv", "-m", "kpca", "--set", "method.kernel.name=gaussian"),
    "ppca": ("gaps.tsv", "-m", "ppca", "-p", "1", "--set", "prepare.missing=model", "--id-column", "point"),
    "fa": ("ability_cov.csv", "-m", "fa", "--set", "input.kind=covariance", "--set", "input.observations=112"),
    "factors": ("gaps.tsv", "-m", "fa", "-p", "1", "--set", "prepare.missing=model", "--id-column", "point"),
    "lda": ("iris.csv", "-m", "lda", "--label-column", "Species"),
    "bilinear": ("postures.csv", "-m", "bilinear", "--label-column", "person", "--label-column", "posture"),
    "symmetric": ("postures.csv", "-m", "bilinear", "--label-column", "person", "--label-column", "posture",
                  "--set", "method.style_axes=2"),
    "sde": ("us_arrests.csv", "-m", "sde", "-k", "6"),
    "sfa": ("mixture.csv", "-m", "sfa"),
    "lgssm": ("oscillator.csv", "-m", "lgssm", "--set", "method.iterate.limit=30", "--id-column", "time",
              "--set", "prepare.missing=model"),
    "gpdm": ("us_arrests.csv", "-m", "gpdm", "--set", "method.dynamics.order=2", "--set", "method.minimize.limit=5",
             "--set", "prepare.missing=model"),
    "gpssm": ("us_arrests.csv", "-m", "gpssm", "--set", "method.inducing=5", "--set", "method.minimize.limit=5"),
    "mvgplvm": ("us_arrests.csv", "-m", "mvgplvm", "--view", str(SAMPLES / "us_arrests.csv"),
                "--set", "method.minimize.limit=5", "--set", "method.inducing=5"),
    "smacof": ("eurodist.csv", "--dissimilarities", "-m", "smacof"),
    "sammon": ("us_arrests.csv", "-m", "sammon", "--set", "method.iterate.limit=50"),
    "nmds": ("us_arrests.csv", "-m", "nmds", "--set", "method.starts=2"),
    "phate": ("us_arrests.csv", "-m", "phate", "--set", "method.landmarks=20"),
    "tsne": ("us_arrests.csv", "-m", "tsne", "--set", "method.descent={early_steps: 5, steps: 5}"),
    "ltsa": ("us_arrests.csv", "-m", "ltsa", "-k", "8"), "mlle": ("us_arrests.csv", "-m", "mlle", "-k", "8"),
    "lpp": ("us_arrests.csv", "-m", "lpp", "-k", "6"), "lltsa": ("us_arrests.csv", "-m", "lltsa", "-k", "8"),
    "nmf": ("us_arrests.csv", "-m", "nmf"), "random": ("us_arrests.csv", "-m", "random"),
    "ib": ("hair_eye.csv", "-m", "ib"), "ca": ("hair_eye.csv", "-m", "ca"), "mca": ("students.csv", "-m", "mca"),
    "mfa": ("iris.csv", "-m", "mfa", "--contributions", "--groups", "sepal=Sepal.Length:Sepal.Width", "--groups",
            "rest=Petal.Length:Species"), "famd": ("iris.csv", "-m", "famd"),
    "statis": ("us_arrests.csv", "-m", "statis", "--groups", "first=Murder,Assault", "--groups",
               "second=UrbanPop,Rape"),
    "sum": ("us_arrests.csv", "-m", "chain", "--set", "method.kernel={name: sum, tables: [{name: first, columns: "
            "[Murder, Assault]}, {name: second, columns: [UrbanPop, Rape], kernel: {name: gaussian}}]}"),
    "completed": ("gaps.tsv", "-m", "mfa", "-p", "1", "--set", "prepare.missing=model", "--id-column", "point"),
    "gib": ("us_arrests.csv", "-m", "gib", "--columns", "Murder,Assault", "--set",
            f"input.view={{path: {SAMPLES / 'us_arrests.csv'}, columns: [UrbanPop, Rape]}}"),
    "rda": ("us_arrests.csv", "-m", "rda", "--set", f"input.view={{path: {SAMPLES / 'us_arrests.csv'}, "
            "columns: [UrbanPop]}", "-p", "1"),
    "dbrda": ("us_arrests.csv", "-m", "dbrda", "--metric", "braycurtis", "--set",
              f"input.view={{path: {SAMPLES / 'us_arrests.csv'}, columns: [UrbanPop]}}", "-p", "1"),
    "decoded": ("us_arrests.csv", "-m", "isomap", "-k", "8", "--set", "method.decoder={name: ridge}"),
    "reduced": ("us_arrests.csv", "-m", "lle", "-k", "6", "--scale", "standard", "--reduce", "3"),
    "through": ("transformed", "-m", "isomap", "-k", "8"),
    "autoencoder": ("us_arrests.csv", "-m", "autoencoder", "--set", "method.layers=[5]", "--set",
                    "method.learning.epochs=3"),
    "vae": ("us_arrests.csv", "-m", "vae", "--set", "method.layers=[5]", "--set", "method.learning.epochs=3"),
    "translated": ("us_arrests.csv", "-m", "autoencoder", "--columns", "Murder,Assault", "--set",
                   f"input.view={{path: {SAMPLES / 'us_arrests.csv'}, columns: [UrbanPop, Rape]}}"),
    "free": ("us_arrests.csv", "-m", "vae", "--set", "method.family=free", "--set", "method.layers=[5]", "--set",
             "method.learning.epochs=3"),
    "vib": ("us_arrests.csv", "-m", "vib", "--columns", "Murder,Assault", "--set",
            f"input.view={{path: {SAMPLES / 'us_arrests.csv'}, columns: [UrbanPop, Rape]}}", "--set",
            "method.layers=[5]", "--set", "method.learning.epochs=3"),
    "landmarks": ("us_arrests.csv", "-m", "mds", "--set", "method.landmarks=20"),
}
DAMAGES: dict[str, Callable[[bytes], list[Damage]]] = {
    ".json": of_json, ".yaml": of_yaml, ".csv": of_csv, ".npz": of_npz, ".npy": of_npy, ".parquet": of_bytes}
UNREAD = {file.name for finding in FINDINGS.values() for file in finding.files if file.shape is None}


def made(folder: Path, name: str) -> Path:
    """The run of a name, made in a folder if it is not there."""
    data, *options = RUNS[name]
    if (folder / name).exists():
        return folder / name
    given = made(folder, data) if data in RUNS else SAMPLES / data
    assert run(["embed", str(given), *options, "-o", str(folder / name), "-q"]) in (0, 80)
    return folder / name


def new_points(name: str) -> Path:
    """The file that the points of a run come from."""
    data = RUNS[name][0]
    return new_points(data) if data in RUNS else SAMPLES / data


def damages(directory: Path) -> list[tuple[str, str, Callable[[], bytes]]]:
    """Every damage to every file of a run: the file, what is done, the damaged content."""
    return [(path.name, told, content) for path in sorted(directory.iterdir())
            if path.suffix in DAMAGES and path.name not in UNREAD
            for told, content in DAMAGES[path.suffix](path.read_bytes())]


def damaged(directory: Path, copy: Path, file: str, content: bytes) -> Path:
    """A copy of a run with another content of one file, whose hashes are right nevertheless."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(directory, copy)
    (copy / file).write_bytes(content)
    if file == "model.npz":
        header = json.loads((copy / "model.json").read_bytes())
        header["arrays"].update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        (copy / "model.json").write_text(json.dumps(header), encoding="utf-8")
        rehashed(copy, "model.json")
    if file != "run.json":
        rehashed(copy, file)
    return copy


def edited(directory: Path, copy: Path, file: str, place: str, value: Any) -> Path:
    """A copy of a run with another value at a path of keys in a JSON file; None deletes it."""
    document = json.loads((directory / file).read_bytes())
    *above, last = place.split(".")
    node = document
    for key in above:
        node = node[int(key) if isinstance(node, list) else key]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return damaged(directory, copy, file, json.dumps(document).encode())


def rehashed(directory: Path, file: str) -> None:
    """Puts the size and hash of a file into run.json."""
    manifest = json.loads((directory / "run.json").read_bytes())
    content = (directory / file).read_bytes()
    manifest["files"][file] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (directory / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
