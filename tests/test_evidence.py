import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.evidence import Budget, Measurement, claim, claims_in, readable

figures = st.floats(allow_nan=False, allow_infinity=False)


@given(value=figures, bar=figures)
def test_a_figure_holds_on_the_good_side_of_its_bar_and_on_the_bar(value, bar):
    assert Measurement("error", value, bar=bar, better="lower").holds == (value <= bar)
    assert Measurement("speed", value, bar=bar, better="higher").holds == (value >= bar)
    assert Measurement("error", bar, bar=bar, better="lower").holds
    assert Measurement("speed", bar, bar=bar, better="higher").holds


@given(value=figures, bars=st.tuples(figures, figures).map(sorted).map(tuple))
def test_within_holds_between_its_two_bars_and_on_them(value, bars):
    lowest, highest = bars
    assert Measurement("gap", value, bar=bars, better="within").holds == (min(max(value, lowest), highest) == value)
    assert Measurement("gap", lowest, bar=bars, better="within").holds
    assert Measurement("gap", highest, bar=bars, better="within").holds


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_never_holds(value):
    assert not Measurement("error", value, bar=math.inf, better="lower").holds
    assert not Measurement("speed", value, bar=-math.inf, better="higher").holds
    assert not Measurement("gap", value, bar=(-math.inf, math.inf), better="within").holds


def test_a_bar_that_is_not_a_number_is_met_by_nothing():
    assert not Measurement("error", 0.0, bar=math.nan).holds
    assert not Measurement("speed", 0.0, bar=math.nan, better="higher").holds


@pytest.mark.parametrize(("bar", "better"), [(1.0, "within"), ((1.0, 2.0), "lower"), ((1.0, 2.0), "higher")])
def test_a_bar_that_does_not_fit_its_direction_is_refused(bar, better):
    with pytest.raises(InvalidInput, match=better):
        Measurement("error", 0.0, bar=bar, better=better)


def test_claims_come_in_the_order_of_the_text(build_system):
    module = build_system(
        "sums",
        claims="""
            from firstlight.evidence import Budget, Measurement, claim

            TOLERANCE = 1e-12

            @claim("written first", source="ours")
            def zebra(budget: Budget) -> Measurement:
                return Measurement("error", 0.0, bar=TOLERANCE)

            @claim("written second", source="ours")
            def aardvark(budget: Budget) -> Measurement:
                return Measurement("error", 0.0, bar=TOLERANCE)
        """,
    ).part("claims")
    assert [found.statement for found in claims_in(module)] == ["written first", "written second"]


def test_a_claim_keeps_its_sentence_its_source_and_its_protocol():
    @claim("numpy sums exactly", source="Higham 1993")
    def sums(budget: Budget) -> Measurement:
        """Against ``math.fsum``."""
        numbers = np.random.default_rng(budget.seed).random(budget.pick(quick=1000, full=10**6))
        exact = math.fsum(numbers)
        return Measurement("relative error", abs(numbers.sum() - exact) / exact, bar=1e-14, peer="math.fsum")

    assert (sums.statement, sums.source, sums.protocol) == (
        "numpy sums exactly",
        "Higham 1993",
        "Against ``math.fsum``.",
    )
    assert sums(Budget()).holds


def test_the_budget_picks_the_form_of_the_run():
    assert Budget().pick(quick="quick", full="full") == "quick"
    assert Budget(full=True).pick(quick="quick", full="full") == "full"


def test_figures_are_shown_with_unit_and_bar():
    speed = Measurement("rate", 39500, bar=100, better="higher", unit="it/s")
    assert speed.text(speed.value) == "39,500 it/s"
    assert speed.bar_text == "≥\N{NO-BREAK SPACE}100 it/s"
    ratio = Measurement("ratio", 0.25, bar=(0.1, 0.5), better="within", unit="×")
    assert (ratio.text(ratio.value), ratio.bar_text) == ("0.25×", "0.1 … 0.5×")


@given(st.floats(-1e300, 1e300))  # rounding up may leave the range of floats beyond
def test_a_readable_number_is_the_number_to_four_digits(number):
    assert math.isclose(float(readable(number).replace(",", "")), number, rel_tol=5.1e-4, abs_tol=0)
