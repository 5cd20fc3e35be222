"""What `compute.cluster` may say."""

from pathlib import Path

import pytest

from mlcli.engine.cluster.address import Address, address_of, is_open
from mlcli.errors import ConfigError, conceal
from tests.wording import Wording


@pytest.mark.parametrize(("text", "address"), [
    ("local", Address(workers=0)), ("local:4", Address(workers=4)),
    ("tcp://node7:65535", Address(remote="tcp://node7:65535")),
    ("tls://node7:8786", Address(remote="tls://node7:8786")),
    ("tcp://[fe80::1]:8786", Address(remote="tcp://[fe80::1]:8786")),
    ("tls://dask-scheduler.my_project.svc:8786", Address(remote="tls://dask-scheduler.my_project.svc:8786")),
    ("file:a/scheduler.json", Address(file=Path("a/scheduler.json")))])
def test_addresses(text: str, address: Address) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(("scheduler", "expected"), [
    ("tcp://127.0.0.1:8786", False), ("tcp://localhost:8786", False), ("tcp://[::1]:8786", False),
    ("tls://node7:8786", False), ("inproc://10.0.0.1/1/1", False),
    ("tcp://node7:8786", True), ("tcp://127.0.0.1.example.org:8786", True), ("tcp://0.0.0.0:8786", True)])
def test_which_schedulers_others_can_reach(scheduler: str, expected: bool) -> None:
    assert is_open(scheduler) == expected


@pytest.mark.parametrize("text", ["", "local:", "local:0", "local:x", "node7:8786", "tcp://node7", "tcp://:8786",
                                  "file:", "http://node7:8786", "tcp://node7:8786/x", "4", "tcp://node7:0",
                                  "tcp://127.0.0.1:99999", "tcp://[::1", "tcp://[::1:8786", "tcp://[zz]:8786",
                                  "tcp://::1:8786", "tcp://[]:8786", "tcp://node 7:8786", "tcp://[127.0.0.1]:8786"])
def test_what_is_no_address(text: str, wording: Wording) -> None:
    with wording.raises(ConfigError, "CLUSTER"):
        address_of(text)


@pytest.mark.parametrize("text", ["tcp://user:SECRET@node7:8786", "tls://SECRET@node7:8786", "http://u:SECRET@h:1",
                                  "tcp://u:SEC/RETSECRET@h:1", "tcp://u:SECRET@[::1"])
def test_passwords_in_an_address_are_refused_and_not_repeated(text: str, wording: Wording) -> None:
    for where in ("--cluster", f"--set compute.cluster={text}"):
        with wording.raises(ConfigError, "CLUSTER-CREDENTIALS") as raised:
            address_of(text, where)
        assert "SECRET" not in str(raised.value) + str(raised.value.fields()), where
        assert "SECRET" not in repr(raised.value.changed(where=text).args)


def test_addresses_and_paths_without_passwords_are_shown_whole() -> None:
    for text in ("tcp://node7:8786", "s3://bucket/who@where.csv", "'tcp://[::1' is not a cluster", "a@b: c://d"):
        assert conceal(text) == text
