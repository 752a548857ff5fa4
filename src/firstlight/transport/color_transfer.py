"""The colours of one image given to another by a gradient flow of its palette.

A sample of the content's pixels flows, as points of RGB space, towards a sample of the style's pixels; every pixel
then moves with the sampled colours nearest to its own (Ferradans, Papadakis, Peyré, Aujol 2014). How near the new
palette is to the style's is measured by exact optimal transport, on other pixels than those that flowed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float32, Float64
from rich.progress import Progress
from scipy.spatial import KDTree

from firstlight.errors import InvalidInput
from firstlight.pictures import axes_or_new
from firstlight.terminal import console
from firstlight.transport.gradient_flow import Loss, descend, exact_w2_squared
from firstlight.transport.losses import TreeSlicedSobolevLoss
from firstlight.transport.readers import Pixels, as_image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

JUDGED = 1500  # pixels of each image that exact transport compares
NEIGHBOURS = 8  # sampled colours that a pixel moves with


@dataclass(frozen=True, eq=False)
class ColorTransfer:
    """A recoloured image and how near its palette came to the style's.

    Attributes
    ----------
    image : of the shape of the content, its transparency kept; uint8 if the content is, else float32.
    w2_squared_before, w2_squared_after : exact squared 2-Wasserstein distance (``ot.emd2``) of 1,500 colours of the
        content, and of the same pixels of the new image, from 1,500 of the style. Colours run from 0 to 1.
    w2_squared_floor : the same distance between two samples of the style: a perfect palette would be this far away.
    colors, moved : the sampled colours of the content, and where they flowed.
    losses : value of the loss before each iteration.
    """

    image: Pixels
    w2_squared_before: float
    w2_squared_after: float
    w2_squared_floor: float
    colors: Float32[np.ndarray, "n 3"]
    moved: Float32[np.ndarray, "n 3"]
    losses: Float64[np.ndarray, " n_iter"]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the new image, with the distances of the palettes under it."""
        ax = axes_or_new(ax)
        ax.imshow(self.image)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(
            f"exact $W_2^2$ to the style's palette: {self.w2_squared_before:.2g} → {self.w2_squared_after:.2g}"
        )
        return ax


def color_transfer(
    content: Any,
    style: Any,
    loss: Loss | None = None,
    *,
    n_samples: int = 1000,
    lr: float = 0.01,
    n_iter: int = 200,
    seed: int | None = None,
    progress: bool = False,
) -> ColorTransfer:
    """Give an image the colours of another.

    Parameters
    ----------
    content, style : ndarray, shape (height, width, 3) or (height, width, 4)
        Images of type uint8, or of floating numbers between 0 and 1. They may differ in size and type.
    loss : callable, optional
        Distance between two sets of colours, as in `gradient_flow`; tree-sliced Sobolev of order 1.2 with 25 trees of
        4 lines unless given.
    n_samples : int
        Pixels of each image that take part in the flow.
    lr : float
        Learning rate of Adam, in colours that run from 0 to 1.
    n_iter : int
        Number of iterations of the flow.
    seed : int, optional
        Seed of everything random.
    progress : bool
        Show a progress bar on the terminal.

    Returns
    -------
    ColorTransfer
        The new image, and exact distances of the palettes before and after.

    Raises
    ------
    InvalidInput
        If an image or option cannot be used.
    MissingExtra
        If POT is not installed.
    """
    content, style = as_image(content, "content"), as_image(style, "style")
    if n_samples < NEIGHBOURS or n_iter < 1 or not (np.isfinite(lr) and lr > 0):
        raise InvalidInput(
            f"expected n_samples of at least {NEIGHBOURS}, n_iter of at least 1 and a positive lr, "
            f"got n_samples={n_samples}, n_iter={n_iter}, lr={lr}"
        )
    rng = np.random.default_rng(seed)
    if loss is None:
        loss = TreeSlicedSobolevLoss(p=1.2, n_trees=25, n_lines=4, delta=2.0, seed=int(rng.integers(2**31)))
    palette, wanted = _visible_colors(content, "content"), _visible_colors(style, "style")
    colors, target = _blurred(_drawn(palette, n_samples, rng), rng), _blurred(_drawn(wanted, n_samples, rng), rng)
    particles, losses = torch.from_numpy(colors.copy()), np.empty(n_iter)
    steps = descend(particles, torch.from_numpy(target), loss, lr, lambda x: x.clamp_(0, 1))
    with Progress(console=console(stderr=True), disable=not progress) as bar:
        for iteration in bar.track(range(n_iter), description="colour transfer"):
            losses[iteration] = next(steps)[1]
    moved = particles.detach().numpy()
    image = _recolored(content, colors, moved)
    # The same pixels before and after, none chosen for having flowed.
    judged = rng.choice(len(palette), min(JUDGED, len(palette)), replace=False)
    aim, other = _drawn(wanted, JUDGED, rng), _drawn(wanted, JUDGED, rng)
    before, after = palette[judged], _visible_colors(image, "content")[judged]
    return ColorTransfer(
        image,
        w2_squared_before=exact_w2_squared(before, aim),
        w2_squared_after=exact_w2_squared(after, aim),
        w2_squared_floor=exact_w2_squared(other, aim),
        colors=colors,
        moved=moved,
        losses=losses,
    )


