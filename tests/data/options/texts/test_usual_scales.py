"""Usual scales: recognized by their words in any order and spelling, proposed whole, never guessed."""

import pytest

from mlcli.data.options.texts import SCALES, proposal, usual_scale


def test_each_scale_is_recognized_in_its_own_words() -> None:
    for scale in SCALES:
        words = tuple(step.split("|")[0] for step in scale)
        assert usual_scale(reversed(words)) == words


@pytest.mark.parametrize(("texts", "answers"), [
    (["Often", "Never", "Seldom"], ("Never", "Seldom", "Sometimes", "Often")),  # a step that nobody chose is there
    (["agree", "neutral", "disagree"], ("strongly disagree", "disagree", "neutral", "agree", "strongly agree")),
    (["yes", "no"], ("no", "yes")),
    (["yes"], ()), (["often", "blue"], ()), (["often", "frequently", "never"], ()),  # two words of one step
])
def test_scales_of_texts(texts: list[str], answers: tuple[str, ...]) -> None:
    assert usual_scale(texts) == answers


def test_the_proposal_covers_the_columns_that_are_of_a_scale() -> None:
    assert proposal([["m", "f"], ["never", "often"], ["rarely"], ["always", "never"]]) == (
        "{input.answers=never,rarely,sometimes,often,always}")
    assert proposal([["yes", "no"], ["never", "often"]]) == "{input.answers=no,yes}"
    assert proposal([["m", "f"]]) == ""
