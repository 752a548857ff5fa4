"""The exceptions a caller may want to catch."""

import pickle

import pytest

from firstlight.errors import FirstlightError, Interrupted, InvalidInput, MissingExtra


@pytest.mark.parametrize("kind", [InvalidInput, MissingExtra, Interrupted])
def test_every_error_is_a_firstlight_error(kind):
    assert issubclass(kind, FirstlightError)


def test_errors_refine_the_builtin_ones():
    with pytest.raises(ValueError, match="three rows"):
        raise InvalidInput("expected three rows, got two")
    with pytest.raises(ImportError):
        raise MissingExtra("lightning", "train")


def test_missing_extra_says_how_to_mend_it():
    error = MissingExtra("lightning", "train")
    assert str(error) == "lightning is not installed; run: pip install 'firstlight[train]'"


def test_interrupted_carries_what_was_finished():
    assert Interrupted("stopped", {"a": 1}).finished == {"a": 1}
    assert Interrupted("stopped").finished == {}


def test_interrupted_is_no_ordinary_error_of_input():
    assert not issubclass(Interrupted, (ValueError, ImportError))


@pytest.mark.parametrize(
    "error", [InvalidInput("bad"), MissingExtra("lightning", "train"), Interrupted("stop", {"a": 1})]
)
def test_errors_travel_between_processes(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