def _visible_colors(image: Pixels, name: str) -> Float32[np.ndarray, "pixels 3"]:
    """Colours between 0 and 1 of all pixels that are not wholly transparent."""
    pixels = image.reshape(-1, image.shape[2])
    if pixels.shape[1] == 4:
        pixels = pixels[pixels[:, 3] > 0]
        if not len(pixels):
            raise InvalidInput(f"every pixel of {name} is transparent, so there are no colours")
    if len(pixels) < NEIGHBOURS:
        raise InvalidInput(f"{name} has only {len(pixels)} visible pixels, expected at least {NEIGHBOURS}")
    colors = pixels[:, :3].astype(np.float32)
    return colors / 255 if image.dtype == np.uint8 else colors


def _drawn(colors: Float32[np.ndarray, "pixels 3"], count: int, rng: np.random.Generator) -> Float32[np.ndarray, "n 3"]:
    return colors[rng.choice(len(colors), min(count, len(colors)), replace=False)]


def _blurred(colors: Float32[np.ndarray, "n 3"], rng: np.random.Generator) -> Float32[np.ndarray, "n 3"]:
    """Spread colours over half a step of 8 bits: pixels of one colour would otherwise flow as one and never part."""
    spread = rng.uniform(-0.5 / 255, 0.5 / 255, colors.shape)
    return np.clip(colors + spread, 0, 1).astype(np.float32)


def _recolored(content: Pixels, colors: Float32[np.ndarray, "n 3"], moved: Float32[np.ndarray, "n 3"]) -> Pixels:
    """Move every pixel by the mean displacement of the sampled colours nearest to its own, the nearer counting more."""
    pixels = content.reshape(-1, content.shape[2])
    # Each colour is looked up once, whatever the number of its pixels.
    own, place = np.unique(pixels[:, :3], axis=0, return_inverse=True)
    own = own.astype(np.float32) / (255 if content.dtype == np.uint8 else 1)
    distance, nearest = KDTree(colors).query(own, k=NEIGHBOURS)
    weight = 1 / (distance**2 + 1e-6)
    weight /= weight.sum(axis=1, keepdims=True)
    shift = np.einsum("pk,pkc->pc", weight, (moved - colors)[nearest])
    new = np.clip(own + shift, 0, 1)
    result = content.copy()
    new = np.rint(255 * new) if content.dtype == np.uint8 else new
    result[..., :3] = new[place.ravel()].reshape(*content.shape[:2], 3).astype(content.dtype)
    return result
