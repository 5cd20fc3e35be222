"""An embedding as AnnData in HDF5 (.h5ad): a new file of its results, or a copy of its input with them."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import Opened
from mlcli.data.formats.h5ad import INDEX
from mlcli.data.formats.hdf5_file import h5py, is_group, open_for_changes
from mlcli.data.options.wording import listed, place, shown
from mlcli.data.write.h5ad_elements import FILE, list_column, mark, write_element, write_frame, write_map
from mlcli.errors import DataError

Members = Mapping[str, Any]  # elements by their paths, as obsm/X_pca


@frozen
class Content:
    """The content of a new file."""

    ids: Sequence[str]  # n
    labels: Mapping[str, Sequence[str]]  # n texts each
    features: Sequence[str]  # d
    members: Members


def write_h5ad(content: Content, path: Path) -> None:
    """Write the file; the same content gives the same bytes. Raises DataError and DependencyMissing."""
    for name in content.labels:
        if "/" in name or name in (INDEX, "."):
            raise DataError("H5AD-NAME", f"HDF5 cannot hold the name {shown(name)}",
                            hint="rename the label column: names hold no slash")
    with path.open("w+b") as stream, h5py().File(stream, "w") as file:  # HDF5 locks files that it opens by path
        mark(file, FILE)
        write_frame(file, "obs", content.ids, content.labels)
        write_frame(file, "var", content.features, {})
        for name in ("obsm", "uns"):
            write_map(file, name)
        write_members(file, content.members, str(path))


def copy_h5ad(opened: Opened, members: Members, path: Path) -> None:
    """Write a copy of an open file in blocks, then members into it; what else is there stays, byte for byte.

    Raises DataError for a file that has no places for them, and UnsafeFile for places in other files.
    """
    with opened.stream() as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    with open_for_changes(path, opened.path) as file:
        if replaced := write_members(file, members, opened.path):
            every = listed(replaced, len(replaced))
            note("N-REPLACED", f"the copy has the run's {every} in place of the input's", members=replaced)


def write_members(root: Any, members: Members, path: str) -> list[str]:
    """Write elements at their paths, and return the paths of those that replaced others.

    Raises DataError where a group cannot hold them, and UnsafeFile where it is in another file.
    """
    replaced = []
    for member, element in members.items():
        name, _, inner = member.partition("/")
        group = _group_of(root, name, path)
        if inner in group:
            del group[inner]
            replaced.append(member)
        write_element(group, inner, element)
        list_column(group, inner)
    return replaced


def _group_of(root: Any, name: str, path: str) -> Any:
    """Return the group of a name, a new one where there is none."""
    if name not in root:
        return write_map(root, name)
    own = isinstance(root.get(name, getlink=True), h5py().HardLink)  # others lead elsewhere, even to other files
    if not own or not is_group(root[name]):
        raise DataError("H5AD", f"{name} is not a group of this file: it is not AnnData of version 0.7 or later",
                        where=place(path), hint="read it with a recent anndata, and write it again")
    return root[name]
