"""Models on disk: no pickle, and nothing that was changed is believed."""

import json
import sys
import zipfile
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcli.base.values.inputs import TwoViews
from mlcli.core.centering import Centering
from mlcli.data.prepare.prepare import no_preparation
from mlcli.errors import DependencyMissing, UnsafeFile
from mlcli.rundir import archive
from mlcli.rundir.model import Reduction
from mlcli.storage.fields import Unfit
from tests.support import features, fit
from tests.wording import Wording

POINTS = np.random.default_rng(0).standard_normal((30, 3))


def save(folder: Path) -> None:
    archive.save(folder, {"projector": fit("isomap", POINTS, neighbors=8).projector, "ids": ("a", "é", "", "x\ny")})


def test_text_comes_back_to_the_letter(tmp_path: Path) -> None:
    save(tmp_path)
    assert archive.load(tmp_path)["ids"] == ("a", "é", "", "x\ny")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=5), max_size=6).map(tuple))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: tuple[str, ...]) -> None:
    folder = tmp_path_factory.mktemp("archive")
    texts = tuple(text for text in texts if not any(0xD800 <= ord(c) <= 0xDFFF for c in text))
    archive.save(folder, {"texts": texts})
    assert archive.load(folder)["texts"] == texts


def test_every_damage_to_the_arrays_is_noticed(tmp_path: Path) -> None:
    archive.save(tmp_path, {"centering": Centering(np.arange(3.0), across=True)})
    path = tmp_path / "model.npz"
    stored = path.read_bytes()
    for size in range(0, len(stored), 7):
        path.write_bytes(stored[:size])
        with pytest.raises(UnsafeFile):
            archive.load(tmp_path)
    for place in range(0, len(stored), 11):
        damaged = bytearray(stored)
        damaged[place] ^= 1
        path.write_bytes(bytes(damaged))
        with pytest.raises(UnsafeFile):
            archive.load(tmp_path)


def test_every_truncated_header_is_noticed(tmp_path: Path) -> None:
    archive.save(tmp_path, {"centering": Centering(np.arange(3.0), across=True)})
    path = tmp_path / "model.json"
    stored = path.read_text()
    for size in range(0, len(stored.rstrip()), 5):
        path.write_text(stored[:size])
        with pytest.raises(UnsafeFile):
            archive.load(tmp_path)


@pytest.mark.parametrize("change", [
    {"format": 3}, {"format": None}, {"model": {"x": {"type": "os.system", "fields": {}}}},
    {"model": {"x": {"type": "centering", "fields": {"no": 1}}}}, {"model": {"x": {"array": "missing"}}},
    {"model": {"x": {"type": "gaussian", "options": {"rate": "__import__('os')"}}}}, {"arrays": {}}, {"model": []},
    {"model": {"x": {"type": "os:system", "fields": {}}}}, {"model": {"x": {"type": "antigravity:x", "fields": {}}}},
    {"packages": []}, {"packages": {"os": "1.0"}}])
def test_a_header_cannot_name_code_or_what_is_not_there(tmp_path: Path, change: dict) -> None:
    save(tmp_path)
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UnsafeFile):
        archive.load(tmp_path)


def test_a_header_names_a_package_that_is_missing_and_none_is_imported(tmp_path: Path) -> None:
    save(tmp_path)
    path = tmp_path / "model.json"
    needed = {"antigravity": {"package": "mlcli-absent", "version": "1.0"}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "packages": needed}))
    with pytest.raises(DependencyMissing, match=r" mlcli-absent 1\.0"):
        archive.load(tmp_path)
    assert "antigravity" not in sys.modules


def test_a_pickle_in_the_arrays_is_never_opened(tmp_path: Path, wording: Wording) -> None:
    canary = tmp_path / "canary"

    class Trap:
        def __reduce__(self) -> tuple:
            return canary.write_text, ("sprung",)

    archive.save(tmp_path, {"centering": Centering(np.arange(3.0), across=True)})
    path = tmp_path / "model.npz"
    np.savez(path, **{"centering.means": np.array([Trap()], dtype=object)})
    header = json.loads((tmp_path / "model.json").read_text())
    header["arrays"].update(bytes=path.stat().st_size, sha256=sha256(path.read_bytes()).hexdigest())
    (tmp_path / "model.json").write_text(json.dumps(header))
    with wording.raises(UnsafeFile, "MODEL"):
        archive.load(tmp_path)
    assert not canary.exists()


def test_a_header_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    save(tmp_path)
    (tmp_path / "model.json").write_text('{"format": 2, "pad": "' + "x" * 2**20 + '"}')
    with pytest.raises(UnsafeFile):
        archive.load(tmp_path)


def test_the_arrays_are_plain_npy_files(tmp_path: Path) -> None:
    save(tmp_path)
    with zipfile.ZipFile(tmp_path / "model.npz") as file:
        assert all(name.endswith(".npy") for name in file.namelist())


def test_nothing_in_the_package_imports_pickle() -> None:
    """But for blocks on their way between the processes of a cluster, which Dask pickles anyway; no file is read so."""
    package = Path(archive.__file__).parents[1]
    for path in {*package.rglob("*.py")} - {package / "engine" / "cluster" / "serialize.py"}:
        lines = path.read_text().splitlines()
        assert not any(line.strip().startswith(("import pickle", "from pickle", "import joblib", "import marshal"))
                       for line in lines), path


def test_a_decoder_to_another_view_fits_that_view_alone() -> None:
    first = features(POINTS)
    model = fit("autoencoder", TwoViews(first.values, first.ids, first.columns, features(POINTS[:, :2] ** 2)))
    (of_second,) = model.others
    for names, fits in ((("u", "v"), True), (("u", "v", "w"), False)):
        view = Reduction(no_preparation(names), of_second)
        with nullcontext() if fits else pytest.raises(Unfit, match="columns"):
            archive.require_views(model.projector, (view,), None)
    with pytest.raises(Unfit, match="a view"):
        archive.require_views(model.projector, (), None)
    with pytest.raises(Unfit, match="axes"):
        archive.require_views(fit("autoencoder", POINTS).projector, (view,), None)
