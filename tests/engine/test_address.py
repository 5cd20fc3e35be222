"""What `compute.cluster` may say."""

from pathlib import Path

import pytest

from mlcli.engine.address import Address, address_of
from mlcli.errors import ConfigError


@pytest.mark.parametrize(("text", "address", "is_open"), [
    ("local", Address(workers=0), False),
    ("local:4", Address(workers=4), False),
    ("tcp://127.0.0.1:8786", Address(remote="tcp://127.0.0.1:8786"), False),
    ("tcp://localhost:8786", Address(remote="tcp://localhost:8786"), False),
    ("tcp://node7:8786", Address(remote="tcp://node7:8786"), True),
    ("tls://node7:8786", Address(remote="tls://node7:8786"), False),
    ("file:a/scheduler.json", Address(file=Path("a/scheduler.json")), False)])
def test_addresses(text: str, address: Address, is_open: bool) -> None:
    assert address_of(text) == address and address.open == is_open


@pytest.mark.parametrize("text", ["", "local:", "local:0", "local:x", "node7:8786", "tcp://node7", "tcp://:8786",
                                  "file:", "http://node7:8786", "tcp://node7:8786/x", "4"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a cluster"):
        address_of(text)
