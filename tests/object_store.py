"""An object store on this machine: moto's server, and what leads to it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from pyarrow import fs

REGION, KEY, SECRET = "us-east-1", "key", "secret"


@contextmanager
def serving() -> Iterator[str]:
    """Where a store answers, for the length of a `with` block; without moto the test is skipped."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        running.stop()


def variables(endpoint: str) -> Mapping[str, str]:
    """The environment that leads to a store, with credentials."""
    return {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}


def with_bucket(endpoint: str) -> fs.FileSystem:
    """A file system of the store, with one bucket."""
    system = fs.S3FileSystem(endpoint_override=endpoint.partition("://")[2], scheme="http", region=REGION,
                             access_key=KEY, secret_key=SECRET, allow_bucket_creation=True)
    system.create_dir("bucket")
    return system
