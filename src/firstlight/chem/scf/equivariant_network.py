"""An E(3)-equivariant message-passing network from atoms to coefficients of their auxiliary shells.

Every atom carries features x_lm, l = 0 … 4, in several channels, that turn with the molecule like the harmonics Y_lm.
A layer does three things, each of which keeps that so:

1. *Messages.* a_i,lm = Σ_j R_l(r_ij) φ_l(x_j,0) Y_lm(r̂_ij) + Σ_j R'_l(r_ij) φ'_l(x_j,0) x_j,lm: neighbours are told by
   their direction, as in the atomic cluster expansion (Drautz 2019), and by what they carry (l ≤ 2 only, which is
   where the cost is).
2. *Products on the sphere.* Two features are read as functions of direction, Σ_lm x_lm Y_lm(ω), multiplied point by
   point, and projected back: the Gaunt tensor product (Luo, Chen and Krishnapriyan, ICLR 2024), here on a quadrature
   that is exact for the degrees that occur, so that nothing of the equivariance is lost. It brings angles in.
3. *Gates.* All channels of an l are mixed linearly and scaled by functions of the invariants x_00.

The head of an element is one equivariant linear map from the last features to the shells of its auxiliary basis.

Features are stored component first, (lm, atom, channel), so that each step is one matrix product.
"""

from collections.abc import Sequence

import numpy as np
import torch
from e3nn import o3
from jaxtyping import Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor, nn

from firstlight.chem.scf.atom_graphs import COMPONENTS, HIGHEST_L, AtomGraph

CARRIED_L = 2  # highest l of the features that neighbours pass on
FACTOR_L = 3  # highest l of the factors of a product
TYPICAL_NEIGHBOURS = 10.0  # keeps the size of sums over neighbours near one

Features = Float[Tensor, "components atoms channels"]


def components(l: int) -> slice:  # noqa: E741 - the field's letter
    """Where the 2l + 1 components of l stand among all."""
    return slice(l * l, (l + 1) * (l + 1))


class EquivariantLinear(nn.Module):
    """Mix the channels of each l by a matrix of its own; a constant may be added to l = 0 only."""

    def __init__(self, channels_in: int, channels_out: int, highest: int = HIGHEST_L) -> None:
        super().__init__()
        self.matrices = nn.Parameter(torch.randn(highest + 1, channels_in, channels_out) / channels_in**0.5)

    def forward(self, x: Features) -> Float[Tensor, "mixed_components atoms mixed_channels"]:
        """Return as many l as there are matrices."""
        _, atoms, channels = x.shape
        mixed = [
            (x[components(l)].reshape(-1, channels) @ matrix).view(2 * l + 1, atoms, -1)
            for l, matrix in enumerate(self.matrices)  # noqa: E741
        ]
        return torch.cat(mixed)


class Messages(nn.Module):
    """Step 1, sums over neighbours."""

    def __init__(self, channels: int, functions: int, carry: bool) -> None:
        super().__init__()
        filters = HIGHEST_L + 1 + (CARRIED_L + 1 if carry else 0)
        self.channels, self.carry = channels, carry
        self.radial = nn.Parameter(torch.randn(functions, filters * channels) / functions**0.5)
        self.senders = nn.Linear(channels, filters * channels)

    def forward(self, x: Features, graph: AtomGraph) -> Features:
        """Return what each atom is told."""
        weights = (graph.radial @ self.radial) * self.senders(x[0])[graph.neighbours]
        weights = weights.view(*graph.neighbours.shape, -1, self.channels) / TYPICAL_NEIGHBOURS**0.5
        directions = range(HIGHEST_L + 1)
        told = [torch.bmm(graph.harmonics[:, components(l)], weights[:, :, l]) for l in directions]  # noqa: E741
        messages = torch.cat(told, dim=1).transpose(0, 1)
        if not self.carry:
            return messages
        # Multiplied and summed rather than contracted: einsum would make one tiny product per atom and channel.
        passed = torch.cat(
            [
                (x[components(l)][:, graph.neighbours] * weights[:, :, HIGHEST_L + 1 + l]).sum(dim=2)
                for l in range(CARRIED_L + 1)  # noqa: E741
            ]
        )
        return messages + nn.functional.pad(passed, (0, 0, 0, 0, 0, COMPONENTS - len(passed)))


