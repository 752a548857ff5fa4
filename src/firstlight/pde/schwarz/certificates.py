"""What can be said of a solution without the truth and without trust in what made it.

The solution is put into the finite-element system. Where its matrix A has no positive entry off the diagonal (for the
Laplacian: on Delaunay meshes) A⁻¹ has no negative one, so for every φ with A φ > 0

    |u − u_h| ≤ A⁻¹ |r| ≤ maxᵢ(|rᵢ| / (A φ)ᵢ) φ,    r = b − A u.

Any φ may be tried, only A φ > 0 must be true, and is checked in the numbers. We take A φ ≈ the areas of the nodes, one
finite-element solve for a mesh and all its data. The residual of a learned solution sits in kinks where patches end;
some steps of Jacobi's iteration spread it first, and how far they move the solution is added to the bound.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64
from scipy.sparse.linalg import splu

from firstlight.pde.schwarz.elliptic import EllipticProblem

SWEEPS = 30
DAMPING = 0.7
ROUNDING = 1e-12


@dataclass(frozen=True)
class Certificate:
    """Evidence about a solution that does not use the truth.

    Attributes
    ----------
    error_bound : at every node, how far u is at most from the finite-element solution; None where the mesh proves none.
    reason : why there is no bound; empty if there is.
    overshoot : how far u leaves the range of the given values, for a problem without sources, fluxes and reaction; NaN
        for others. Zero for the finite-element solution on a Delaunay mesh.
    radius_bound : proven bound of the spectral radius of the coupled local answers; below one the fixed point exists
        and is unique.
    hops : the mean number of patches from the farthest node to the boundary: errors of the local operator grow at most
        by this factor.
    jump : largest difference between the answer of one patch and the value that all agreed on.
    """

    error_bound: Float64[np.ndarray, " nodes"] | None
    reason: str
    overshoot: float
    radius_bound: float
    hops: float
    jump: float


@dataclass(frozen=True)
class Barrier:
    """The bound of errors of one matrix and one set of free nodes."""

    problem: EllipticProblem
    fixed: Bool[np.ndarray, " nodes"]

    @cached_property
    def reason(self) -> str:
        """Why there is no bound, or nothing."""
        off = self._matrix - sp.diags_array(self._matrix.diagonal())
        positive = int((off.data > ROUNDING * self._matrix.diagonal().max()).sum()) // 2
        if positive:
            return (
                f"{positive} edges of the mesh have a positive entry in the matrix, their opposite angles are together "
                "above 180°; a Delaunay mesh has none"
            )
        if self._phi.min() <= 0 or self._lift.min() <= 0:
            return "no barrier was found: the matrix is too ill-conditioned"
        return ""

    def bound(
        self, u: Float64[np.ndarray, " nodes"], load: Float64[np.ndarray, " nodes"]
    ) -> Float64[np.ndarray, " nodes"] | None:
        """Return the bound of |u − u_h| at every node, None if there is a `reason`."""
        if self.reason:
            return None
        free = ~self.fixed
        pull = DAMPING / np.asarray(self._matrix.diagonal(), dtype=np.float64)
        residual = (load - self.problem.matrix @ u)[free]
        moved = np.zeros(len(residual))
        best = np.inf
        bound = np.zeros(len(u))
        for _ in range(SWEEPS + 1):
            left = residual - self._matrix @ moved
            here = float((np.abs(left) / self._lift).max(initial=0.0)) * self._phi + np.abs(moved)
            if here.max(initial=0.0) < best:
                best, bound[free] = float(here.max(initial=0.0)), here
            moved = moved + pull * left
        return bound

    @cached_property
    def _matrix(self) -> sp.csr_array:
        free = ~self.fixed
        return sp.csr_array(self.problem.matrix[free][:, free])

    @cached_property
    def _phi(self) -> Float64[np.ndarray, " free"]:
        return splu(self._matrix.tocsc()).solve(self.problem.areas[~self.fixed])

    @cached_property
    def _lift(self) -> Float64[np.ndarray, " free"]:
        return self._matrix @ self._phi
