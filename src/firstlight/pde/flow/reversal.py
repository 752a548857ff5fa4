"""Running dynamics backwards, and what that does to errors.

Backwards, what decayed grows: a perturbation along an eigenvector of the Jacobian J with eigenvalue λ is multiplied by
exp(−Re λ · duration). For the heat equation on n points that passes every bound as n grows, and no scheme can help. So
the growth is estimated first, by a power iteration on J at the state to begin from, and said.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.func import jvp

from firstlight.pde.flow.rollout import Rollout

# From this factor on, an error of a few per cent, what a good model leaves, grows to the size of the solution.
ILL_POSED = 10.0
SCALE_ITERATIONS, ITERATIONS = 10, 60


class IllPosedReversal(UserWarning):
    """Backwards in time errors grow so much that the answer says little about the past."""


@dataclass(frozen=True)
class Reversal(Rollout):
    """States at earlier and earlier times, with what is known of their errors.

    Attributes
    ----------
    growth_rate : of the fastest growing perturbation of each sample, per unit of time, with the Jacobian held at the
        state to begin from. The Jacobian is the model's: of waves finer than any in its training it knows nothing, and
        where the true equation damps them, the true rate is larger.
    amplification : of perturbations of that state, up to each of the times; the worst of the batch.
    round_trip : relative L² distance from that state after following the last state forward again, for each sample.
        Where errors grow backwards they shrink forwards, so a small one does not vouch for the past; a large one
        refutes it.
    """

    growth_rate: Float64[Tensor, " batch"]
    amplification: Float64[Tensor, " times"]
    round_trip: Float64[Tensor, " batch"]

    @property
    def ill_posed(self) -> bool:
        """Whether errors grow by more than `ILL_POSED`, or the states left all bounds."""
        return bool(self.amplification[-1] >= ILL_POSED) or not bool(self.u.isfinite().all())


def growth_rate(
    field: Callable[[Tensor, Tensor], Tensor], t: Tensor, u: Float[Tensor, " batch *state"]
) -> Float64[Tensor, " batch"]:
    """Rate at which the fastest growing perturbation of each state grows backwards in time.

    A plain power iteration estimates L ≥ ‖J‖, another on I − J/L the eigenvector of J with the most negative real
    part; its Rayleigh quotient is the rate. For states that are few and strongly coupled (J far from normal, or complex
    eigenvalues in the lead) it is an estimate.

    Parameters
    ----------
    field : du/dt = field(t, u), sample by sample.
    t, u : where the Jacobian is taken.
    """
    generator = torch.Generator().manual_seed(0)
    by_sample = (-1, *[1] * (u.ndim - 1))

    def unit(v: Tensor) -> Tensor:
        return v / v.flatten(1).norm(dim=1).clamp_min(1e-30).view(by_sample)

    def applied(v: Tensor) -> Tensor:
        return jvp(lambda state: field(t, state), (u,), (v,))[1]

    v = unit(torch.randn(u.shape, generator=generator).to(u))
    with torch.no_grad():
        for _ in range(SCALE_ITERATIONS):
            v = unit(applied(v))
        size = 1.5 * applied(v).flatten(1).norm(dim=1).clamp_min(1e-30).view(by_sample)
        v = unit(torch.randn(u.shape, generator=generator).to(u))
        for _ in range(ITERATIONS):
            v = unit(v - applied(v) / size)
        return -(v * applied(v)).double().flatten(1).sum(1)


def amplification(rates: Float64[Tensor, " batch"], t: Float64[Tensor, " times"]) -> Float64[Tensor, " times"]:
    """Factor by which the worst perturbation has grown at each time, on the way from ``t[0]`` back."""
    return torch.exp(rates.max().clamp_min(0) * (t[0] - t))


def warn_if_ill_posed(rates: Float64[Tensor, " batch"], t: Float64[Tensor, " times"]) -> None:
    """Say what going back does to errors, where they grow tenfold."""
    factor, rate = float(amplification(rates, t)[-1]), float(rates.max())
    if factor < ILL_POSED:
        return
    warnings.warn(
        f"going back {float(t[0] - t[-1]):.4g} time units multiplies errors by {factor:.2g} or more (fastest growth "
        f"{rate:.4g} per time unit): do not trust states beyond about {math.log(ILL_POSED) / rate:.2g} time units",
        IllPosedReversal,
        stacklevel=4,
    )
