"""Palettes come as near to the style's as exact transport says, and pixels keep their places."""

import numpy as np
import ot
import pytest
from scipy.spatial import KDTree

from firstlight.errors import InvalidInput
from firstlight.transport.color_transfer import color_transfer


def picture(shape, dark, bright, seed):
    """A smooth picture between two colours, with some noise."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(0, 1, shape[1])[None, :, None]
    image = (1 - ramp) * np.array(dark) + ramp * np.array(bright) + rng.normal(0, 4, (*shape, 3))
    return np.clip(image, 0, 255).astype(np.uint8)


CONTENT = picture((24, 30), (20, 20, 60), (120, 160, 240), 0)
STYLE = picture((20, 40), (80, 10, 0), (255, 220, 90), 1)
QUICK = {"n_samples": 150, "n_iter": 25, "lr": 0.08, "seed": 0}


@pytest.fixture(scope="module")
def result():
    return color_transfer(CONTENT, STYLE, **QUICK)


def test_the_new_palette_is_near_the_styles(result):
    after = result.image.reshape(-1, 3) / 255
    wanted = STYLE.reshape(-1, 3) / 255
    exact = ot.emd2([], [], ot.dist(after, wanted))
    assert result.w2_squared_after == pytest.approx(exact, abs=0.005)
    assert result.w2_squared_after < 0.1 * result.w2_squared_before
    assert 0 <= result.w2_squared_floor <= result.w2_squared_after
    assert (result.image.shape, result.image.dtype) == (CONTENT.shape, np.uint8)


def test_order_along_the_ramp_is_kept(result):
    brightness = result.image.mean(axis=(0, 2))
    assert np.corrcoef(brightness, np.arange(len(brightness)))[0, 1] > 0.95


def test_every_pixel_moves_as_the_sampled_colours_around_it(result):
    own = CONTENT.reshape(-1, 3) / 255
    shift = (result.moved - result.colors)[KDTree(result.colors).query(own, k=8)[1]]
    new = result.image.reshape(-1, 3) / 255
    step = 1 / 255
    assert (new >= np.clip(own + shift.min(axis=1), 0, 1) - step).all()
    assert (new <= np.clip(own + shift.max(axis=1), 0, 1) + step).all()


def test_an_image_in_its_own_style_hardly_changes():
    result = color_transfer(CONTENT, CONTENT, **QUICK | {"lr": 0.003})
    assert np.abs(result.image.astype(int) - CONTENT).mean() < 8


def test_whole_and_floating_numbers_give_the_same_colours(result):
    floating = color_transfer(CONTENT / 255, STYLE, **QUICK)
    assert floating.image.dtype == np.float32
    assert np.abs(floating.image - result.image / 255).max() < 1 / 255


def test_transparent_pixels_are_no_part_of_a_palette_and_transparency_stays(result):
    hidden = np.full((6, 30, 4), (0, 255, 0, 0), np.uint8)
    content = np.concatenate([np.dstack([CONTENT, np.full(CONTENT.shape[:2], 200, np.uint8)]), hidden])
    partly = color_transfer(content, STYLE, **QUICK)
    np.testing.assert_array_equal(partly.image[..., 3], content[..., 3])
    np.testing.assert_array_equal(partly.image[:24, :, :3], result.image)


def test_the_same_seed_gives_the_same_image(result):
    again = color_transfer(CONTENT, STYLE, **QUICK)
    np.testing.assert_array_equal(result.image, again.image)
    assert result.w2_squared_after == again.w2_squared_after


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        (CONTENT[..., 0], {}, "content must have shape .*stack a grey image"),
        (CONTENT * 1.0, {}, "content must hold numbers between 0 and 1"),
        (np.zeros((3, 3, 4), np.uint8), {}, "every pixel of content is transparent"),
        (CONTENT, {"n_samples": 2}, "n_samples of at least 8"),
        (CONTENT[:1, :5], {}, "content has only 5 visible pixels"),
        (CONTENT, {"lr": -1.0}, "positive lr"),
    ],
)
def test_bad_input_is_refused(content, options, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        color_transfer(content, STYLE, **QUICK | options)


def test_the_picture_shows_the_image_and_its_distances(result):
    axes = result.plot()
    np.testing.assert_array_equal(axes.images[0].get_array(), result.image)
    assert f"{result.w2_squared_before:.2g}" in axes.get_xlabel()
