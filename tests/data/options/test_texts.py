"""Texts that were expected to be numbers are told apart: dates, molecules, and others."""

import pytest

from mlcli.data.options.texts import are_dates, are_molecules, remedy_of

DATES = (["2024-01-05", "2024-12-31"], ["2024/1/5"], ["05.01.2024", "6.1.24"], ["1/31/2024"], ["2024-01-05T10:00:00Z"],
         ["2024-01-05 10:00"], ["10:30", "23:59:59.5"], ["2024-01"])
MOLECULES = (["CCO", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O"], ["C[C@H](N)C(=O)O", "[Na+].[Cl-]"],
             ["CN1C=NC2=C1C(=O)N(C(=O)N2C)C mol1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O mol2"], ["ClC(Cl)Cl", "BrCC#N"],
             ["C1CC1", "c1ccc2ccccc2c1", "CCO"], ["C=C", "O=C=O", "N#N"])
NEITHER = (["12kg", "3kg"], ["yes", "no"], ["BOSS", "COPS"], ["p1", "p2"], ["1-1", "2-1"], ["0/1", "1/1"], ["?", "-"],
           ["New York", "Boston"], [], ["3,5"], ["1.2.3"],
           ["p01", "p02", "p40"], ["C12", "C13"], ["N3", "N4"], ["S001", "S002"], ["P1S1", "P1S2"], ["CO2", "NO3"],
           ["CCO", "BOS", "CON", "FIN"], ["C(1)", "C(2)"], ["#C1", "#C2"], ["n=30", "n=45"], ["[1]", "[2]"],
           ["F-12", "F-13"], ["B1/C2", "B1/C3"], ["C12.1", "C12.2"])


@pytest.mark.parametrize("texts", DATES)
def test_dates_and_times_are_recognized(texts: list[str]) -> None:
    assert are_dates(texts) and not are_molecules(texts)


@pytest.mark.parametrize("texts", MOLECULES)
def test_molecules_are_recognized(texts: list[str]) -> None:
    assert are_molecules(texts) and not are_dates(texts)


@pytest.mark.parametrize("texts", NEITHER)
def test_other_texts_are_neither(texts: list[str]) -> None:
    assert not are_dates(texts) and not are_molecules(texts) and remedy_of({"a": texts}) == ""


def test_the_remedy_names_the_columns() -> None:
    assert remedy_of({"when": ["2024-01-05"]}).startswith("'when' holds dates: {input.label_columns=when} keeps it as")
    assert "{input.label_columns=a,b} keeps them" in remedy_of({"a": ["2024-01-05"], "b": ["10:30"]})
    assert remedy_of({"a": ["2024-01-05"], "b": ["12kg"]}) == ""
    assert "'s' holds SMILES" in remedy_of({"name": ["aspirin"], "s": ["CC(=O)Oc1ccccc1C(=O)O"]})
