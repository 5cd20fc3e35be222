"""Generated data as a command writes it."""

from pathlib import Path

import pytest

from tests.journeys.support import Caller
from tests.wording import Wording


def test_cells_are_written_as_anndata_and_points_are_not(mlcli: Caller, wording: Wording) -> None:
    pytest.importorskip("h5py")
    assert mlcli("sample", "cells", "--rows", "20", "--columns", "5", "--truth", "-o", "cells.h5ad").code == 0
    checked = mlcli("check", "cells.h5ad", "--key", "layers/counts")
    assert checked.code == 0 and "20 rows x 5 columns" in checked.out and "label 'batch'" in checked.out
    refused = mlcli("sample", "torus", "-o", "torus.h5ad")
    assert refused.code == 2 and "E-FORMAT" in wording(refused.err)
    assert not Path("torus.h5ad").exists()


@pytest.mark.parametrize("options", [("torus", "--rows"), ("ball", "--columns"), ("cells", "--rows")])
def test_a_sample_that_no_memory_holds_is_refused(mlcli: Caller, options: tuple[str, ...]) -> None:
    called = mlcli("sample", *options, "9" * 20, "-o", "out.csv")
    assert called.code == 82 and "error[E-MEMORY]" in called.err and not Path("out.csv").exists()
