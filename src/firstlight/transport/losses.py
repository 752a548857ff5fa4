"""Tree-sliced distances as PyTorch losses."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.transport.averaging import sharpness
from firstlight.transport.sobolev_tree import check_order
from firstlight.transport.tree_sampling import check_count
from firstlight.transport.tree_sliced import tree_sliced_sobolev
from firstlight.transport.tree_sliced_sphere import tree_sliced_sobolev_sphere


class TreeSlicedSobolevLoss(torch.nn.Module):
    """TS_p between a batch and a target, on new random trees at every call.

    Fixed trees would let a network fit the few projections it sees; `seed` makes the sequence of trees repeatable.

    Parameters
    ----------
    p, n_trees, n_lines, delta, splitting : as in `tree_sliced_sobolev`.
    domain : "euclidean", or "sphere" for points on the unit sphere.
    seed : seed of the sequence of trees.

    Raises
    ------
    InvalidInput
        If an option cannot be used.

    Examples
    --------
    >>> import torch
    >>> from firstlight.transport import TreeSlicedSobolevLoss
    >>> loss = TreeSlicedSobolevLoss(p=1.5, n_trees=25, seed=0)
    >>> points = torch.zeros(8, 2, requires_grad=True)
    >>> loss(points, torch.ones(8, 2)).backward()
    >>> bool((points.grad.sum(dim=0) < 0).all())
    True
    """

    def __init__(
        self,
        p: float | int = 2.0,
        n_trees: int = 250,
        n_lines: int = 4,
        delta: float | int = 2.0,
        splitting: Literal["distance", "uniform"] = "distance",
        domain: Literal["euclidean", "sphere"] = "euclidean",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        if domain not in ("euclidean", "sphere"):
            raise InvalidInput(f"domain must be 'euclidean' or 'sphere', got {domain!r}")
        check_order(p)
        sharpness(delta, splitting)
        check_count(n_trees, "n_trees")
        check_count(n_lines, "n_lines")
        self.domain = domain
        self.options: dict[str, Any] = {
            "p": p, "n_trees": n_trees, "n_lines": n_lines, "delta": delta, "splitting": splitting
        }  # fmt: skip
        self._rng = np.random.default_rng(seed)

    def forward(self, x: Tensor, y: Tensor, a: Tensor | None = None, b: Tensor | None = None) -> Tensor:
        """Return the distance between points x (n, d) with weights a and points y (m, d) with weights b."""
        distance = tree_sliced_sobolev if self.domain == "euclidean" else tree_sliced_sobolev_sphere
        return distance(x, y, a, b, seed=self._rng, **self.options)

    def extra_repr(self) -> str:
        """Options, as ``repr`` of a module shows them."""
        return ", ".join(f"{name}={value!r}" for name, value in {**self.options, "domain": self.domain}.items())
