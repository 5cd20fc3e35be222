"""A share of several runs: the I-th of N, as the command line or a Slurm array says."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from mlcli.base.frozen import frozen
from mlcli.base.machine.scheduler import number
from mlcli.errors import UsageError

T = TypeVar("T")
SLURM = "slurm"
TASK = "SLURM_ARRAY_TASK_ID"
FIRST, LAST, STEP, COUNT = (f"SLURM_ARRAY_TASK_{name}" for name in ("MIN", "MAX", "STEP", "COUNT"))


@frozen
class Shard:
    """Every N-th of some runs, beginning with the I-th."""

    place: int  # from 1
    count: int

    def of(self, runs: Sequence[T]) -> Sequence[T]:
        """The runs of this share."""
        return runs[self.place - 1 :: self.count]

    def named(self, table: str) -> str:
        """The name of a file that each share writes for itself: runs.2-of-8.csv."""
        stem, _, ending = table.rpartition(".")
        return f"{stem}.{self.place}-of-{self.count}.{ending}"


def shard_of(text: str, environment: Mapping[str, str]) -> Shard:
    """The share that I/N means, or that the task of a Slurm array has; raises UsageError."""
    if text == SLURM:
        return of_task(environment)
    place, slash, count = text.partition("/")
    shard = Shard(number(place), number(count))
    if not slash or not 1 <= shard.place <= shard.count:
        raise UsageError("SHARD", f"{text[:40]!r} is not a share of the runs", where="--shard",
                         hint="write I/N with I from 1 to N, as 2/8; or slurm, in a task of an array")
    return shard


def of_task(environment: Mapping[str, str]) -> Shard:
    """The share of this task of a Slurm array, whatever numbers its tasks have; raises UsageError."""
    texts = {name: environment.get(name, "").strip() for name in (TASK, FIRST, LAST, COUNT)}
    wrong = next((name for name, text in texts.items() if not (text.isascii() and text.isdecimal())), None)
    if wrong is not None:
        raise UsageError("SHARD", f"{wrong} is {'set to ' + repr(texts[wrong][:40]) if texts[wrong] else 'not set'}",
                         where="--shard slurm", hint="call it in a task of a job array, as of sbatch --array=1-8")
    task, first, last, count = (number(text) for text in texts.values())
    place = (task - first) // max(number(environment.get(STEP, "")), 1)
    if not 0 <= place < count or (last - first) // max(number(environment.get(STEP, "")), 1) + 1 != count:
        raise UsageError("SHARD", f"the array's tasks {first} to {last} are not {count} in equal steps",
                         where="--shard slurm", hint="number them evenly, as in sbatch --array=1-8; or give I/N")
    return Shard(place + 1, count)
