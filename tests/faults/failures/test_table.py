"""The rows of groups A, B and G of the failure table, each with the tests that hold it."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
READERS, CONTENTS, MODELS, CRASHES, AUDIT = (
    f"faults/failures/test_{name}.py" for name in ("readers", "contents", "models", "crashes", "audit"))
HELD: dict[int, tuple[str, ...]] = {  # by row: files with cases of its number, or tests by name
    **dict.fromkeys((*range(1, 22), 24, 25, 27, 28), (READERS,)),
    22: (CRASHES, "data/formats/test_parquet.py::test_texts_that_grow_are_refused_before_they_take_memory"),
    23: ("faults/failures/test_file_faults.py::test_an_old_pyarrow_is_refused",),
    26: ("data/files/test_source.py::test_a_file_that_changes_while_it_is_read_is_refused",
         "faults/kills/test_signals.py::test_the_death_of_the_computation_is_one_line_and_leaves_nothing"),
    **dict.fromkeys(range(29, 46), (CONTENTS,)),
    101: ("cli/batch/test_workers.py::test_who_dies_is_replaced", "engine/test_executor.py::test_a_whole_fit"),
    102: ("faults/kills/test_killing.py", "faults/kills/test_kills.py::test_races"),
    103: ("laws/contract/test_repeating.py::test_neither_threads_nor_surroundings_change_a_byte",),
    104: (f"{AUDIT}::test_no_command_causes_an_event",),  # there is no scheduler, and no socket is opened
    **dict.fromkeys(range(105, 111), (MODELS,)),
    111: ("journeys/terminal/test_streams.py::test_output_in_an_ascii_locale",
          "engine/test_cache.py::test_a_folder_that_cannot_be_written_to_is_no_cache"),  # and scripts/image.sh
    112: ("faults/kills/test_signals.py::test_a_second_signal_ends_the_program_at_once",
          "journeys/terminal/test_streams.py::test_a_closed_reader_is_quiet_and_141",
          "journeys/terminal/test_streams.py::test_a_full_standard_error_keeps_the_exit_code")}


def group(row: int) -> str:
    """The letter of a row's group."""
    return "A" if row < 29 else "B" if row < 46 else "G"


def test_no_row_is_left_out() -> None:
    assert sorted(HELD) == [*range(1, 46), *range(101, 113)]


@pytest.mark.parametrize("row", HELD)
def test_a_row_has_tests(row: int) -> None:
    for held in HELD[row]:
        file, _, name = held.partition("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        if name:
            assert f"def {name}(" in text
        elif file.startswith("faults/failures/"):
            assert re.search(rf'"{group(row)}{row} |def test_{group(row).lower()}{row}_', text), held
