"""What a run keeps: taken by the same computation only, worth its cost, and with the same bytes in the end."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.context import set_context
from mlcli.base.rows.memo import Memo, memoize, open_memo
from mlcli.base.stages.checkpoints import keeping, loop
from mlcli.base.stages.stage import Note, listening, note, stage
from mlcli.cli.screen.failure import stop_error
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels import streamed, tiles
from mlcli.core.kernels.streamed import PassPart, Streamed
from mlcli.core.krylov import KrylovCheckpoint
from mlcli.core.paths import geodesics
from mlcli.data.samples import sample
from mlcli.engine import resume
from mlcli.engine.cache import Folder
from mlcli.engine.resume import Resuming
from mlcli.errors import MlcliError, NumericalError, StorageError
from mlcli.methods.method import admit
from mlcli.pipeline import run as pipeline
from mlcli.process import signals
from mlcli.process.shared_status import STATUS
from mlcli.process.signals import Stopped
from mlcli.publication.output_lock import output_lock
from mlcli.rundir.output import lock_run
from tests.faults.certificate.support import BARE, configured
from tests.wording import Wording

ROLL = sample("swiss-roll", 120, 0).values
POINTS = np.random.default_rng(0).standard_normal((60, 6)) @ np.random.default_rng(1).standard_normal((6, 6)) + 0.5
RUNS: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "isomap": ({"name": "isomap", "neighbors": {"count": 9}, "paths": {"store": "streamed"},
                "eigensolve": {"solver": "krylov"}}, ROLL),
    "lle": ({"name": "lle", "neighbors": {"count": 9}, "eigensolve": {"solver": "krylov"}}, ROLL),
    "fa": ({"name": "fa"}, POINTS),
    "ppca": ({"name": "ppca", "solver": "em"}, POINTS),
    "ica": ({"name": "ica"}, POINTS),
    "lgssm": ({"name": "lgssm", "iterate": {"limit": 12}}, POINTS),
    "gplvm": ({"name": "gplvm", "minimize": {"limit": 8}}, POINTS[:25]),
    "umap": ({"name": "umap", "neighbors": {"count": 9}, "epochs": 20, "density": {"share": 0.5}}, ROLL),
    "sde": ({"name": "sde", "neighbors": {"count": 4}, "tolerance": 1e-6}, ROLL[:40]),
    "autoencoder": ({"name": "autoencoder", "layers": [4], "learning": {"epochs": 4}}, POINTS),
}
EVERY = {"isomap": 2, "lle": 2, "fa": 16}  # how many things are kept before a death


class Killed(BaseException):
    """What ends a run as a kill does: nothing heeds it."""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is worth keeping."""
    monkeypatch.setattr(resume, "EVERY", 0.0)
    monkeypatch.setattr(resume, "SPEED", 1e18)
    monkeypatch.setattr(resume, "SHARE", 1e9)


def computed(folder: Path) -> dict[str, bytes]:
    """The files of a run that hold no times."""
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()
            if path.name not in ("run.json", "report.html")}


def run(folder: Path, name: str) -> dict[str, Any]:
    """What a run says of itself."""
    pipeline.run(configured(folder, *RUNS[name], report={"outputs": [*BARE, "dimension", "report"]}), force=True)
    said: dict[str, Any] = json.loads((folder / "out/run.json").read_text())
    return said


def dies_after(monkeypatch: pytest.MonkeyPatch, every: int) -> list[int]:
    """Has every so many-th thing that is kept end the process; returns the numbers of all that were kept."""
    keep, count = Resuming.keep, list[int]()

    def counted(self: Resuming, *arguments: Any) -> bool:
        kept = keep(self, *arguments)
        if kept:
            count.append(len(count))
            if len(count) % every == 0:
                raise Killed
        return kept

    monkeypatch.setattr(Resuming, "keep", counted)
    return count


@pytest.mark.medium
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", ["isomap", "fa", *(pytest.param(name, marks=pytest.mark.slow)
                                                   for name in RUNS if name not in ("isomap", "fa"))])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, name)
    whole = computed(tmp_path)
    kept, deaths, said = dies_after(monkeypatch, EVERY.get(name, 4)), 0, {}
    while not said:
        try:
            said = run(tmp_path, name)
        except Killed:
            deaths += 1
    assert deaths >= 1 and len(kept) >= EVERY.get(name, 4) * deaths
    assert computed(tmp_path) == whole and said["resumed"]
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == set()


