"""What a learned operator sees of a patch: its rim and its free nodes, with lengths in units of the patch.

Everything is a distance, an angle or a ratio of neighbouring matrix entries, so turned, moved or scaled patches look
the same, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Patch
from firstlight.pde.schwarz.elliptic import EllipticProblem
from firstlight.pde.schwarz.meshes import signed_areas


@dataclass(frozen=True)
class PatchViews:
    """Patches side by side, padded to the largest.

    Attributes
    ----------
    rim, normal, weight, turn : nodes at the edge of the patch, outward normals, half the length of the edges at the
        node, and the angle by which the edge turns there.
    given : which rim nodes have a value, the others carry a flux.
    free : free nodes.
    step : −Aᵢⱼ/Aᵢᵢ of free node i and rim node j: where a random walker goes next.
    stay : 1/Aᵢᵢ of free nodes.
    rim_diffusion, free_diffusion : coefficient over its geometric mean in the patch.
    is_rim, is_free : what is no padding.
    """

    rim: Float[Tensor, "patches rim 2"]
    normal: Float[Tensor, "patches rim 2"]
    weight: Float[Tensor, "patches rim"]
    turn: Float[Tensor, "patches rim"]
    given: Bool[Tensor, "patches rim"]
    free: Float[Tensor, "patches free 2"]
    step: Float[Tensor, "patches free rim"]
    stay: Float[Tensor, "patches free"]
    rim_diffusion: Float[Tensor, "patches rim"]
    free_diffusion: Float[Tensor, "patches free"]
    is_rim: Bool[Tensor, "patches rim"]
    is_free: Bool[Tensor, "patches free"]

    def to(self, device: torch.device | str) -> "PatchViews":
        """Return them on another device."""
        return PatchViews(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def view(patch: Patch, problem: EllipticProblem) -> dict[str, np.ndarray]:
    """Return what a learned operator sees of one patch, by the names of `PatchViews`.

    Raises
    ------
    InvalidInput
        If a value is given inside the patch, where a learned operator sees none.
    """
    rim = rim_nodes(patch)
    # About the middle of the patch, since single precision has no room for coordinates of maps.
    points, edges = patch.points - patch.points.mean(axis=0), patch.edges
    along = points[edges[:, 1]] - points[edges[:, 0]]
    outward = np.c_[along[:, 1], -along[:, 0]]
    normal, weight = np.zeros_like(points), np.zeros(len(points))
    for end in (0, 1):
        np.add.at(normal, edges[:, end], outward / 2)
        np.add.at(weight, edges[:, end], np.hypot(*along.T) / 2)
    turn = np.zeros(len(points))
    arriving, leaving = edges[:, 1], edges[:, 0]
    heading = np.arctan2(along[:, 1], along[:, 0])
    np.add.at(turn, arriving, -heading)
    np.add.at(turn, leaving, heading)
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    length = np.hypot(*normal.T)
    # Where a rim touches itself in one node, its normals may cancel; any direction will do.
    normal = np.where(
        length[:, None] > 1e-9 * weight[:, None], normal / np.maximum(length, 1e-300)[:, None], [1.0, 0.0]
    )
    side = np.sqrt(signed_areas(patch.points, patch.triangles).sum())
    rows = problem.matrix[patch.nodes[patch.free]][:, patch.nodes].toarray()
    diagonal = rows[np.arange(len(patch.free)), patch.free]
    a = np.ones(len(points)) if problem.diffusion is None else problem.diffusion[patch.nodes]
    mean = np.exp(np.log(a).mean())
    return {
        "rim": points[rim] / side,
        "normal": normal[rim],
        "weight": weight[rim] / side,
        "turn": turn[rim],
        "given": np.isin(rim, patch.fixed),
        "free": points[patch.free] / side,
        "step": -rows[:, rim] / diagonal[:, None] * ~(rim[None] == patch.free[:, None]),
        "stay": mean / diagonal,
        "rim_diffusion": a[rim] / mean,
        "free_diffusion": a[patch.free] / mean,
    }


def rim_nodes(patch: Patch) -> np.ndarray:
    """Return the nodes at the edge of a patch: those with a given value in their order, then the others.

    Raises
    ------
    InvalidInput
        If a value is given inside.
    """
    rim = np.unique(patch.edges)
    inside = np.setdiff1d(patch.fixed, rim)
    if len(inside):
        raise InvalidInput(
            f"a value is given at node {patch.nodes[inside[0]]}, inside the domain; learned operators know values on "
            "boundaries only: use ExactLocal(), or cut the mesh open there"
        )
    return np.concatenate([patch.fixed, np.setdiff1d(rim, patch.fixed)])


def padded(views: Sequence[dict[str, np.ndarray]]) -> PatchViews:
    """Put views of patches side by side."""
    rims, frees = [len(one["rim"]) for one in views], [len(one["free"]) for one in views]
    sizes = {"rim": max(rims), "free": max(frees)}
    arrays = {}
    for field in fields(PatchViews):
        if field.name in ("is_rim", "is_free"):
            counts = rims if field.name == "is_rim" else frees
            arrays[field.name] = torch.tensor(np.arange(sizes[field.name[3:]]) < np.array(counts)[:, None])
            continue
        parts = [one[field.name] for one in views]
        shape = tuple(max(extents) for extents in zip(*(part.shape for part in parts), strict=True))
        whole = np.zeros((len(parts), *shape), dtype=bool if parts[0].dtype == bool else np.float32)
        for row, part in zip(whole, parts, strict=True):
            row[tuple(slice(0, extent) for extent in part.shape)] = part
        arrays[field.name] = torch.from_numpy(whole)
    return PatchViews(**arrays)
