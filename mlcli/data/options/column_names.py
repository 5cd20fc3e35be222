"""Names of columns that say that a column holds ids."""

import re
from collections import Counter
from collections.abc import Sequence

NAMES = frozenset({"id", "subject", "participant", "respondent", "patient", "sample", "case", "record", "row"})
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters: `PatientID` and `patient_id` have the same two, `acid` has one."""
    return tuple(word.lower() for word in WORD.findall(name))


def columns_named_as_ids(columns: Sequence[str], words: frozenset[str] = NAMES) -> tuple[int, ...]:
    """Return the columns with one of these words in their name, apart from series such as sample_1, sample_2.

    A series is the points or variables of a table, each with its number; a table has at most one column of
    ids.
    """
    anywhere = re.compile("|".join(words), re.IGNORECASE)  # quick, for tables of a million columns
    if not any(map(anywhere.search, columns)):
        return ()
    every = [words_of(name) for name in columns]
    stems = [tuple(word for word in parts if not word.isdigit()) for parts in every]
    count = Counter(stems)
    return tuple(column for column, (parts, stem) in enumerate(zip(every, stems, strict=True))
                 if not words.isdisjoint(parts) and (len(parts) == len(stem) or count[stem] == 1))
