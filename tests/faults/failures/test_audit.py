"""Nothing that is read is unpickled or run, no network is used, and nothing is written but where the user said.

Every command is run under an audit hook (`audited.py`), in the processes that it starts as well.
"""

import gzip
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.processes import neutral

SAMPLES = Path(__file__).parents[3] / "sample_data"
CELLS = Path(__file__).parents[2] / "tables" / "anndata" / "cells.h5ad.gz"
ISOMAP = ("-m", "isomap", "-k", "8")
MADE = (("embed", "us_arrests.csv", "-o", "run", "-q", "--set", "report.formats=[csv, parquet, npy]"),
        ("embed", "us_arrests.csv", *ISOMAP, "-o", "paths", "-q", "--draw-graph", "--keep", "graph,distances"),
        ("embed", "cells.h5ad", "-o", "cells", "-q"))
COMMANDS: dict[str, Sequence[str]] = {
    "csv": MADE[0], "graph": MADE[1],
    "npy": ("embed", "helix.npy", *ISOMAP, "-o", "out"),
    "parquet": ("embed", "s_curve.parquet", "--id-column", "id", "--set", "input.label_columns=[t, h]", "-o", "out"),
    "phylip": ("embed", "us_cities.phy", "--dissimilarities", "-m", "mds", "-o", "out"),
    "gaps": ("embed", "gaps.tsv", "--id-column", "point", "-m", "ppca", "-p", "1", "--set", "prepare.missing=model",
             "-o", "out"),
    "kernel": ("embed", "state_names_kernel.csv", "--set", "input.kind=kernel", "-m", "kpca", "-o", "out"),
    "hdf5": ("embed", "cells.h5ad", "-o", "out"), "export to hdf5": ("export", "run", "-o", "new.h5ad"),
    "export into a copy": ("export", "cells", "--into", "new.h5ad"),
    "network": ("embed", "us_arrests.csv", "-m", "autoencoder", "--set", "method.layers=[4]", "--set",
                "method.learning.epochs=2", "-o", "out"),
    "unfolding": ("embed", "us_arrests.csv", "-m", "sde", "-k", "6", "-o", "out"),
    "through": ("embed", "run", *ISOMAP, "-o", "out"),
    "cache": ("embed", "us_arrests.csv", *ISOMAP, "--set", "compute.cache=kept", "-o", "out"),
    "several": ("embed", "us_arrests.csv", "mixture.csv", "--jobs", "2", "-o", "out"),
    "refused": ("embed", "run/report.html", "-o", "out"),
    "run": ("run", "run/config.yaml", "-o", "out"), "project": ("project", "run", "us_arrests.csv", "-o", "new.csv"),
    "project onto paths": ("project", "paths", "us_arrests.csv", "-o", "new.csv"),
    "reconstruct": ("reconstruct", "run", "run/embedding.csv", "-o", "new.csv"),
    "verify": ("verify", "run", "--full"), "verify paths": ("verify", "paths", "--full"), "report": ("report", "run"),
    "export": ("export", "run", "-o", "run.txt"),
    "compare": ("compare", "run", "paths", "-o", "page.html"), "collect": ("collect", "run", "paths", "-o", "all"),
    "route": ("route", "paths", "Alabama", "Texas", "--picture", "way.svg"), "check": ("check", "us_arrests.csv"),
    "plan": ("plan", "us_arrests.csv"), "show a cache": ("cache", "--folder", "kept"), "methods": ("methods", "isomap"),
    "schema": ("schema",), "sample": ("sample", "swiss-roll", "-o", "drawn.csv"), "doctor": ("doctor",)}
REFUSED = ("refused",)


def audited(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """The exit code of a call in a folder, where alone it may write, and the events that it must not cause.

    Scratch files lie there, too: `tempfile` tries the folder that TMPDIR names, by a file. Without names beside points:
    Matplotlib, which places them, keeps a list of the machine's fonts.
    """
    script = Path(__file__).with_name("audited.py")
    settings = neutral(MLCLI__REPORT__POINT_LABELS="none", TMPDIR=str(folder))
    done = subprocess.run([sys.executable, "-P", "-B", script, folder, *arguments], cwd=folder, env=settings,
                          capture_output=True, text=True, check=False)
    events = [line for line in done.stderr.splitlines() if line.startswith("audit: ")]
    return done.returncode, events if done.returncode in (0, 65) else [*events, done.stderr]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the samples, and of the runs that commands use."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
    (folder / "cells.h5ad").write_bytes(gzip.decompress(CELLS.read_bytes()))
    for arguments in MADE:
        assert audited(folder, *arguments) == (0, [])
    return folder


@pytest.mark.medium
def test_a_run_and_its_use_cause_no_event(own_directory: Path) -> None:
    shutil.copytree(SAMPLES, own_directory, dirs_exist_ok=True)
    assert audited(own_directory, *MADE[0]) == (0, [])
    assert audited(own_directory, *COMMANDS["project"]) == (0, [])


def test_what_is_never_done_would_be_seen(own_directory: Path) -> None:
    _, events = audited(own_directory, "misbehave")
    for name in ("pickle.find_class", "exec", "os.system", "subprocess.Popen", "socket.connect", "open"):
        assert any(event.startswith(f"audit: {name}: ") for event in events), (name, events)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("csv", "graph")])
def test_no_command_causes_an_event(runs: Path, name: str) -> None:
    for made in ("out", "new.csv", "new.h5ad", "page.html", "all", "way.svg", "drawn.csv"):
        shutil.rmtree(runs / made, ignore_errors=True)
        (runs / made).unlink(missing_ok=True)
    assert audited(runs, *COMMANDS[name]) == (65 if name in REFUSED else 0, [])
