"""The learned harmonic measure and Green's function of a patch.

The network never sees boundary values. From the shape of a patch it predicts how much each given value counts at each
free node: a softmax over the rim, so rows are positive and sum to one whatever the network says. Its logits begin with
the Poisson kernel of the half plane behind each rim node, of which it learns the correction. The Green's function
begins with that of the half plane, log(1 + 4 d d'/r²)/4π, times a learned positive factor, and is symmetric.

Where all of the rim is given and nothing but the Laplacian acts, linear functions are solutions, of the equation and of
linear elements. The kernel is then tilted, Pⱼ ∝ P̂ⱼ exp(λ·yⱼ), by the one λ for which it reproduces them: the
maximum-entropy coordinates of Hormann and Sukumar (2008) with the learned kernel as prior.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Patch
from firstlight.pde.schwarz.elliptic import EllipticProblem
from firstlight.pde.schwarz.local_operators import LocalMap
from firstlight.pde.schwarz.patch_views import PatchViews, padded, view
from firstlight.pretrained import Pretrained

AT_ONCE = 32  # patches
PAIRS = 8
"""Features of a pair: depth, offset along the rim, distance, its logarithm, two ratios, a walker's step, the prior."""


class HarmonicKernel(Pretrained):
    """A `LocalOperator` whose answers obey the maximum principle whatever it has learned.

    Parameters
    ----------
    width : of all hidden layers.
    rounds : of messages along the rim.
    heads : of attention.
    loads : whether it has a Green's function, for sources, fluxes and coefficients; without, it knows the Laplacian
        with values on all of the boundary.
    """

    def __init__(self, width: int = 64, rounds: int = 2, heads: int = 4, loads: bool = False) -> None:
        super().__init__()
        self.rim_input = _mlp(4, width, width)
        self.free_input = _mlp(2, width, width)
        self.along = nn.ModuleList([Messages(width, heads) for _ in range(rounds)])
        self.inward = Messages(width, heads)
        self.measure = PairHead(width, PAIRS)
        self.green = PairHead(width, 3) if loads else None

    def forward(
        self, views: PatchViews
    ) -> tuple[Float[Tensor, "patches free rim"], Float[Tensor, "patches free free"] | None]:
        """Return harmonic measures, zero on what is not given, and Green's functions if it has them."""
        rim_data = [views.weight * 10, views.turn, views.given.float(), _log(views.rim_diffusion)]
        rim = self.rim_input(torch.stack(rim_data, dim=-1))
        free = self.free_input(torch.stack([_log(views.stay), _log(views.free_diffusion)], dim=-1))
        around = _pairs(views, views.rim, torch.zeros_like(views.rim @ views.rim.mT))
        across = _pairs(views, views.free, views.step)
        for messages in self.along:
            rim = messages(rim, rim, around, views.is_rim)
        free = self.inward(free, rim, across, views.is_rim)
        logits = across[..., -1] + self.measure(free, rim, across)
        known = (views.given & views.is_rim)[:, None]
        measure = logits.masked_fill(~known, -1e9).softmax(dim=-1) * known
        return measure, None if self.green is None else self._green(self.green, views, free)

    def maps(self, patches: Sequence[Patch], problem: EllipticProblem) -> list[LocalMap]:
        """Predict the linear answer of every patch.

        Raises
        ------
        InvalidInput
            If the problem has a coefficient, or part of a rim carries a flux, and the kernel has no Green's function;
            if it has a reaction, or a value is given inside the domain.
        """
        if problem.reaction:
            raise InvalidInput("this kernel knows no reaction term; ExactLocal() does")
        if self.green is None and problem.diffusion is not None:
            raise InvalidInput('this kernel was made for the Laplacian; for a coefficient use that named "darcy"')
        found: list[LocalMap] = []
        device = next(self.parameters()).device
        for first in range(0, len(patches), AT_ONCE):
            some = patches[first : first + AT_ONCE]
            views = padded([view(patch, problem) for patch in some])
            if self.green is None and bool((views.is_rim & ~views.given).any()):
                raise InvalidInput('this kernel needs values on all of the boundary; for fluxes use that named "mixed"')
            with torch.no_grad():
                measures, greens = self(views.to(device))
            for number, patch in enumerate(some):
                found.append(self._map(patch, problem, measures[number], None if greens is None else greens[number]))
        return found

    def _map(self, patch: Patch, problem: EllipticProblem, measure: Tensor, green: Tensor | None) -> LocalMap:
        free, fixed = len(patch.free), len(patch.fixed)
        harmonic = measure[:free, :fixed].double().cpu().numpy()
        harmonic /= harmonic.sum(axis=1, keepdims=True)  # single precision left 1e-7
        all_given = not np.setdiff1d(patch.edges, patch.fixed).size
        if problem.diffusion is None and all_given:
            harmonic = _exact_for_linear(harmonic, patch)
        if green is None:
            return LocalMap(harmonic, None)
        scale = 1.0 if problem.diffusion is None else float(np.exp(np.log(problem.diffusion[patch.nodes]).mean()))
        return LocalMap(harmonic, green[:free, :free].double().cpu().numpy() / scale)

    def _green(self, head: nn.Module, views: PatchViews, free: Tensor) -> Tensor:
        """Return the half-plane's Green's function, smoothed over a node's own size, times a learned factor."""
        depth = _depth(views)
        gap2 = (views.free[:, :, None] - views.free[:, None]).square().sum(dim=-1)
        own = torch.exp(-4 * math.pi * views.stay)  # so that the diagonal begins near 1/A
        spread = own[:, :, None] * own[:, None] * 4 * (depth[:, :, None] * depth[:, None]).clamp(min=1e-8)
        prior = torch.log1p(4 * depth[:, :, None] * depth[:, None] / (gap2 + spread + 1e-6)) / (4 * math.pi)
        pairs = torch.stack([(gap2 + 1e-6).sqrt(), _log(gap2), _log(prior)], dim=-1)
        factor = head(free, free, pairs)
        diffusion = _log(views.free_diffusion)
        both = (factor + factor.mT) / 2 - (diffusion[:, :, None] + diffusion[:, None]) / 2
        inside = views.is_free[:, :, None] & views.is_free[:, None]
        return prior * both.clamp(-20, 20).exp() * inside


