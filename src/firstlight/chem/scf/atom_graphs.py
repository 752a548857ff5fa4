"""What the network sees of a molecule: for every atom its neighbours, how far they are and in which direction.

None of it depends on the weights, so a training run computes it once. Neighbour lists are padded to the longest of
them: padded entries have a distance beyond the cutoff, where the radial functions are zero, and contribute nothing.

The polar axis of e3nn's harmonics is the second one. Positions are therefore turned, (x, y, z) → (y, z, x), before
harmonics are taken; with that the components run over m = -l … l for every l, as PySCF has them (for p shells, whose
order there is x, y, z, see `auxiliary_basis.e3nn_order`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from e3nn import o3
from jaxtyping import Float, Float64, Int64
from scipy.spatial import KDTree
from torch import Tensor

HIGHEST_L = 4  # of the auxiliary basis; g functions
COMPONENTS = (HIGHEST_L + 1) ** 2


@dataclass(frozen=True)
class AtomGraph:
    """Atoms of one molecule, or of several one after another, with their neighbours.

    Attributes
    ----------
    species : position of each atom's element in the list of elements.
    neighbours : index of each neighbour; a padded entry points anywhere.
    radial : functions of the distance, zero at the cutoff and in padded entries.
    harmonics : of the direction from the atom to its neighbour, normalised to Σ_m Y_lm² = 2l + 1.
    """

    species: Int64[Tensor, " atoms"]
    neighbours: Int64[Tensor, "atoms near"]
    radial: Float[Tensor, "atoms near functions"]
    harmonics: Float[Tensor, "atoms components near"]

    @property
    def atoms(self) -> int:
        """Number of atoms."""
        return len(self.species)

    def to(self, where: torch.device | torch.dtype) -> "AtomGraph":
        """Return the graph on another device, or its real numbers in another precision."""
        moved = {"radial": self.radial.to(where), "harmonics": self.harmonics.to(where)}
        if isinstance(where, torch.device):
            moved |= {"species": self.species.to(where), "neighbours": self.neighbours.to(where)}
        return replace(self, **moved)


def atom_graph(
    species: Int64[np.ndarray, " atoms"],
    positions: Float64[np.ndarray, "atoms 3"],
    cutoff: float,
    functions: int,
) -> AtomGraph:
    """Find the neighbours of every atom, in double precision.

    Parameters
    ----------
    species : position of each atom's element in the list of elements.
    positions : in ångström.
    cutoff : how far a neighbour may be, in ångström.
    functions : number of radial functions.
    """
    near = KDTree(positions).query_ball_point(positions, cutoff, return_sorted=True)
    near = [[b for b in found if b != a] for a, found in enumerate(near)]
    neighbours = np.zeros((len(near), max(1, *(len(found) for found in near), 0)), dtype=np.int64)
    apart = np.zeros((*neighbours.shape, 3))
    apart[..., 0] = 2 * cutoff  # of padded entries
    for a, found in enumerate(near):
        neighbours[a, : len(found)] = found
        apart[a, : len(found)] = positions[found] - positions[a]
    directions = torch.from_numpy(apart[..., [1, 2, 0]])
    harmonics = o3.spherical_harmonics(list(range(HIGHEST_L + 1)), directions, normalize=True)
    return AtomGraph(
        torch.from_numpy(species),
        torch.from_numpy(neighbours),
        radial_functions(directions.norm(dim=-1), cutoff, functions),
        (harmonics * np.sqrt(4 * np.pi)).transpose(1, 2).contiguous(),
    )


def radial_functions(
    distances: Float[Tensor, "*shape"], cutoff: float, functions: int
) -> Float[Tensor, "*shape functions"]:
    """Return √(2r_c) · sin(nπr/r_c)/r · u(r/r_c), n = 1, 2, …: spherical Bessel functions under an envelope.

    The envelope u(x) = (1 − x²)³ vanishes at the cutoff with two derivatives (DimeNet, Gasteiger et al. 2020, has the
    functions with another envelope).
    """
    x = (distances / cutoff)[..., None]
    waves = torch.arange(1, functions + 1, dtype=distances.dtype, device=distances.device)
    bessel = np.sqrt(2 / cutoff) * torch.sin(np.pi * waves * x) / x
    return bessel * (1 - x.clamp(max=1) ** 2) ** 3


def joined(graphs: Sequence[AtomGraph]) -> AtomGraph:
    """Put molecules one after another."""
    near = max(graph.neighbours.shape[1] for graph in graphs)
    starts = np.cumsum([0, *(graph.atoms for graph in graphs)])
    longer = [(graph, near - graph.neighbours.shape[1]) for graph in graphs]
    pad = torch.nn.functional.pad
    shifted = [pad(g.neighbours + int(start), (0, more)) for (g, more), start in zip(longer, starts[:-1], strict=True)]
    return AtomGraph(
        torch.cat([graph.species for graph in graphs]),
        torch.cat(shifted),
        torch.cat([pad(g.radial, (0, 0, 0, more)) for g, more in longer]),
        torch.cat([pad(g.harmonics, (0, more)) for g, more in longer]),
    )