class SphereProduct(nn.Module):
    """Step 2, the product of two functions of direction."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.left = EquivariantLinear(channels, channels, FACTOR_L)
        self.right = EquivariantLinear(channels, channels, FACTOR_L)
        directions, weights = sphere_quadrature(2 * FACTOR_L + HIGHEST_L)
        harmonics = o3.spherical_harmonics(list(range(HIGHEST_L + 1)), directions, normalize=True, normalization="norm")
        degrees = torch.repeat_interleave(2 * torch.arange(HIGHEST_L + 1) + 1, _degeneracies(HIGHEST_L))
        # A factor of unit variance per component gives a product of about unit variance.
        sampled = harmonics[:, : (FACTOR_L + 1) ** 2] / (FACTOR_L + 1) ** 0.5
        # No buffers: a module that was in single precision would keep rounded ones when it is made double.
        self.sample, self.project = sampled, (weights[:, None] * harmonics * degrees).T

    def forward(self, x: Features) -> Features:
        """Return the product of two mixtures of the features of an atom."""
        _, atoms, channels = x.shape
        sample, project = self.sample.to(x), self.project.to(x)
        left, right = (sample @ side(x).view(sample.shape[1], -1) for side in (self.left, self.right))
        return (project @ (left * right)).view(COMPONENTS, atoms, channels)


class Layer(nn.Module):
    """Messages, products and gates; what it finds is added to the features."""

    def __init__(self, channels: int, functions: int, carry: bool) -> None:
        super().__init__()
        self.messages = Messages(channels, functions, carry)
        self.gather = EquivariantLinear(2 * channels if carry else channels, channels)
        self.product = SphereProduct(channels)
        self.mix = EquivariantLinear(2 * channels, channels)
        self.gates = nn.Sequential(
            nn.Linear(3 * channels, 2 * channels), nn.SiLU(), nn.Linear(2 * channels, (HIGHEST_L + 2) * channels)
        )
        self.carry = carry

    def forward(self, x: Features, graph: AtomGraph) -> Features:
        """Return the features with what was found."""
        told = self.messages(x, graph)
        seen = self.gather(torch.cat([told, x], dim=2) if self.carry else told)
        both = torch.cat([seen, self.product(seen)], dim=2)
        gates = self.gates(torch.cat([x[0], both[0]], dim=1)).view(graph.atoms, HIGHEST_L + 2, -1)
        opened = gates[:, 1:].transpose(0, 1).repeat_interleave(_degeneracies(HIGHEST_L), dim=0)
        update = self.mix(both) * opened
        return x + torch.cat([update[:1] + gates[:, 0], update[1:]])


class Heads(nn.Module):
    """The heads of one element: for each l a matrix from channels to shells.

    It is ``e3nn.o3.Linear`` on features that are stored component first, without its bookkeeping, which took half the
    time of the network.
    """

    def __init__(self, irreps: str, channels: int, heads: int) -> None:
        super().__init__()
        self.irreps, self.count = o3.Irreps(irreps), heads
        self.matrices = nn.ParameterList(torch.randn(heads, channels, count) for count, _ in self.irreps)

    def forward(self, x: Features) -> Float[Tensor, "heads atoms functions"]:
        """Return the outputs of each head for the atoms of this element."""
        _, atoms, channels = x.shape
        found = [
            (x[components(irrep.l)].reshape(-1, channels) @ matrix / channels**0.5)
            .view(self.count, irrep.dim, atoms, count)
            .permute(0, 2, 3, 1)
            .flatten(2)
            for (count, irrep), matrix in zip(self.irreps, self.matrices, strict=True)
        ]
        return torch.cat(found, dim=2)


class DensityNetwork(nn.Module):
    """From atoms to the coefficients of their shells.

    Parameters
    ----------
    irreps : for each element, the shells of its auxiliary basis as e3nn writes them.
    channels : width of the features.
    layers : rounds of messages.
    functions : number of radial functions.
    heads : how many heads each element has, all on the same features.
    """

    def __init__(self, irreps: Sequence[str], channels: int, layers: int, functions: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(irreps), channels)
        self.layers = nn.ModuleList(Layer(channels, functions, carry=number > 0) for number in range(layers))
        self.heads = nn.ModuleList(Heads(shells, channels, heads) for shells in irreps)

    def forward(self, graph: AtomGraph) -> list[Float[Tensor, "heads _ _"]]:
        """Return for each element the outputs of its atoms, in the order of the graph and of e3nn."""
        x = torch.zeros(COMPONENTS, graph.atoms, self.embedding.embedding_dim).to(graph.radial)
        x[0] = self.embedding(graph.species)
        for layer in self.layers:
            x = layer(x, graph)
        return [head(x[:, graph.species == number]) for number, head in enumerate(self.heads)]


def sphere_quadrature(degree: int) -> tuple[Float[Tensor, "points 3"], Float[Tensor, " points"]]:
    """Return directions and weights that average polynomials up to a degree over the sphere exactly.

    Gauss-Legendre along the axis times equal steps around it; the weights add up to 1.
    """
    heights, weights = leggauss(degree // 2 + 1)
    angles = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    z, phi = (grid.ravel() for grid in np.meshgrid(heights, angles, indexing="ij"))
    radius = np.sqrt(1 - z**2)
    directions = np.stack([radius * np.cos(phi), radius * np.sin(phi), z], axis=1)
    return torch.from_numpy(directions), torch.from_numpy(np.repeat(weights / 2 / len(angles), len(angles)))


def _degeneracies(highest: int) -> Tensor:
    return 2 * torch.arange(highest + 1) + 1
