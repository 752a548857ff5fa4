"""Lowest eigenvectors of -div(a grad u) on the unit box, with a coefficient that jumps between two plateaus.

The coefficient is a = 1 + 49 (1 + tanh S) / 2 with the random series S: regions of 1 and of 50 with narrow flanks, the
"flattop" fields of Fanaskov et al. 2026. Fluxes between neighbouring points take a from half way between them; u = 0 on
the boundary. As in the reference data the matrix is not divided by h².
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.factorisations import shift_invert_eigsh
from firstlight.pde.subspace.problems.random_series import RandomSeries

LOW, HIGH = 1.0, 50.0


@dataclass(frozen=True)
class FlattopProblem:
    """Eigenproblems -div(a grad u) = λ u with a random flattop coefficient, u = 0 on the boundary of the unit box.

    Parameters
    ----------
    cells : inner grid points along each axis, N; the spacing is 1 / (N + 1).
    dim : 2 or 3.
    n_vectors : how many lowest eigenvectors are wanted, k.
    n_fields : 1 for one coefficient in all directions, or `dim` for one per direction ("twin", "triple").

    Examples
    --------
    >>> problem = FlattopProblem(cells=8, n_vectors=4)
    >>> sample = problem.sample(0)
    >>> sample.field.shape, sample.matrix.shape, sample.basis().shape
    ((1, 8, 8), (64, 64), (64, 4))
    """

    cells: int = 32
    dim: int = 2
    n_vectors: int = 10
    n_fields: int = 1

    def __post_init__(self) -> None:
        if self.dim not in (2, 3) or self.n_fields not in (1, self.dim):
            raise InvalidInput(
                f"expected dim 2 or 3 and n_fields 1 or dim, got dim={self.dim} and n_fields={self.n_fields}"
            )
        if self.cells < 2 or not 1 <= self.n_vectors < self.cells**self.dim:
            raise InvalidInput(
                f"expected at least 2 cells and fewer vectors than the {self.cells**self.dim} unknowns, "
                f"got cells={self.cells} and n_vectors={self.n_vectors}"
            )

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field: `cells` along every axis."""
        return (self.cells,) * self.dim

    def sample(self, seed: int | np.random.SeedSequence) -> "EllipticSample":
        """Draw one problem; the same seed gives the same coefficient on every grid."""
        rng = np.random.default_rng(seed)
        return self.discretised([RandomSeries.draw(self.dim, rng) for _ in range(self.n_fields)])

    def discretised(self, series: list[RandomSeries]) -> "EllipticSample":
        """Put given random functions S, one per field, on the grid."""
        # Grid points have odd numbers here, the points half way between them even ones.
        halves = np.linspace(0, 1, 2 * self.cells + 3)[1:-1]
        nodes = halves[1::2]
        fields = [flattop(one.on_grid(*[nodes] * self.dim)) for one in series]
        faces = []
        for axis in range(self.dim):
            axes = [nodes] * self.dim
            axes[axis] = halves[::2]
            faces.append(flattop(series[axis % len(series)].on_grid(*axes)))
        return EllipticSample(np.stack(fields), faces, self.n_vectors)


@dataclass(frozen=True, eq=False)
class EllipticSample:
    """One elliptic eigenproblem on a grid.

    Attributes
    ----------
    field : coefficient at the grid points, what a network sees; one channel per field.
    faces : coefficient half way between grid points along each axis, where the fluxes are; `cells` + 1 there.
    n_vectors : how many eigenvectors are wanted.
    """

    field: Float64[np.ndarray, "channels ..."]
    faces: list[Float64[np.ndarray, "..."]]
    n_vectors: int

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The matrix of -div(a grad ·), times h², grid points numbered row by row."""
        return diffusion_matrix(self.faces)

    @cached_property
    def eigenpairs(self) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "n k"]]:
        """The lowest eigenvalues in ascending order and their orthonormal eigenvectors, by shift-invert Lanczos."""
        return shift_invert_eigsh(self.matrix, self.n_vectors)

    def basis(self) -> Float64[np.ndarray, "n k"]:
        """The wanted subspace, by an orthonormal basis."""
        return self.eigenpairs[1]


def flattop(series: Float64[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
    """Bend a random function into plateaus at 1 and 50."""
    return LOW + (HIGH - LOW) * (np.tanh(series) + 1) / 2


def diffusion_matrix(faces: list[Float64[np.ndarray, "..."]]) -> sp.csr_array:
    """Finite-volume matrix of -div(a grad ·) on a box with u = 0 on its boundary, times h².

    Parameters
    ----------
    faces : for each axis the coefficient on the faces across it: one more than there are grid points along that axis,
        as many as grid points along the others. Axis j carries the coefficient of ∂_j a_j ∂_j.

    Returns
    -------
    Symmetric positive definite, grid points numbered row by row.
    """
    shape = tuple(n - (axis == 0) for axis, n in enumerate(faces[0].shape))
    number = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)  # the width that PyAMG wants
    diagonal, rows, columns, values = np.zeros(shape), [], [], []
    for axis, a in enumerate(faces):
        n = shape[axis]
        diagonal += np.take(a, range(n), axis) + np.take(a, range(1, n + 1), axis)
        inner = np.take(a, range(1, n), axis).ravel()
        left = np.take(number, range(n - 1), axis).ravel()
        right = np.take(number, range(1, n), axis).ravel()
        rows += [left, right]
        columns += [right, left]
        values += [-inner, -inner]
    entries = np.concatenate([diagonal.ravel(), *values])
    row, column = np.concatenate([number.ravel(), *rows]), np.concatenate([number.ravel(), *columns])
    return sp.coo_array((entries, (row, column)), shape=(number.size, number.size)).tocsr()
