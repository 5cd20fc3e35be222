"""The board, which one process reads while another one posts."""

from collections.abc import Callable
from typing import Any

import pytest

from mlcli.process.shared_status import SIDE, START, SharedStatus


class Raced(bytearray):
    """Memory in which others write between two looks of a reader."""

    meanwhile: list[Callable[[], None]] = []  # noqa: RUF012 (each test has its own)

    def __getitem__(self, place: Any) -> Any:
        value = super().__getitem__(place)
        if self.meanwhile:
            self.meanwhile.pop()()
        return value


@pytest.mark.parametrize("looks", [1, 2, 3])
def test_facts_that_are_read_while_others_are_posted_are_whole(looks: int) -> None:
    """After two posts the side that is read holds other facts; read across both, they were no JSON."""
    memory = Raced(START + 2 * SIDE)
    writer, reader = SharedStatus(memory), SharedStatus(memory)  # type: ignore[arg-type]
    writer.post(doing="eigensolve, pass 3, 1 of 100")

    def twice() -> None:
        writer.post(doing="paths")
        writer.post(doing="write")

    memory.meanwhile = [twice, *[lambda: None] * (looks - 1)]
    assert reader.read() in ({"doing": "eigensolve, pass 3, 1 of 100"}, {"doing": "write"})
    assert reader.read() == {"doing": "write"}


def test_facts_that_are_too_long_are_left_out_and_do_not_stand_in_the_way_of_others() -> None:
    memory = bytearray(START + 2 * SIDE)
    writer = SharedStatus(memory)  # type: ignore[arg-type]
    writer.post(doing="read")
    writer.post(piped="x" * SIDE)
    assert writer.read() == {"doing": "read"}
    writer.post(code=78)
    assert writer.read() == {"doing": "read", "code": 78}