PASSES: dict[str, dict[str, Any]] = {  # whose kernel is computed again in every pass
    "elimination": RUNS["isomap"][0],
    "dijkstra": {"name": "isomap", "neighbors": {"count": 9}, "paths": {"store": "streamed", "algorithm": "dijkstra"},
                 "eigensolve": {"solver": "krylov"}},
    "tiles": {"name": "kpca", "kernel": {"name": "gaussian", "rate": 0.05}, "eigensolve": {"solver": "krylov"}},
}


@pytest.mark.medium
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", PASSES)
def test_passes_over_a_kernel_that_is_never_stored_go_on_after_any_of_them(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "STORED", 1)
    monkeypatch.setitem(RUNS, name, (PASSES[name], ROLL))
    run(tmp_path, name)
    whole, keep, passes = computed(tmp_path), Resuming.keep, Streamed._run_pass
    made, deaths, said = list[int](), 0, {}

    def dies(self: Resuming, scope: Any, kind: str, *rest: Any) -> bool:
        if keep(self, scope, kind, *rest) and (scope.name, kind) == ("eigensolve", "at"):
            raise Killed
        return True

    def counted(self: Streamed, *arguments: Any) -> Any:
        made[-1] += 1
        return passes(self, *arguments)

    monkeypatch.setattr(Resuming, "keep", dies)
    monkeypatch.setattr(Streamed, "_run_pass", counted)
    while not said:
        made.append(0)
        try:
            said = run(tmp_path, name)
        except Killed:
            deaths += 1
    assert deaths >= 2 and "eigensolve" in said["resumed"]
    assert set(made[:deaths]) == {1}  # no pass was made twice
    assert computed(tmp_path) == whole


BLOCKS = {"dijkstra": (geodesics, "SOURCES"), "tiles": (tiles, "TILE")}  # how large the blocks of a pass are


