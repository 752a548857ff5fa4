import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.games.exact_fractions import exact_distribution, simple_fraction


@given(st.fractions(max_denominator=10**6, min_value=-1000, max_value=1000))
def test_fractions_of_small_denominator_are_recovered_exactly(fraction):
    assert simple_fraction(float(fraction)) == fraction


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fraction_rounds_to_the_same_bits(number):
    assert float(simple_fraction(number)) == number


@pytest.mark.parametrize("numbers", [["1/3", "2/3"], ["0.1", "0.2", "0.7"], ["1/52"] * 52, ["1/7", "0", "6/7"]])
def test_exact_distribution_finds_the_fractions_that_were_meant(numbers):
    meant = tuple(Fraction(number) for number in numbers)
    assert exact_distribution(tuple(float(probability) for probability in meant)) == meant


@given(st.lists(st.integers(0, 2**60), min_size=1, max_size=40).filter(any))
def test_rounded_fractions_get_back_a_sum_of_one_and_the_same_bits(weights):
    # With these weights the fractions meant have denominators far beyond float64.
    probabilities = tuple(float(Fraction(weight, sum(weights))) for weight in weights)
    fractions = exact_distribution(probabilities)
    assert sum(fractions) == 1
    assert tuple(float(fraction) for fraction in fractions) == probabilities


@given(st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=300), st.floats(-1e-9, 1e-9))
def test_distribution_that_misses_one_is_divided_by_its_sum(weights, error):
    total = math.fsum(weights)
    probabilities = tuple(weight / total * (1 + error) for weight in weights)
    fractions = exact_distribution(probabilities)
    assert sum(fractions) == 1
    # 2**-52 is the spacing of float64 at one: a few of them from the divisions above.
    for fraction, probability in zip(fractions, probabilities, strict=True):
        assert abs(fraction - Fraction(probability)) <= Fraction(probability) * Fraction(
            abs(error) * 1.001 + 8 * 2**-52
        )


def test_impossible_event_stays_impossible():
    # The sum misses one in the last bits, so the numbers are adjusted.
    probabilities = (0.1 + 0.2, 0.0, 0.7 - 2**-54)
    fractions = exact_distribution(probabilities)
    assert sum(fractions) == 1
    assert fractions[1] == 0
    assert tuple(map(float, fractions)) == probabilities


def test_thousand_unrelated_probabilities_give_short_fractions():
    # Simple fractions of unrelated numbers would have a common denominator of ten thousand digits.
    weights = [math.sqrt(2 + number) for number in range(1000)]
    fractions = exact_distribution(tuple(weight / math.fsum(weights) for weight in weights))
    assert sum(fractions) == 1
    assert max(fraction.denominator for fraction in fractions) < 2**200
