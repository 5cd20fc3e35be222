"""The model in a run directory: the reading of new rows, and the steps that place them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mlcli.base.frozen import frozen
from mlcli.core.similarities.projector import NoProjection, Projector
from mlcli.data.prepare.categories import Categories
from mlcli.data.prepare.prepare import Preparation
from mlcli.rundir import archive, names
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.reduction import Reduction

if TYPE_CHECKING:
    from mlcli.core.model import JointViews
    from mlcli.data.table.coding import Coding


@frozen
class StoredModel:
    """The model of a run, with those of the runs that its input went through."""

    kind: str  # of the first input, as are the next four but `id_name`
    id_name: str  # as the run wrote it
    trained: Sequence[str]  # ids of the training points, where that input is a square matrix
    transpose: bool  # whether the columns of the file are the points
    categories: Categories  # texts that numbers of a column stand for
    reductions: tuple[Reduction, ...]  # ahead of the method, the first one first
    preparation: Preparation
    projector: Projector | NoProjection
    views: tuple[Reduction, ...] = ()  # of rows of the second view and further ones
    coding: "Coding | None" = None  # of answers, in words or reverse-keyed
    joint: "JointViews | None" = None  # how coordinates given several views follow
    invented: bool = False  # whether the ids of its rows are their numbers, which no file gave

    def of_view(self, number: int) -> "StoredModel":
        """Return the model that places rows of one view alone; the first has number 1."""
        if number == 1:
            return self
        view = self.views[number - 2]
        return replace(self, reductions=(), preparation=view.preparation, projector=view.projector, views=(),
                       joint=None)

    @property
    def drops(self) -> bool:
        """Whether new rows with gaps are dropped."""
        return self.steps[0].preparation.missing == "drop"

    @property
    def steps(self) -> tuple[Reduction, ...]:
        """The whole way from the first input to coordinates."""
        return (*self.reductions, Reduction(self.preparation, self.projector))


def read_model(folder: Path, manifest: Mapping[str, Any] | None = None) -> StoredModel:
    """Loads a run's model; raises InputMissing where there is none and UnsafeFile where it was changed.

    `manifest` is the content of run.json, where it was read already.
    """
    require_intact(folder, manifest or read_manifest(folder), (names.MODEL, names.ARRAYS))
    return _loaded(folder)


def _loaded(folder: Path) -> StoredModel:
    stored = archive.load(folder, whole=True)
    return StoredModel(**{part.name: stored[part.name] for part in fields(StoredModel)})


def model_to_bytes(model: StoredModel) -> tuple[bytes, ...]:
    """Return the contents of model.json and model.npz, as a run writes them."""
    with TemporaryDirectory() as folder:
        archive.save(Path(folder), {**vars(model), "unfolded": None})  # which only the certificate of a run reads
        return tuple((Path(folder) / name).read_bytes() for name in (names.MODEL, names.ARRAYS))


def model_from_bytes(files: Sequence[bytes]) -> StoredModel:
    """Return the model of the contents of model.json and model.npz; raises UnsafeFile where they were changed."""
    with TemporaryDirectory() as folder:
        for name, content in zip((names.MODEL, names.ARRAYS), files, strict=True):
            (Path(folder) / name).write_bytes(content)
        return _loaded(Path(folder))