@pytest.mark.medium
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", BLOCKS)
def test_a_pass_goes_on_after_any_of_its_blocks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after every third block: what the blocks before have added is there, and is not computed again."""
    monkeypatch.setattr(streamed, "STORED", 1)
    monkeypatch.setattr(*BLOCKS[name], 16)
    monkeypatch.setitem(RUNS, name, (PASSES[name], ROLL))
    run(tmp_path, name)
    whole, keep, add = computed(tmp_path), Resuming.keep, PassPart.add
    count, folds, deaths, said = list[int](), list[int](), 0, {}

    def dies(self: Resuming, scope: Any, kind: str, *rest: Any) -> bool:
        if keep(self, scope, kind, *rest) and kind == resume.STEP:
            count.append(1)
            if len(count) % 3 == 0:
                raise Killed
        return True

    def counted(self: PassPart, *arguments: Any, **options: Any) -> PassPart:
        folds.append(self.blocks)
        return add(self, *arguments, **options)

    with monkeypatch.context() as undisturbed:
        undisturbed.setattr(PassPart, "add", counted)
        run(tmp_path, name)
    needed = folds[:]
    folds.clear()
    monkeypatch.setattr(Resuming, "keep", dies)
    monkeypatch.setattr(PassPart, "add", counted)
    while not said:
        try:
            said = run(tmp_path, name)
        except Killed:
            deaths += 1
    assert deaths >= 4 and max(needed) >= 2
    assert len(folds) - len(needed) <= 1  # the last pass, whose end is not kept by itself
    assert computed(tmp_path) == whole


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("other", ["input", "option", "seed"])
def test_what_another_run_kept_is_not_taken(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, points = RUNS["fa"]
    changed = {"input": (method, points + 1e-9, {}), "option": ({**method, "axes": {"components": 1}}, points, {}),
               "seed": (method, points, {"compute": {"seed": 3}})}[other]
    pipeline.run(configured(tmp_path, changed[0], changed[1], **changed[2]), force=True)
    whole = computed(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        dies_after(patched, 4)
        run(tmp_path, "fa")
    pipeline.run(configured(tmp_path, changed[0], changed[1], **changed[2]), force=True)
    assert computed(tmp_path) == whole
    assert "resumed" not in json.loads((tmp_path / "out/run.json").read_text())


def checkpoint(size: int = 3) -> KrylovCheckpoint:
    """A checkpoint of a loop."""
    return KrylovCheckpoint.before(np.eye(size)[:, :1])


@stage("eigensolve", version=1)
def solved(values: np.ndarray) -> Spectrum:
    """A stage with a note."""
    note("N-SOLVED", "solved")
    return Spectrum(values, np.ones(len(values)), np.ones(len(values)), 1.0, True)


def resuming(folder: Path, **options: Any) -> Resuming:
    found = Resuming(Folder(folder), lambda: {"kernels": "v3"}, **{"room": 1e9, **options})
    with found.fitting(lambda: "run"):
        return found


def offered(keeper: Resuming, value: Any, times: int = 1) -> Any:
    """What was left for a loop that then offers a value."""
    with keeping(keeper), loop(KrylovCheckpoint) as place:
        for _ in range(times):
            place.offer(lambda: value)
        return place.left


@pytest.mark.usefixtures("eager")
def test_loops_are_known_by_their_number_and_by_what_they_follow_from(tmp_path: Path) -> None:
    first, second = checkpoint(3), checkpoint(4)
    before = resuming(tmp_path)
    assert offered(before, first) is None and offered(before, second) is None
    after = resuming(tmp_path)
    assert [offered(after, first).block.shape, offered(after, first).block.shape] == [(3, 1), (4, 1)]
    other = resuming(tmp_path)
    with other.fitting(lambda: "another run"):
        assert offered(other, first) is None
    assert offered(Resuming(Folder(tmp_path), lambda: {}, 1e9), first) is None  # of which nothing is known yet


@pytest.mark.parametrize(("every", "speed", "room", "kept"), [
    (0.0, 1e18, 1e9, True), (3600.0, 1e18, 1e9, False), (0.0, 1e-9, 1e9, False), (0.0, 1e18, 1.0, False)],
    ids=["worth it", "too little time", "too slow a disk", "too large"])
def test_what_is_not_worth_it_is_not_kept(every: float, speed: float, room: float, kept: bool, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "EVERY", every)
    monkeypatch.setattr(resume, "SPEED", speed)
    offered(resuming(tmp_path, room=room), checkpoint(100))
    assert bool(list(tmp_path.iterdir())) == kept


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("share", "kept"), [(0.3, True), (0.2, False)])
def test_a_checkpoint_may_be_larger_than_a_result(share: float, kept: bool, tmp_path: Path) -> None:
    size = resume.size_of(checkpoint(100))
    offered(resuming(tmp_path, room=share * size), checkpoint(100))
    assert bool(list(tmp_path.iterdir())) == kept


@pytest.mark.usefixtures("eager")
def test_the_result_of_a_stage_is_taken_with_its_notes(tmp_path: Path) -> None:
    notes: list[list[Note]] = []

    class Heard(Resuming):
        def note(self, note: Note) -> None:
            super().note(note)
            notes[-1].append(note)

    for taken in ([], ["eigensolve"]):
        notes.append([])
        keeper = Heard(Folder(tmp_path), lambda: 1, 1e9)
        with listening(keeper):
            assert solved(np.arange(3.0)).eigenvalues.tolist() == [0.0, 1.0, 2.0]
        assert keeper.taken == taken and [note.code for note in notes[-1]] == ["N-SOLVED"]
    with listening(keeper := resuming(tmp_path)):
        solved(np.arange(4.0))
    assert keeper.taken == []


def test_a_stop_waits_for_a_checkpoint_which_is_kept_whatever_it_costs(tmp_path: Path) -> None:
    keeper = resuming(tmp_path)
    with pytest.raises(Stopped) as stopped, keeper.fitting(lambda: "run"):
        signals._stop(signals.TIME_UP, None)
        offered(keeper, checkpoint(), times=2)
    assert stopped.value.number == signals.TIME_UP and not signals.pending()
    assert offered(resuming(tmp_path), checkpoint()) is not None
    with pytest.raises(Stopped):  # outside of a run nothing is waited for
        signals._stop(signals.TIME_UP, None)


@stage("eigensolve", version=1)
def interrupted(values: np.ndarray) -> Spectrum:
    """A stage during which SIGUSR1 comes."""
    signals._stop(signal.SIGUSR1, None)
    assert signals.pending()
    return Spectrum(values, np.ones(len(values)), np.ones(len(values)), 1.0, True)


@pytest.mark.usefixtures("eager")
def test_sigusr1_waits_for_a_checkpoint_only_where_one_comes(tmp_path: Path) -> None:
    """For the end of a stage that is kept, or for the next step of a loop; else the fit ends at once."""
    keeper = resuming(tmp_path)
    with pytest.raises(Stopped), keeper.fitting(lambda: "run"):
        signals._stop(signal.SIGUSR1, None)
    with pytest.raises(Stopped), listening(keeper), keeper.fitting(lambda: "run"):
        interrupted(np.arange(3.0))
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["eigensolve"]
    assert not STATUS.read().get("offers")
    with pytest.raises(Stopped), keeper.fitting(lambda: "run"), keeping(keeper), loop(KrylovCheckpoint) as place:
        assert STATUS.read()["offers"]
        signals._stop(signal.SIGUSR1, None)
        assert place.wanted
        place.offer(checkpoint)
    assert not STATUS.read()["offers"] and len([*tmp_path.iterdir()]) == 2
    with pytest.raises(Stopped), keeper.fitting(lambda: "run"), keeping(keeper):
        with loop(KrylovCheckpoint):
            signals._stop(signal.SIGUSR1, None)
        raise AssertionError("a loop that has ended offers nothing")
    assert not signals.pending()


@pytest.mark.parametrize(("number", "kept", "code"), [(255, True, 75), (255, False, 124), (10, True, 75),
                                                      (10, False, 124), (15, True, 143)])
def test_how_a_stop_ends(number: int, kept: bool, code: int, wording: Wording) -> None:
    error = stop_error(number, kept=kept)
    assert error.exit_code == code and wording(error) == [error.code]


@pytest.mark.parametrize(("error", "stays"), [(StorageError("FULL", "full"), True), (Killed(), True),
                                              (NumericalError("FAILED", "failed"), False), (None, False)])
def test_what_is_kept_stays_only_where_it_can_be_of_use(error: BaseException | None, stays: bool,
                                                        tmp_path: Path) -> None:
    try:
        with lock_run(tmp_path / "out", force=False) as lock:
            (lock.path / "kept").touch()
            if error is not None:
                raise error
    except (MlcliError, Killed) as raised:
        assert raised is error
    assert bool(list(tmp_path.iterdir())) == stays
    with output_lock(tmp_path / "out") as lock:
        assert (lock.path / "kept").exists() == stays


@pytest.mark.parametrize("early", [True, False])
def test_a_stop_is_at_once_where_the_work_waits_for_memory(early: bool, tmp_path: Path) -> None:
    """There is no checkpoint to come to, whether the stop comes before the wait or in it."""
    def wait(needed: float, limit: float) -> None:
        assert not early
        signals._stop(signals.TIME_UP, None)

    with pytest.raises(Stopped), resuming(tmp_path).fitting(lambda: "run"), set_context(gate=wait):
        if early:
            signals._stop(signals.TIME_UP, None)
            assert signals.pending()
        admit(1.0, lambda: 2.0)
    assert not signals.pending()


@pytest.mark.usefixtures("eager")
def test_a_value_of_the_memo_changes_no_number_of_the_loops_after_it(tmp_path: Path) -> None:
    """A run that another one of its process had left a value for goes on in a process without it."""
    first, second = checkpoint(3), checkpoint(4)
    memo = Memo(shared=True)

    def run(keeper: Resuming, memo: Memo) -> list[Any]:
        left = list[Any]()
        with open_memo(memo), keeping(keeper):
            memoize("value", (1,), lambda: left.append(offered(keeper, first)))
            left.append(offered(keeper, second))
        return left

    run(resuming(tmp_path / "before"), memo)
    assert run(resuming(tmp_path), memo) == [None]
    left = run(resuming(tmp_path), Memo())
    assert left[0] is None and left[1].block.shape == (4, 1)
