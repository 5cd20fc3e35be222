"""The first bytes that identify a file's content, whatever its name says."""

from mlcli.base.frozen import frozen


@frozen
class Signature:
    """What files begin with these bytes."""

    start: bytes
    name: str  # in messages
    format: str = ""  # as input.format has it, where such files are read
    tool: str = ""  # the program that decompresses to a pipe


SIGNATURES = (
    Signature(b"PAR1", "Parquet", format="parquet"), Signature(b"ARROW1", "Arrow", format="arrow"),
    Signature(b"\x93NUMPY", "NPY", format="npy"), Signature(b"PK\x03\x04", "a zip archive", format="npz"),
    Signature(b"\x1f\x8b", "gzip", tool="zcat"), Signature(b"\x28\xb5\x2f\xfd", "zstd", tool="zstdcat"),
    Signature(b"BZh", "bz2", tool="bzcat"),
)


def signature_of(start: bytes) -> Signature | None:
    """The signature that some first bytes bear."""
    return next((signature for signature in SIGNATURES if start.startswith(signature.start)), None)
