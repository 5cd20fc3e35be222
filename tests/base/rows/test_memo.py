"""What was computed last is there again for the same arrays, and gone once a run does not ask for it."""

import weakref

import numpy as np

from mlcli.base.rows.memo import Memo, memoize, open_memo, recall
from mlcli.base.types import AnyArray


class Made:
    """A value that says when it is gone."""


def make(kind: str, values: AnyArray) -> Made:
    return memoize(kind, (values, "text"), Made)


def test_equal_arrays_give_the_value_again_and_others_do_not() -> None:
    values = np.arange(5.0)
    with open_memo():
        first = make("one", values)
        assert make("one", values.copy()) is first
        assert make("other", values) is not first
        assert make("one", values + 1) is not first


def test_nothing_is_kept_outside() -> None:
    assert make("one", np.arange(3.0)) is not make("one", np.arange(3.0))
    with open_memo():
        inside = make("one", np.arange(3.0))
    with open_memo():
        assert make("one", np.arange(3.0)) is not inside


def test_a_value_outlives_a_run_that_asks_for_it_within_several_and_no_other() -> None:
    memo = Memo(shared=True)
    with open_memo(memo):
        first = make("one", np.arange(3.0))
    with open_memo(memo):
        assert make("one", np.arange(3.0)) is first
    gone = weakref.ref(first)
    del first
    assert gone() is not None
    with open_memo(memo):
        make("other", np.arange(3.0))
    assert gone() is None


def test_what_a_run_asks_for_once_is_kept_for_other_runs_alone() -> None:
    values = np.arange(3.0)

    def once() -> Made:
        return memoize("one", (values,), Made, once=True)

    with open_memo():
        alone = weakref.ref(once())
        assert alone() is None
    memo = Memo(shared=True)
    with open_memo(memo):
        first = once()
    with open_memo(memo):
        assert once() is first


def test_a_value_is_recalled_by_the_first_of_its_inputs() -> None:
    values = np.arange(4.0)
    assert recall("one", (values,)) is None
    with open_memo():
        made = make("one", values)
        assert recall("one", (values.copy(),)) is made
        assert recall("one", (values + 1,)) is None
        assert recall("one", (values, "another text")) is None
        assert recall("other", (values,)) is None
