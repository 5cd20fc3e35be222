"""What texts are that were expected to be numbers: dates, or structures of molecules. Each has its own remedy."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mlcli.data.options.wording import listed
from mlcli.errors import option

LOOKED_AT = 50  # texts of a column
MOST = 0.9  # the share of them that must be of one kind
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4}))([T ]\d.*)?|"
                  r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
ATOMS = re.compile(r"(Br|Cl|[BCNOPSFI]|[bcnops]|\[[^\]\s]+\]|[()=#$:/\\.%~+-]|\d)+")  # of SMILES, with bonds and rings
DIGITS = tuple("0123456789")
BONDS = re.compile(r"[()=#\[1-9]")
FINGERPRINTS = ("compute fingerprints first, a column for each bit (in RDKit: rdFingerprintGenerator), and give "
                "{method.metric.name=jaccard}")


def remedy_of(columns: Mapping[str, Iterable[str]]) -> str:
    """Return what to do with columns of texts that are all dates, or some of which are molecules; else nothing."""
    texts = {name: [text.strip() for text in cells if text.strip()][:LOOKED_AT] for name, cells in columns.items()}
    if texts and all(map(are_dates, texts.values())):
        return of_dates([*texts])
    molecules = [name for name, cells in texts.items() if are_molecules(cells)]
    return f"{listed(molecules)} hold{'s' if len(molecules) == 1 else ''} SMILES: {FINGERPRINTS}" if molecules else ""


def of_dates(names: Sequence[str]) -> str:
    """Return what to do with columns of dates."""
    keep = f"{option('input.label_columns', ','.join(names))} keeps {'it' if len(names) == 1 else 'them'} as labels"
    ids = f", {option('input.id_column', names[0])} names the rows if no date recurs" if len(names) == 1 else ""
    return (f"{listed(names)} hold{'s' if len(names) == 1 else ''} dates: {keep}{ids}; to use dates as features, write "
            "numbers, as days since the first")


def are_dates(texts: Collection[str]) -> bool:
    """Whether texts are dates or times of the day, in digits."""
    return _most(texts, lambda text: DATE.fullmatch(text) is not None)


def are_molecules(texts: Collection[str]) -> bool:
    """Whether texts are SMILES, each perhaps with a name after a blank."""
    first = [text.split()[0] for text in texts]
    return _most(first, lambda text: ATOMS.fullmatch(text) is not None) and 2 * sum(
        text[:1] not in DIGITS and BONDS.search(text) is not None and len(text) > 2 for text in first) > len(first)


def _most(texts: Collection[str], fits: Callable[[str], bool]) -> bool:
    """Whether nearly all of some texts fit."""
    return bool(texts) and sum(map(fits, texts)) >= MOST * len(texts)
