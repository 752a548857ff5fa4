"""Tree-sliced Sobolev distances between point clouds, called like POT's sliced distances.

TS_p(μ, ν) = (E_T S_p(μ_T, ν_T)^p)^{1/p}: the mean over random trees of lines T of the Sobolev distance between the
two measures laid on the tree (Tran, Tran, Chu, Pham, Tran, Le, Nguyen 2026). At p = 1 it is the tree-sliced
Wasserstein distance; TS_p^p never exceeds that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.transport.averaging import sharpness, sliced_distance
from firstlight.transport.line_slices import LineSlices
from firstlight.transport.measures import Clouds, is_tensor, warn_of_lost_digits
from firstlight.transport.sobolev_tree import check_order
from firstlight.transport.streaming import Gradients, Slices
from firstlight.transport.tree_sampling import sample_tree_system
from firstlight.transport.tree_systems import Structure, TreeSystem


def tree_sliced_sobolev(
    X_s: Any,
    X_t: Any,
    a: Any = None,
    b: Any = None,
    *,
    n_trees: int = 250,
    n_lines: int = 4,
    p: float | int = 2.0,
    delta: float | int = 2.0,
    splitting: Literal["distance", "uniform"] = "distance",
    structure: Structure = "concurrent",
    trees: TreeSystem | None = None,
    seed: int | np.random.Generator | None = None,
    log: bool = False,
) -> Any:
    r"""Tree-sliced Sobolev distance TS_p between two weighted point clouds.

    .. math:: TS_p = \Big(\frac1L \sum_T \sum_{e \in T} \beta_e |D_e|^p\Big)^{1/p}

    Parameters
    ----------
    X_s, X_t : array-like or torch.Tensor, shape (n, d) and (m, d)
        Source and target points.
    a, b : array-like or torch.Tensor, shape (n,) and (m,), optional
        Weights of the points, at least 0 and of equal sums; equal weights unless given. Points of weight 0 are no
        part of the measure: they change nothing.
    n_trees, n_lines : int
        Number of random trees and of lines in each; n_trees × n_lines projections in all.
    p : float
        Order, at least 1. Orders between 1 and 2 have the best gradients.
    delta : float
        Sharpness of the split by distance, per unit of length; the larger, the more of a point goes to its
        nearest line.
    splitting : {"distance", "uniform"}
        Split each point's mass between the lines by its distance to them, or evenly.
    structure : {"concurrent", "chain"}
        Trees of lines through one root, or chains of lines.
    trees : TreeSystem, optional
        The trees to use, for example those of ``log["trees"]``; `n_trees`, `n_lines`, `structure` and `seed` are then
        not used. Otherwise drawn around the mean of the target.
    seed : int or numpy.random.Generator, optional
        Where the random trees come from.
    log : bool
        Also return a dictionary: "trees"; "tree_values", S_p^p of each tree; "standard_error", the Monte-Carlo
        standard error of the distance.

    Returns
    -------
    distance : float, or 0-d torch.Tensor for torch input
        TS_p. Differentiable by the points and weights for torch input; at equal measures the gradient is 0.
    log : dict
        Only if `log`.

    Raises
    ------
    InvalidInput
        If shapes, weights or an option cannot be used; the text says which and how to mend it.

    Notes
    -----
    The support of both measures enters the trees' lengths, so that for p > 1 the distance is taken on trees that depend
    on the pair; see the documentation on what that means for the triangle inequality.
    """
    sample = partial(sample_tree_system, n_trees=n_trees, n_lines=n_lines, structure=structure, seed=seed)
    method = _OnLines(check_order(p), sharpness(delta, splitting), trees, sample)
    return sliced_distance(X_s, X_t, a, b, method, log=log)


def tree_sliced_wasserstein(X_s: Any, X_t: Any, a: Any = None, b: Any = None, **options: Any) -> Any:
    """Tree-sliced Wasserstein distance: `tree_sliced_sobolev` at p = 1, with the same options but p.

    On every tree it equals optimal transport with the tree's metric as cost.
    """
    if "p" in options:
        raise InvalidInput("tree_sliced_wasserstein is of order 1; for other orders call tree_sliced_sobolev")
    return tree_sliced_sobolev(X_s, X_t, a, b, p=1.0, **options)


@dataclass(frozen=True)
class _OnLines:
    """How clouds are laid on trees of lines; see `averaging.Method`."""

    p: float
    delta: float | None
    trees: TreeSystem | None
    sample: Callable[[Float64[np.ndarray, " d"]], TreeSystem]

    def choose_trees(self, clouds: Clouds) -> TreeSystem:
        """Return the trees given, or new ones around the target."""
        trees, d = self.trees, clouds.X_t.shape[1]
        if trees is None:
            trees = self.sample(clouds.center())
        elif not isinstance(trees, TreeSystem):
            raise InvalidInput(f"trees must be a TreeSystem, got {type(trees).__name__}")
        elif trees.roots.shape[1] != d:
            raise InvalidInput(f"the trees live in {trees.roots.shape[1]} dimensions, the points in {d}")
        warn_of_lost_digits(clouds, trees.roots)
        return trees

    def slices(self, clouds: Clouds, trees: TreeSystem, gradients: Gradients) -> Slices:
        """Return the clouds on the trees: by compiled kernels on the processor, by tensor operations elsewhere."""
        if is_tensor(clouds.X_s):
            from firstlight.transport.tensor_slices import TensorLineSlices

            return TensorLineSlices(clouds, trees, self.p, self.delta, gradients)
        return LineSlices(clouds, trees, self.p, self.delta, gradients)
