import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firstlight.evidence import Measurement
from firstlight.figures import inline_svg, scale_of


def draw_decay(axes):
    steps = np.arange(1, 20001)
    axes.loglog(steps, 1 / steps, label="1 / t")
    axes.axhline(1e-3, color="black")
    axes.plot(100, 1e-2, "o", markerfacecolor="white")
    axes.set(xlabel="iterations", ylabel="gap < 1 & more")
    axes.legend()


def test_a_figure_is_one_well_formed_svg_with_its_words_as_text():
    drawing = ElementTree.fromstring(inline_svg(draw_decay, 'a "gap" <b>', "a").replace("xlink:", ""))
    assert drawing.tag == "svg"
    assert drawing.get("aria-label") == 'a "gap" <b>'
    words = ["".join(text.itertext()).strip() for text in drawing.iter("text")]
    assert {"iterations", "gap < 1 & more", "1 / t"} <= set(words)


def test_a_figure_takes_black_and_white_from_the_page():
    drawing = inline_svg(draw_decay, "gap", "a")
    assert "#000000" not in drawing
    assert "#ffffff" not in drawing
    assert "stroke: currentColor" in drawing
    assert "fill: var(--card)" in drawing


def test_figures_of_one_page_share_no_ids_and_refer_to_their_own():
    first, second = (inline_svg(draw_decay, "gap", prefix) for prefix in ("a", "b"))
    ids = [set(re.findall(r'\bid="([^"]+)"', drawing)) for drawing in (first, second)]
    assert not ids[0] & ids[1]
    for known, drawing in zip(ids, (first, second), strict=True):
        assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawing))
        assert {a or b for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawing)} <= known


def test_twenty_thousand_points_stay_a_small_drawing():
    assert len(inline_svg(draw_decay, "gap", "a")) < 40_000


figures = st.floats(1e-12, 1e12)


@given(value=figures, bar=figures, peer=st.none() | figures, better=st.sampled_from(["lower", "higher"]))
def test_our_mark_stands_in_the_good_stretch_when_the_claim_holds(value, bar, peer, better):
    measured = Measurement("speed", value, bar=bar, better=better, peer_value=peer)
    scale = scale_of(measured)
    if scale is None:
        assert value == bar == (bar if peer is None else peer)
        return
    assert all(0 < place < 100 for place in (scale.ours, *scale.bars))
    inside = scale.good[0] <= scale.ours <= scale.good[1]
    assert inside or not measured.holds
    if abs(scale.ours - scale.bars[0]) > 0.01:  # further apart than the rounding of places
        assert inside == measured.holds


def test_a_band_is_shaded_between_its_two_bars():
    scale = scale_of(Measurement("gap", 2.5, bar=(2.0, 3.0), better="within", peer_value=1.0))
    assert scale is not None
    assert scale.bars == scale.good == (50.0, 92.0)
    assert (scale.peer, scale.ours, scale.logarithmic) == (8.0, 71.0, False)


def test_ratios_are_told_apart_on_a_logarithmic_scale():
    scale = scale_of(Measurement("error", 1e-16, bar=1e-12, peer_value=1e-8))
    assert scale is not None
    assert scale.logarithmic
    assert (scale.ours, scale.bars, scale.peer) == (8.0, (50.0,), 92.0)


def test_no_scale_is_drawn_of_figures_that_are_not_finite():
    assert scale_of(Measurement("error", float("nan"), bar=1.0)) is None
    assert scale_of(Measurement("error", 0.5, bar=1.0, peer_value=float("inf"))) is None
