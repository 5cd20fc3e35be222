"""The format of a file: chosen, by its name, or by its first bytes."""

from pathlib import Path, PurePath
from shlex import quote
from typing import Any

from mlcli.data.files.signatures import GENOTYPES, SIGNATURES, START, YAML, signature_of
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import COMPRESSED, compression, other_content
from mlcli.data.options.formats import AUTO, BY_ENDING, FORMATS, OWN, Format
from mlcli.data.options.input import AllTexts, Input
from mlcli.data.options.wording import place
from mlcli.errors import ConfigError, DataError

BESIDE_GENOTYPES = {".bim": "the names of variants", ".fam": "the names of samples", ".ped": "genotypes in letters"}
ENDINGS = {*BY_ENDING, *COMPRESSED, ".txt", ".dist", ".lsmat"}  # suffixes of data files


def format_of(opened: Opened, input: Input) -> Format:
    """Return the format to read; raises ConfigError for combinations that do not exist, DataError for other content."""
    if input.format == AUTO and not isinstance(input, AllTexts):
        _refuse_names_of_genotypes(opened)
    format = FORMATS[input.format if input.format != AUTO else _guessed(opened)]
    if format.folder:
        _refuse(f"{format.name} are read from a folder", "input.path", "give the folder that holds them")
    if not format.text and input.path == "-":
        _refuse(f"{format.name} cannot be read from standard input", "input.format", "write it to a file first")
    if not (format.text or format.packed) and compression(input.path):
        _refuse(f"{format.name} is not read from a compressed file", "input.path", "decompress it first")
    if format.pairs and not input.square:
        raise ConfigError("FORMAT", f"a {format.title} file holds dissimilarities", where="input.kind",
                          kind="dissimilarities", hint="give {input.kind=dissimilarities}")
    if not (format.text or format.packed):
        _require_content(opened, format)
    if input.key is not None and not format.key:
        _refuse(f"key cannot be used with format {format.name}", "input.key", "leave it out")
    return format


def file_name(path: Any) -> str:
    """Return an input's name without its endings; `stdin` for standard input."""
    if path == "-":
        return "stdin"
    name = Path(str(path)).name
    while Path(name).suffix.lower() in ENDINGS:
        name = Path(name).stem
    return name or "data"


def _guessed(opened: Opened) -> str:
    """Return the format by the name, without the suffix of a compression, else by the first bytes, else CSV."""
    if opened.path == "-":
        return "csv"
    ending = ending_of(opened.path)
    known = FORMATS.with_ending(ending) if ending in BY_ENDING or ending not in (*ENDINGS, *YAML) else None
    if known is not None:
        return known.name
    if ending in YAML:
        raise DataError("NOT-READ", "a YAML file describes runs and holds no data", where=place(opened.path),
                        hint=f"to make the run that it describes: mlcli run {quote(opened.path)}")
    signature = signature_of(_start(opened))
    return signature.format if signature is not None and signature.format else "csv"


def _refuse_names_of_genotypes(opened: Opened) -> None:
    """Raise DataError for the files of PLINK that name variants or samples, and for genotypes in letters."""
    ending, name = ending_of(opened.path), PurePath(opened.path).name
    what = BESIDE_GENOTYPES.get(ending)
    if what is not None and opened.path != "-":
        source = f"--{'file' if ending == '.ped' else 'bfile'} {quote(name[: name.lower().rindex(ending)])}"
        raise DataError("NOT-READ", f"a file of PLINK that holds {what}", where=place(opened.path),
                        hint=f"give genotypes as numbers: plink {source} --recode A makes plink.raw{GENOTYPES}; or say "
                        "what it is: {input.format=csv}")


def ending_of(path: str) -> str:
    """Return the ending of a name in small letters, without the suffix of a compression; empty where it has none."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def may_be(path: str, format: str) -> bool:
    """Whether a path may name a file of a binary format: its name has that format's ending, or none that is known."""
    known = BY_ENDING.get(ending_of(path))
    return path != "-" and (known is None or known.name == format)


def _start(opened: Opened) -> bytes:
    """Return the first bytes of a file."""
    with opened.once_through() as stream:
        return stream.read(START)


def _require_content(opened: Opened, format: Format) -> None:
    """Raise DataError if the first bytes are plainly those of another format."""
    start = _start(opened)
    known = signature_of(start)
    if known is None or (format.name not in OWN and start.startswith(format.starts)):
        return
    fitting = {other.format for other in SIGNATURES if other.fits(start)} if known.format else {""}
    if format.name not in fitting:
        raise other_content(known, opened.path, format.title)


def _refuse(what: str, where: str, hint: str) -> None:
    """Raise the error of a format that does not fit the options."""
    raise ConfigError("FORMAT", what, where=where, hint=hint)
