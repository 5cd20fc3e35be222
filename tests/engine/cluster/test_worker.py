"""Tables on an object store are read by the workers themselves, who must have its variables, or say so."""

import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

pytest.importorskip("distributed", reason="needs mlcli[dask]")

from mlcli.engine.cluster.worker import reading_here
from mlcli.errors import DependencyMissing, InputMissing, MlcliError, StorageError
from tests.engine.loopback import Loopback
from tests.object_store import serving, variables, with_bucket
from tests.processes import call
from tests.wording import Wording

TABLE = "s3://bucket/t.parquet"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Where a store answers that has a table of ten row groups."""
    values = np.random.default_rng(0).standard_normal((2000, 6)) * np.arange(1, 7)
    with serving() as found:
        with with_bucket(found).open_output_stream(TABLE.partition("://")[2]) as out:
            parquet.write_table(pa.table({f"x{place}": column for place, column in enumerate(values.T)}), out,
                                row_group_size=200)
        yield found


def embedded(output: Path, endpoint: str, *options: object) -> str:
    """What a run of the table says of errors; empty where it ends well."""
    done = call("embed", TABLE, "--scale", "standard", "--set", "input.stream=always", "-o", output, "-q", *options,
                **variables(endpoint))
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workers_read_it_themselves(endpoint: str, tmp_path: Path) -> None:
    assert not embedded(tmp_path / "here", endpoint)
    with Loopback(tmp_path, **variables(endpoint)) as loopback:
        loopback.worker()
        loopback.worker()
        assert not embedded(tmp_path / "there", endpoint, "--cluster", loopback.cluster)
    for name in ("embedding.csv", "spectrum.csv", "certificate.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    counted = json.loads((tmp_path / "there" / "run.json").read_text())["cluster"]
    assert counted["blocks"] == 20 and counted["bytes to the cluster"] < 1e5  # two passes, and no table


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lacking", [{"AWS_ENDPOINT_URL": NOWHERE}, {"AWS_ENDPOINT_URL": ""}],
                         ids=["another endpoint", "no endpoint"])
def test_a_worker_without_the_variables_of_the_store(lacking: Mapping[str, str], endpoint: str, tmp_path: Path) -> None:
    with Loopback(tmp_path, **{**variables(endpoint), **lacking}) as loopback:
        loopback.worker()
        said = embedded(tmp_path / "there", endpoint, "--cluster", loopback.cluster)
    assert "E-CLUSTER-INPUT" in said and "the store's variables" in said and not (tmp_path / "there").exists()


@pytest.mark.parametrize(("error", "code"), [
    (DependencyMissing("REMOTE", "the store cannot be used", where=TABLE), "E-CLUSTER-INPUT"),
    (InputMissing("REMOTE-DENIED", "the store denies access", where=TABLE), "E-CLUSTER-INPUT"),
    (StorageError("READ", "reading failed", where="t.npy"), "E-CLUSTER-INPUT"),
    (DependencyMissing("EXTRA", "it needs h5py"), "E-EXTRA"),
    (StorageError("CLUSTER-FOLDER", "a worker cannot read what was written for it", where="t"), "E-CLUSTER-FOLDER")],
                         ids=lambda part: part if isinstance(part, str) else part.code)
def test_what_a_worker_fails_to_read_is_told_with_its_own_remedy(error: MlcliError, code: str,
                                                                 wording: Wording) -> None:
    with pytest.raises(type(error)) as raised, reading_here():
        raise error
    assert (raised.value.code, raised.value.exit_code) == (code, error.exit_code)
    assert wording(str(raised.value).replace(platform.node(), "NODE")) == []
    assert (platform.node() in str(raised.value)) == (code != "E-CLUSTER-FOLDER")
