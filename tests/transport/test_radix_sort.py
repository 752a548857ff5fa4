import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from firstlight.transport.radix_sort import argsort_floats


def places(keys):
    words, spare = np.empty(len(keys), np.uint64), np.empty(len(keys), np.uint64)
    order = np.empty(len(keys), np.int32)
    argsort_floats(keys, words, spare, order)
    return order


def check_sorted(keys):
    order = places(keys)
    assert np.array_equal(np.sort(order), np.arange(len(keys)))
    assert np.array_equal(keys[order], np.sort(keys))


@given(
    st.sampled_from([np.float32, np.float64]).flatmap(
        lambda dtype: stn.arrays(dtype, st.integers(1, 200), elements={"allow_nan": False, "allow_infinity": False})
    )
)
def test_sorts_any_finite_numbers(keys):
    check_sorted(keys)


@pytest.mark.parametrize("spread", [1e-16, 1e-12, 1e-9, 1e-7])
def test_sorts_doubles_that_single_precision_cannot_tell_apart(spread):
    check_sorted(1 + spread * np.random.default_rng(0).standard_normal(3000))


def test_sorts_doubles_beyond_the_range_of_single_precision():
    check_sorted(np.random.default_rng(0).standard_normal(500) * 10.0 ** np.linspace(-300, 300, 500))


def test_keeps_the_order_of_equal_keys():
    keys = np.repeat([2.0, -1.0, 0.0], 5).astype(np.float32)
    assert np.array_equal(places(keys), np.argsort(keys, kind="stable"))
