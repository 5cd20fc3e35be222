"""Unquoted scalars mean what YAML 1.2's core schema says."""

import math

import pytest

from mlcli.config.yaml_file import scalar_of, tag_of

READ = {
    "1e-6": 1e-6, "1e3": 1000.0, "1.0e3": 1000.0, "-.5": -0.5, "1.": 1.0, "+12": 12, "012": 12, "-007": -7, "0o17": 15,
    "0xFF": 255, ".inf": math.inf, "-.INF": -math.inf, "true": True, "FALSE": False, "null": None, "~": None, "": None,
    "no": "no", "yes": "yes", "on": "on", "Off": "Off", "y": "y", "1_000": "1_000", "12:30:45": "12:30:45",
    "0b1": "0b1", "inf": "inf", "nan": "nan", "1e": "1e", "e3": "e3", ".": ".", "+": "+", "0x": "0x", "1 ": "1 ",
    "１２": "１２", "١": "١", "2001-01-01": "2001-01-01", "<<": "<<", "tRue": "tRue", "1\n": "1\n",
}


@pytest.mark.parametrize("text", READ)
def test_value_and_type(text: str) -> None:
    value = scalar_of(text, tag_of(text))
    assert value == READ[text]
    assert type(value) is type(READ[text])


def test_not_a_number() -> None:
    assert math.isnan(scalar_of(".nan", tag_of(".nan")))


@pytest.mark.parametrize("text", ["1e999", "-1e400", "9" * 5000])
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        scalar_of(text, tag_of(text))
