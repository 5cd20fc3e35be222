"""Formulas are well-formed MathML, and what is no formula is an error."""

from xml.etree import ElementTree

import pytest

from mlcli.explain.formulas import TABLE
from mlcli.explain.mathml import mathml


@pytest.mark.parametrize("formula", sorted({entry.formula for entry in TABLE.values() if entry.formula}))
def test_every_formula_of_the_table_is_set(formula: str) -> None:
    assert len(list(ElementTree.fromstring(mathml(formula)).iter())) > 2


def bare(formula: str) -> str:
    """Return the content of a formula without its frame."""
    return mathml(formula).partition("<mrow>")[2].removesuffix("</mrow></math>")


@pytest.mark.parametrize(("formula", "expected"), [
    ("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
    ("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
    (r"\sum_{j} y", "<munder><mo>∑</mo><mrow><mi>j</mi></mrow></munder><mi>y</mi>"),
    (r"\frac{1}{n}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>n</mi></mrow></mfrac>"),
    (r"\sqrt{Λ}", "<msqrt><mrow><mi>Λ</mi></mrow></msqrt>"),
    (r"a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
    (r"\text{ if }x", "<mtext>&#160;if&#160;</mtext><mi>x</mi>")])
def test_a_formula_is_set_as_it_is_meant(formula: str, expected: str) -> None:
    assert bare(formula) == expected


@pytest.mark.parametrize("formula", [r"\unknown", "{x", "x}", "x_", r"\text x"])
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(ValueError):
        mathml(formula)
