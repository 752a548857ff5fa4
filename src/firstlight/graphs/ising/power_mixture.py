"""Learned radial kernels without a scale of their own: φ(r) = Σ_k w_k r^{-α_k}, with learned weights and exponents.

A mixture of powers is fitted on small lattices and read off at any distance, which is what lets a model trained on
16 × 16 sites be used on 256 × 256. It also makes the levels of a multilevel sum alike: a power, softened within a
radius a, is a^{-α} times the same function of r/a.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

# Degree of the Taylor polynomial that replaces a power inside the softening radius. Of the degrees 3 to 6
# this gives the smallest error of the multilevel sum, at its radius of 8 spacings and its interpolation of order 6.
TAYLOR_DEGREE = 4


class PowerMixture(nn.Module):
    """Kernels φ_c(r) = Σ_k w_ck r^{-α_k} of several channels c, which share their exponents.

    Parameters
    ----------
    channels : number of kernels.
    powers : number of powers in each.

    Attributes
    ----------
    weights : w_ck.
    raw_exponents : numbers from which `exponents` are made positive.
    """

    def __init__(self, channels: int, powers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(channels, powers) / powers)
        self.raw_exponents = nn.Parameter(torch.linspace(1.0, 5.0, powers))

    @property
    def exponents(self) -> Float[Tensor, " powers"]:
        """The α_k, all positive."""
        return nn.functional.softplus(self.raw_exponents)

    def at(self, distance: Float[Tensor, "..."]) -> Float[Tensor, "channels ..."]:
        """φ_c at distances in lattice spacings; 0 at distance 0, for nothing acts on itself."""
        powers = distance.clamp_min(torch.finfo(distance.dtype).tiny).log()[..., None] * -self.exponents
        return self._mix(torch.where(distance[..., None] > 0, powers, -torch.inf).exp())

    def softened(self, distance: Float[Tensor, "..."], radius: float | int) -> Float[Tensor, "channels ..."]:
        """φ_c from `radius` on, and inside a polynomial in r² that joins it with `TAYLOR_DEGREE` derivatives.

        With u = (r/radius)² each power is radius^{-α} u^{-α/2}, whose Taylor series around u = 1 is Σ_n binom(-α/2, n)
        (u - 1)^n; a polynomial in r² is smooth at r = 0 too (Hardy, Stone, Wu et al., Multilevel summation, 2015).
        """
        u = (distance[..., None] / radius).square()
        outer = u.clamp_min(1.0) ** (-self.exponents / 2)
        inner, coefficient = torch.zeros_like(outer), torch.ones_like(self.exponents)
        for n in range(TAYLOR_DEGREE + 1):
            inner = inner + coefficient * (u - 1) ** n
            coefficient = coefficient * (-self.exponents / 2 - n) / (n + 1)
        return self._mix(radius**-self.exponents * torch.where(u < 1, inner, outer))

    def _mix(self, powers: Float[Tensor, "... powers"]) -> Float[Tensor, "channels ..."]:
        return (powers @ self.weights.T).movedim(-1, 0)
