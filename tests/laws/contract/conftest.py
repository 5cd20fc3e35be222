"""The tests of one configuration run next to each other, so that few of the workers make its fit."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests of the contract by the configuration, or the method, that they are about."""
    contract = Path(__file__).with_name("test_contract.py")
    places = [place for place, item in enumerate(items) if item.path == contract]
    for place, item in zip(places, sorted((items[place] for place in places), key=configuration), strict=True):
        items[place] = item


def configuration(item: pytest.Item) -> str:
    """The configuration of a test, or its method; empty for one of neither."""
    named = getattr(getattr(item, "callspec", None), "params", {})
    return str(named.get("name", named.get("method", "")))
