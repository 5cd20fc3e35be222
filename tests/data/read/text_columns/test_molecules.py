"""Molecules among columns of text, which are labels."""

from pathlib import Path

from tests.data.helpers import noted, table_of

ROWS = [("ethanol", "CCO"), ("benzene", "c1ccccc1"), ("acetamide", "CC(=O)N"), ("toluene", "Cc1ccccc1")]


def codes(folder: Path, numbers: int) -> list[str]:
    header = ",".join(["name", "smiles", *(f"x{place}" for place in range(numbers))])
    lines = [",".join([*row, *(str(place * row_number % 5) for place in range(numbers))])
             for row_number, row in enumerate(ROWS, 1)]
    with noted() as notes:
        table = table_of(folder, "\n".join([header, *lines, ""]))
    assert [*table.labels] == ["smiles"] and len(table.columns) == numbers
    return notes.codes


def test_molecules_beside_few_numbers_are_a_warning_beside_descriptors_none(tmp_path: Path) -> None:
    assert "W-SMILES" in codes(tmp_path, 1) and "W-SMILES" in codes(tmp_path, 3)
    assert "W-SMILES" not in codes(tmp_path, 4)
