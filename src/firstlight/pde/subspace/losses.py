"""Losses that see the span of a predicted basis and nothing else of it.

Both are the distance from the wanted vectors to the span of W, so they do not change when W is multiplied from the
right by any invertible matrix, nor V by an orthogonal one (Fanaskov et al. 2026). The distance is a least-squares
problem, min over C of ‖V − W C‖². At its minimum the derivative by C vanishes, so the derivative by W is that of
‖V − W C‖² with C held fixed: no factorisation is ever differentiated, and W may have dependent columns.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from firstlight.errors import InvalidInput


def subspace_loss(
    W: Float[Tensor, "*batch n p"], V: Float[Tensor, "*batch _ k"], mass: Tensor | None = None
) -> Float[Tensor, " *batch"]:
    """Sum of the squared sines of the principal angles between the span of V and that of W, for p ≥ k.

    L₁ = k − ‖Vᵀ Q‖² with Q an orthonormal basis of the span of W, computed as ‖V − W C‖² at its minimum.

    Parameters
    ----------
    W : predicted bases; the columns need not be orthonormal, nor independent.
    V : wanted orthonormal bases.
    mass : matrix of the inner product, or its diagonal; may be a sparse tensor.

    Returns
    -------
    A number between 0 and k for each basis.

    Raises
    ------
    InvalidInput
        If p < k, where no prediction could be right, or if the numbers of rows differ.
    """
    _check(W, V)
    with torch.no_grad():
        C = _coefficients(W, V, mass)
    return _squares(V - W @ C, mass)


def stochastic_loss(
    W: Float[Tensor, "*batch n p"],
    V: Float[Tensor, "*batch _ k"],
    mass: Tensor | None = None,
    *,
    n_probe: int = 4,
    generator: torch.Generator | None = None,
) -> Float[Tensor, " *batch"]:
    """Distance of random combinations t = V z, z ~ N(0, I), from the span of W: an unbiased estimate of the above.

    E ‖(I − P) V z‖² = ‖(I − P) V‖² = L₁. Only n_probe right-hand sides take part in place of k, which pays when k is
    large. Columns of V that are multiplied by singular values make it the weighted loss of a proper orthogonal
    decomposition.

    Parameters
    ----------
    W, V, mass : as `subspace_loss` takes them; V need not be orthonormal.
    n_probe : random combinations for each basis, whose distances are averaged.
    generator : of the combinations; PyTorch's own unless given.

    Returns
    -------
    An estimate for each basis.

    Raises
    ------
    InvalidInput
        As `subspace_loss`, or if n_probe is not positive.
    """
    if n_probe < 1:
        raise InvalidInput(f"n_probe must be at least 1, got {n_probe}")
    _check(W, V)
    z = torch.randn(*V.shape[:-2], V.shape[-1], n_probe, generator=generator, dtype=V.dtype, device=V.device)
    t = V @ z
    with torch.no_grad():
        c = _coefficients(W, t, mass)
    return _squares(t - W @ c, mass) / n_probe


def _coefficients(W: Tensor, V: Tensor, mass: Tensor | None) -> Tensor:
    """Return C of the least-squares problem; of least norm where W has dependent columns."""
    norms = W.norm(dim=-2, keepdim=True)
    scale = torch.where(norms > 0, norms, torch.ones_like(norms))
    Q, R = torch.linalg.qr(W / scale)
    if mass is None:
        right = Q.mT @ V
    else:
        MQ = _weighed(mass, Q)
        right = torch.cholesky_solve(MQ.mT @ V, torch.linalg.cholesky(Q.mT @ MQ))
    # Without pivoting the diagonal of R still betrays a column that lies in the span of those before it.
    guard = 10 * R.shape[-1] * torch.finfo(R.dtype).eps
    if (R.diagonal(dim1=-2, dim2=-1).abs() <= guard).any():
        solution = torch.linalg.pinv(R, rtol=guard) @ right
    else:
        solution = torch.linalg.solve_triangular(R, right, upper=True)
    return solution / scale.mT


def _squares(X: Tensor, mass: Tensor | None) -> Tensor:
    return (X * (X if mass is None else _weighed(mass, X))).sum(dim=(-2, -1))


def _weighed(mass: Tensor, X: Tensor) -> Tensor:
    if mass.ndim == 1:
        return mass[:, None] * X
    if mass.layout == torch.strided:
        return mass @ X
    # Sparse matrices multiply one matrix, not a stack: the stack is laid side by side.
    flat = X.movedim(-2, 0)
    return (mass @ flat.reshape(flat.shape[0], -1)).reshape(flat.shape).movedim(0, -2)


def _check(W: Tensor, V: Tensor) -> None:
    if W.shape[-2] != V.shape[-2]:
        raise InvalidInput(f"bases have {W.shape[-2]} and {V.shape[-2]} rows; both must live on one mesh")
    if W.shape[-1] < V.shape[-1]:
        raise InvalidInput(
            f"{W.shape[-1]} predicted columns cannot hold {V.shape[-1]} wanted ones; raise out_dim to that at least"
        )
