"""Formulas of terms: as R orders them, and what is none."""

import pytest

from mlcli.core.relation.permanova import MOST, droppable, label_of, terms_of
from mlcli.errors import ConfigError
from tests.wording import Wording


@pytest.mark.parametrize(("text", "labels"), [
    ("A1", "A1"), ("~ A1 + b.2", "A1 b.2"), ("a*b", "a b a:b"), ("a:b + a", "a a:b"), ("a + a", "a"),
    ("a*b*c", "a b c a:b a:c b:c a:b:c"), ("a:b + b:a", "a:b"), ("`soil pH` + Größe", "soil pH Größe"),
    ("a*b:c", "a b:c a:b:c"), ("a:a", "a")])
def test_terms_stand_by_their_degree(text: str, labels: str) -> None:
    found = [label_of(term) for term in terms_of(text)]
    assert " ".join(found) == labels


@pytest.mark.parametrize("text", ["", "~", "a +", "+ a", "a b", "a ++ b", "log(a)", "a - b", "a:", "1", "a ~ b",
                                  "a^2", "`"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        terms_of(text)
    assert caught.value.code == "E-FORMULA" and caught.value.where == "--formula"


@pytest.mark.parametrize("sign", ["*", " + "])
def test_a_formula_of_very_many_terms_is_refused_before_they_are_made(sign: str, wording: Wording) -> None:
    names = [f"v{number}" for number in range(18 if sign == "*" else MOST + 1)]
    with pytest.raises(ConfigError) as caught:
        terms_of(sign.join(names))
    assert caught.value.code == "E-FORMULA-TERMS" and "E-FORMULA-TERMS" in wording(caught.value)
    assert len(terms_of("*".join(names[:7]))) == MOST
    assert len(terms_of("*".join(names[:2] * 20))) == 3  # each once


def test_only_terms_in_no_other_one_can_be_left_out() -> None:
    assert droppable(terms_of("a*b + c")) == [("c",), ("a", "b")]
