"""Seconds of a core for a unit of each kind of work, from which times are predicted. Imports nothing heavy.

Times show a user whether to expect minutes or hours, and choose between algorithms; what a stage takes stands beside
what it computes. The reference was measured on one core of a processor with AVX-512 (`benchmarks/plan.py`).
`mlcli doctor --calibrate FILE` measures another machine's (`planning/calibrate.py`), which a plan then goes by. Choices
between algorithms always go by the reference, so that no file with rates changes a result.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.resources import instruction_set
from mlcli.base.machine.small_files import content_of
from mlcli.errors import ConfigError

FORMAT = "mlcli-rates-1"
VARIABLE = "MLCLI_RATES"  # names the file that plans go by
FIRST_TOUCH = 8  # passes that one is worth which takes the memory for the first time


@frozen
class Rates:
    """Seconds of one core for a unit of work."""

    start: float = 0.28  # the interpreter, and the libraries of every run
    product: float = 1.7e-11  # an operation of a product of matrices in double precision
    paired: float = 8.5e-12  # a column of a pair of points in the products of a neighbor search, in single precision
    decomposed: float = 1.8e-11  # one of LAPACK's whole decompositions
    moved: float = 1.25e-10  # a byte of a pass over memory
    called: float = 6e-6  # a call of NumPy on a few numbers
    bent: float = 2e-9  # a kernel function of one distance
    measured: float = 2.2e-8  # the measures of a pair of points
    neighbor: float = 4e-7  # a neighbor in a list that becomes an edge
    branch: float = 1.3e-8  # a step in a k-d tree
    heap: float = 5.5e-9  # Dijkstra: an edge relaxed, or a level of the heap
    cube: float = 5e-11  # Floyd and Warshall: one of n³ relaxations
    relaxation: float = 1.5e-11  # elimination: one relaxation of the sweep
    entry: float = 2e-10  # elimination: half a pair's distance, squared and multiplied into the product
    kept: float = 2.5e-9  # a byte of a model that is written and checked
    ordered: float = 1.2e-6  # an edge of a graph whose order of elimination is found
    factored: float = 6.5e-8  # an entry of a sparse matrix that is factored and solved with
    parsed: float = 1.4e-8  # a byte of text that is read, and its hash
    loaded: float = 1.2e-9  # a byte of numbers in binary, likewise
    written: float = 1e-7  # a number that is written
    trained: float = 2.8e-11  # an operation of a network's training in single precision


# Times with other instructions over those of the reference; on AVX2 by the processor seconds of searches and layouts.
SLOWER = {"v3": {"product": 2.0, "paired": 2.7, "decomposed": 1.6, "bent": 1.9, "branch": 1.5, "relaxation": 1.7,
                 "entry": 1.3, "trained": 2.0},
          "base": {"product": 7.5, "paired": 7.5, "decomposed": 5.0, "bent": 1.9, "branch": 1.5, "relaxation": 5.5,
                   "entry": 3.3, "trained": 7.5}}
REFERENCE = Rates()
LATER = {"paired": "product"}  # rates that older files lack, and those that they are scaled like


@cache
def reference() -> Rates:
    """The reference, for the instructions that this processor has."""
    slower = SLOWER.get(instruction_set(), {})
    return replace(REFERENCE, **{name: getattr(REFERENCE, name) * factor for name, factor in slower.items()})


def rates() -> Rates:
    """Return the rates that predictions use: those of the context, else the reference."""
    return context().rates or reference()


def product_rate(threads: int) -> float:
    """Floating-point operations a second of a matrix product in double precision."""
    return threads / rates().product


def pass_cost(numbers: float) -> float:
    """Seconds of a pass over `numbers` doubles with little work on each."""
    return 8.0 * numbers * rates().moved


def chosen_file(path: str | None) -> Path | None:
    """The file of rates: as given, else MLCLI_RATES; None where there is none."""
    named = path or os.environ.get(VARIABLE, "")
    return Path(named) if named else None


def document(measured: Rates, machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file of rates; `machine` describes the machine of the measurement."""
    return {"format": FORMAT, "machine": dict(machine), "seconds": asdict(measured)}


def read(path: Path) -> tuple[Rates, str]:
    """The rates of a file, and the machine they were measured on; raises ConfigError for any other content."""
    try:
        content = json.loads(content_of(path))
    except OSError as error:
        raise _refused(f"cannot be read: {error.strerror or error}", path) from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise _refused("is not JSON", path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _refused(f"is no file of rates in the format {FORMAT}", path)
    seconds, machine = content.get("seconds"), content.get("machine")
    names = {field.name for field in fields(Rates)}
    if not isinstance(seconds, dict) or not isinstance(machine, dict) or {*seconds, *LATER} != names:
        raise _refused("lacks rates, or has others", path)
    wrong = [name for name, value in seconds.items()
             if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6]
    if wrong:
        raise _refused(f"has a rate that is no number of seconds: {wrong[0]}", path)
    found = Rates(**{name: float(value) for name, value in seconds.items()})
    scaled = {name: getattr(REFERENCE, name) * getattr(found, other) / getattr(REFERENCE, other)
              for name, other in LATER.items() if name not in seconds}
    return replace(found, **scaled), str(machine.get("processor", "unknown"))


def _refused(what: str, path: Path) -> ConfigError:
    return ConfigError("RATES", f"the file of rates {what}", where=str(path),
                       hint="make one with `mlcli doctor --calibrate FILE`, or leave it out")