class Messages(nn.Module):
    """Attention whose weights and contents both know how sender and receiver lie to each other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.receiver, self.sender = nn.Linear(width, width), nn.Linear(width, width)
        self.pair = nn.Linear(PAIRS, width)
        self.attend = nn.Linear(width, heads)
        self.update = _mlp(2 * width, width, width)
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        to: Float[Tensor, "patches to width"],
        of: Float[Tensor, "patches of width"],
        pairs: Float[Tensor, "patches to of features"],
        present: Tensor,
    ) -> Float[Tensor, "patches to width"]:
        """Return the receivers after one round."""
        said = nn.functional.gelu(self.pair(pairs) + self.receiver(to)[:, :, None] + self.sender(of)[:, None])
        weights = self.attend(said).masked_fill(~present[:, None, :, None], -1e9).softmax(dim=2)
        heard = torch.einsum("btoh,btohw->bthw", weights, said.unflatten(-1, (self.heads, -1))).flatten(2)
        return self.norm(to + self.update(torch.cat([to, heard], dim=-1)))


class PairHead(nn.Module):
    """A number for every pair."""

    def __init__(self, width: int, pairs: int) -> None:
        super().__init__()
        self.receiver, self.sender = nn.Linear(width, width), nn.Linear(width, width)
        self.pair = _mlp(pairs, width, width)
        self.hidden, self.out = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, to: Tensor, of: Tensor, pairs: Tensor) -> Tensor:
        """Return them."""
        both = nn.functional.gelu(self.pair(pairs) + self.receiver(to)[:, :, None] + self.sender(of)[:, None])
        return self.out(nn.functional.gelu(self.hidden(both)))[..., 0]


def _pairs(views: PatchViews, points: Tensor, step: Tensor) -> Float[Tensor, "patches points rim features"]:
    """Describe how points lie to the rim, in the frame of each rim node."""
    apart = views.rim[:, None] - points[:, :, None]
    nx, ny = views.normal[..., 0][:, None], views.normal[..., 1][:, None]
    depth = apart[..., 0] * nx + apart[..., 1] * ny
    offset = apart[..., 1] * nx - apart[..., 0] * ny
    distance = (apart.square().sum(dim=-1) + 1e-6).sqrt()
    # The half plane's Poisson kernel, kept positive behind the rim of a domain that is not convex.
    ahead = nn.functional.softplus(40 * depth) / 40 + 1e-4
    prior = torch.log(ahead) - 2 * torch.log(distance) + _log(views.weight)[:, None]
    return torch.stack(
        [depth, offset, distance, torch.log(distance), depth / distance, offset / distance, step, prior], dim=-1
    )


def _depth(views: PatchViews) -> Float[Tensor, "patches free"]:
    """Return the distance of free nodes to the nearest given one."""
    distance = torch.cdist(views.free, views.rim, compute_mode="donot_use_mm_for_euclid_dist")
    return distance.masked_fill(~(views.given & views.is_rim)[:, None], torch.inf).amin(dim=-1).clamp(max=4.0)


def _exact_for_linear(prior: np.ndarray, patch: Patch) -> np.ndarray:
    """Tilt the kernel of a patch in double precision; rows that resist keep the prior."""
    points = patch.points - patch.points.mean(axis=0)
    points = torch.from_numpy(points / np.ptp(points))
    rim, free = points[patch.fixed], points[patch.free]
    new = tilted(torch.from_numpy(prior), rim, free, 30)
    reached = (new @ rim - free).abs().amax(dim=-1, keepdim=True) < 1e-12
    return torch.where(reached, new, torch.from_numpy(prior)).numpy()


def tilted(
    prior: Float[Tensor, "*patches free rim"],
    rim: Float[Tensor, "*patches rim 2"],
    free: Float[Tensor, "*patches free 2"],
    steps: int,
) -> Float[Tensor, "*patches free rim"]:
    """Tilt each row towards the reproduction of linear functions, by steps of Newton's method.

    λ is the minimum of the convex log Σⱼ Pⱼ exp(λ·(yⱼ − x)); it exists where x is inside the convex hull of the yⱼ.
    Lengths are in units of the patch.
    """
    apart = rim[..., None, :, :] - free[..., :, None, :]
    ridge = 10 * torch.finfo(prior.dtype).eps * torch.eye(2, dtype=prior.dtype, device=prior.device)
    tilt = torch.zeros_like(free)
    new = prior
    for _ in range(steps):
        mean = torch.einsum("...j,...jk->...k", new, apart)
        spread = torch.einsum("...j,...jk,...jl->...kl", new, apart, apart) - mean[..., None] * mean[..., None, :]
        move = torch.linalg.solve(spread + ridge, mean[..., None])[..., 0]
        tilt = tilt - move * (4.0 / move.norm(dim=-1, keepdim=True).clamp(min=1e-12)).clamp(max=1.0)
        exponent = torch.einsum("...jk,...k->...j", apart, tilt)
        new = prior * torch.exp(exponent - exponent.amax(dim=-1, keepdim=True).detach())
        new = new / new.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(prior.dtype).tiny)
    return new


def _log(positive: Tensor) -> Tensor:
    return torch.log(positive.clamp(min=1e-12))


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))
