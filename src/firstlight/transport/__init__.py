"""Tree-sliced Sobolev distances between point clouds: exact, streaming, called like POT's sliced distances.

For whoever compares samples or trains on such a comparison: generative models, domain adaptation, single cells, topic
models. Takes NumPy arrays and PyTorch tensors, weights, samples of different sizes; memory does not grow with the
number of projections.

Source: Tran, Tran, Chu, Pham, Tran, Le, Nguyen, *Tree-sliced Sobolev IPM*, ICLR 2026.

Examples
--------
>>> import numpy as np
>>> from firstlight.transport import tree_sliced_sobolev
>>> rng = np.random.default_rng(0)
>>> x, y = rng.normal(size=(500, 3)), rng.normal(size=(400, 3)) + [1, 0, 0]
>>> distance, log = tree_sliced_sobolev(x, y, p=1.5, n_trees=250, seed=0, log=True)
>>> tree_sliced_sobolev(x, y, p=1.5, trees=log["trees"]) == distance
True
"""

from typing import TYPE_CHECKING, Any

from firstlight.transport.certificates import DualCertificate, dual_certificate
from firstlight.transport.sobolev_tree import SobolevCritic, sobolev_critic, sobolev_ipm_tree
from firstlight.transport.spherical_trees import SphericalTreeSystem
from firstlight.transport.tree_sampling import sample_spherical_trees, sample_tree_system
from firstlight.transport.tree_sliced import tree_sliced_sobolev, tree_sliced_wasserstein
from firstlight.transport.tree_sliced_sphere import tree_sliced_sobolev_sphere, tree_sliced_sobolev_sphere_unif
from firstlight.transport.tree_systems import TreeSystem

if TYPE_CHECKING:
    from firstlight.transport.losses import TreeSlicedSobolevLoss

__all__ = [
    "DualCertificate",
    "SobolevCritic",
    "SphericalTreeSystem",
    "TreeSlicedSobolevLoss",
    "TreeSystem",
    "dual_certificate",
    "sample_spherical_trees",
    "sample_tree_system",
    "sobolev_critic",
    "sobolev_ipm_tree",
    "tree_sliced_sobolev",
    "tree_sliced_sobolev_sphere",
    "tree_sliced_sobolev_sphere_unif",
    "tree_sliced_wasserstein",
]


def __getattr__(name: str) -> Any:
    if name != "TreeSlicedSobolevLoss":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # PyTorch is loaded when its loss is named: that takes a second, which whoever compares arrays would spend too.
    from firstlight.transport.losses import TreeSlicedSobolevLoss

    return TreeSlicedSobolevLoss
