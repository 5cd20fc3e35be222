"""What texts are that were expected to be numbers: answers on a usual scale of questionnaires, dates, or molecules."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed
from mlcli.errors import DataError, option

LOOKED_AT = 50  # texts of a column
MOST = 0.9  # the share of them that must be of one kind
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4}))([T ]\d.*)?|"
                  r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
ATOMS = re.compile(r"(Br|Cl|[BCNOPSFI]|[bcnops]|\[[^\]\s]+\]|[()=#$:/\\.%~+-]|\d)+")  # of SMILES, with bonds and rings
DIGITS = tuple("0123456789")
# a multiple bond, a branch, an atom in brackets or a ring that closes, which ids of letters and digits do not hold
BONDS = re.compile(r"[A-Za-z\d\])][=#][A-Za-z(\[]|\([=#/\\]?[A-Za-z\[]|\[\d*[A-Za-z][^\]]*\]|([1-9])[A-Za-z]{2,}\1")
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


FEWEST = 3  # columns of answers that make a questionnaire
# each scale in ascending order; a step is one wording or several, separated by bars, the usual one first
SCALES: Sequence[Sequence[str]] = (
    ("never", "rarely|seldom|hardly ever", "sometimes|occasionally", "often|frequently|usually"),
    ("never", "rarely|seldom|hardly ever|almost never", "sometimes|occasionally", "often|frequently|usually",
     "always|very often|almost always"),
    ("strongly disagree", "disagree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neutral|neither agree nor disagree|undecided|neither|not sure", "agree",
     "strongly agree"),
    ("strongly disagree", "disagree", "somewhat disagree|slightly disagree|disagree somewhat|disagree slightly",
     "somewhat agree|slightly agree|agree somewhat|agree slightly", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "somewhat disagree|slightly disagree|disagree somewhat|disagree slightly",
     "neutral|neither agree nor disagree|undecided|neither", "somewhat agree|slightly agree|agree somewhat|"
     "agree slightly", "agree", "strongly agree"),
    ("very inaccurate", "moderately inaccurate", "slightly inaccurate", "slightly accurate", "moderately accurate",
     "very accurate"),
    ("very inaccurate", "moderately inaccurate", "neither accurate nor inaccurate|neither inaccurate nor accurate",
     "moderately accurate", "very accurate"),
    ("very dissatisfied", "dissatisfied", "satisfied", "very satisfied"),
    ("very dissatisfied", "dissatisfied", "neutral|neither satisfied nor dissatisfied", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral|neither likely nor unlikely", "likely", "very likely"),
    ("not at all", "several days", "more than half the days", "nearly every day"),
    ("not at all", "a little|slightly|a little bit", "moderately|somewhat", "quite a bit|very", "extremely|very much"),
    ("very poor", "poor", "fair|average|acceptable", "good", "very good"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("very low", "low", "medium|moderate", "high", "very high"),
    ("none", "mild", "moderate", "severe"),
    ("no", "maybe|unsure|don't know", "yes"),
    ("false", "true"),
    ("no", "yes"),
)


def usual_scale(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the answers of the shortest usual scale that has all of the texts, in its order; empty if there is none.

    Two texts at least must be there. Steps that no text names are in the usual words, in capitals as the texts are.
    """
    there = {text.strip().casefold(): text.strip() for text in texts}
    if len(there) < 2:
        return ()
    for scale in sorted(SCALES, key=len):
        steps = [step.split("|") for step in scale]
        answers = [[there[word] for word in step if word in there] for step in steps]
        if sum(map(len, answers)) == len(there) and all(len(found) < 2 for found in answers):
            capital = all(text[:1].isupper() for text in there.values())
            usual = [step[0].capitalize() if capital else step[0] for step in steps]
            return tuple(found[0] if found else word for found, word in zip(answers, usual, strict=True))
    return ()


def proposal(columns: Iterable[Iterable[str]]) -> str:
    """Return the option that codes columns of text by a usual scale, for hints; empty if none is of one.

    It is the scale of all columns that are of any, or else that of the first of them.
    """
    texts = [there for there in map(set, columns) if usual_scale(there)]
    answers = usual_scale(set().union(*texts)) or (usual_scale(texts[0]) if texts else ())
    return option("input.answers", ",".join(answers)) if answers and not any("," in text for text in answers) else ""


def with_proposal(error: DataError, texts: Mapping[str, Iterable[str]], *, alone: bool) -> DataError:
    """Return the error of columns of text with what their cells propose: a scale, or if they are `alone` a remedy."""
    cells = {name: tuple("" if is_missing(text) else text for text in column) for name, column in texts.items()}
    if said := proposal(filter(None, column) for column in cells.values()):
        return error.changed(hint=f"are these answers? {said} gives them numbers from 1; {error.hint}")
    remedy = remedy_of(cells) if alone else ""  # of columns among others the first cells have told
    return error.changed(hint=remedy) if remedy else error


def questionnaire(columns: Mapping[str, Iterable[str]], numbers: int) -> tuple[str, list[str]]:
    """Return the option that codes columns of text by a usual scale, empty if none is of one, and the items.

    Items are the columns of such scales where they are as many as a questionnaire has, and more than the columns of
    `numbers`; else none.
    """
    cells = {name: {text for text in texts if not is_missing(text)} for name, texts in columns.items()}
    said = proposal(cells.values())
    items = [name for name, texts in cells.items() if usual_scale(texts)] if said else []
    return said, items if len(items) >= max(FEWEST, numbers + 1) else []
