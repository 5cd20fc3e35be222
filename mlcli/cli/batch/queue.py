"""Work that nobody has yet, and who is given which of it: what shares results goes to one process."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain


@dataclass
class WorkQueue:
    """The queue of runs by number. Runs of one family share intermediate results and go to the same worker."""

    numbers: list[int]
    family: Callable[[int], Hashable]

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def take(self, last: int | None, everywhere: Sequence[int | None]) -> int:
        """The next for a process: of the family of its last work, else of one that none works on, else the first.

        `everywhere` is what each process, this one too, has or had last.
        """
        mine = None if last is None else self.family(last)
        busy = {self.family(number) for number in everywhere if number is not None}
        own = (number for number in self.numbers if last is not None and self.family(number) == mine)
        new = (number for number in self.numbers if self.family(number) not in busy)
        number = next(chain(own, new, self.numbers))
        self.numbers.remove(number)
        return number
