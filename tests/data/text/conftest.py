"""Each test of texts runs for both readers: short texts are read by record, longer ones by Arrow."""

from collections.abc import Iterator

import pytest

from mlcli.data.text import delimited


@pytest.fixture(scope="module", autouse=True, params=[delimited.CELLS, 0], ids=["record", "arrow"])
def reader(request: pytest.FixtureRequest) -> Iterator[None]:
    """The most cells of a text that is read by record: all of these tests, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "CELLS", request.param)
        yield
