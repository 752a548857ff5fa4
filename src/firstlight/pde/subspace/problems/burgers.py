"""Viscous Burgers and convection–diffusion–reaction equations in one dimension, to be reduced by few modes.

    u_t + u u_x = (a u_x)_x + f                 families I (random u₀), II (and random a), III (and random f)
    u_t + c u_x = (a u_x)_x + r u + s           with random u₀, a, c, r, s

on [0, 1] with u = 0 at both ends, distributions as in the reference data of Fanaskov et al. 2026. The wanted subspace
is that of the first POD modes of one solution: the best basis there is for that solution alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.galerkin import QuadraticSystem
from firstlight.pde.subspace.problems.random_series import smooth_noise


@dataclass(frozen=True)
class BurgersProblem:
    """Burgers' equation with random data, up to time 0.1.

    Parameters
    ----------
    family : ``"I"`` draws the initial state, ``"II"`` also the viscosity a(x), ``"III"`` also the forcing f(x).
    cells : inner grid points.
    n_vectors : number of POD modes wanted, k.
    """

    family: str = "II"
    cells: int = 128
    n_vectors: int = 10

    duration = 0.1
    steps = 64

    def __post_init__(self) -> None:
        if self.family not in ("I", "II", "III"):
            raise InvalidInput(f"expected the family 'I', 'II' or 'III', got {self.family!r}")
        _check_sizes(self.cells, self.n_vectors, self.steps)

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field."""
        return (self.cells,)

    def sample(self, seed: int | np.random.SeedSequence) -> "EvolutionSample":
        """Draw one equation. Channels of its field: u₀, then a and f where they are random."""
        rng = np.random.default_rng(seed)
        n, dt = self.cells, self.duration / self.steps
        x = np.linspace(0, 1, n + 2)[1:-1]
        initial = 5 * smooth_noise(n, 10, 2, rng) * np.sin(np.pi * x)
        bumps = smooth_noise(2 * n + 1, 40, 4, rng)
        a = 0.005 + 0.1 * (1 + np.tanh(30 * bumps)) / 2 if self.family != "I" else np.full(2 * n + 1, 0.05)
        source = 0.25 / dt * smooth_noise(n, 40, 4, rng) if self.family == "III" else np.zeros(n)
        channels = [initial, a[1::2], source][: ("I", "II", "III").index(self.family) + 1]
        quarter = np.full(n - 1, (n + 1) / 4)  # -(u²)_x / 2 by central differences
        system = QuadraticSystem(diffusion_1d(a[::2]), source, initial, _tridiagonal(quarter, np.zeros(n), -quarter))
        return EvolutionSample(np.stack(channels), system, dt, self.steps, self.n_vectors)


@dataclass(frozen=True)
class ConvectionProblem:
    """Convection–diffusion–reaction with random data, up to time 5.

    Parameters
    ----------
    cells : inner grid points.
    n_vectors : number of POD modes wanted, k.
    """

    cells: int = 128
    n_vectors: int = 10

    duration = 5.0
    steps = 64

    def __post_init__(self) -> None:
        _check_sizes(self.cells, self.n_vectors, self.steps)

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field."""
        return (self.cells,)

    def sample(self, seed: int | np.random.SeedSequence) -> "EvolutionSample":
        """Draw one equation. Channels of its field: u₀, a, c, r, s."""
        rng = np.random.default_rng(seed)
        n = self.cells
        x = np.linspace(0, 1, n + 2)[1:-1]
        initial = 5 * smooth_noise(n, 5, 4, rng) * np.sin(np.pi * x)
        a = 0.0005 + 0.2 * (1 + np.tanh(5 * smooth_noise(2 * n + 1, 5, 4, rng))) / 2
        c, r, s = (scale * smooth_noise(n, 6, 4, rng) for scale in (0.25, 1.0, 10.0))
        linear = sp.csr_array(diffusion_1d(a[::2]) - _upwind(c) + sp.diags_array(r))
        system = QuadraticSystem(linear, s, initial)
        field = np.stack([initial, a[1::2], c, r, s])
        return EvolutionSample(field, system, self.duration / self.steps, self.steps, self.n_vectors)


@dataclass(frozen=True, eq=False)
class EvolutionSample:
    """One evolution equation, its solution, and what a basis is worth for it.

    Attributes
    ----------
    field : what a network sees, one channel per random function, at the grid points.
    system : the equation on the grid.
    dt, steps : the time step of implicit Euler and their number.
    n_vectors : how many POD modes are wanted.
    """

    field: Float64[np.ndarray, "channels n"]
    system: QuadraticSystem
    dt: float
    steps: int
    n_vectors: int

    @cached_property
    def trajectory(self) -> Float64[np.ndarray, "times n"]:
        """The solution, one state per row."""
        return self.system.solve(self.dt, self.steps)

    @cached_property
    def pod(self) -> tuple[Float64[np.ndarray, "n k"], Float64[np.ndarray, " k"]]:
        """The first POD modes of the solution and their singular values."""
        modes, values, _ = np.linalg.svd(self.trajectory.T, full_matrices=False)
        return np.ascontiguousarray(modes[:, : self.n_vectors]), values[: self.n_vectors]

    def basis(self) -> Float64[np.ndarray, "n k"]:
        """The wanted subspace, by an orthonormal basis."""
        return self.pod[0]

    def projection_error(self, W: Float64[np.ndarray, "n p"]) -> float:
        """Relative error of the best approximation of the solution from the span of W, over all times."""
        Q = np.linalg.qr(W)[0]
        u = self.trajectory
        return float(np.linalg.norm(u - (u @ Q) @ Q.T) / np.linalg.norm(u))

    def reduced_error(self, W: Float64[np.ndarray, "n p"]) -> float:
        """Relative error of the reduced model on the span of W, over all times."""
        u = self.trajectory
        return float(np.linalg.norm(u - self.system.solve_in(W, self.dt, self.steps)) / np.linalg.norm(u))


def _check_sizes(cells: int, n_vectors: int, steps: int) -> None:
    if cells < 4 or not 1 <= n_vectors <= min(cells, steps + 1):
        raise InvalidInput(
            f"expected at least 4 cells and no more modes than cells or states, got cells={cells} and "
            f"n_vectors={n_vectors} of {steps + 1} states"
        )


def diffusion_1d(faces: Float64[np.ndarray, " faces"]) -> sp.csr_array:
    """Matrix of (a u_x)_x with u = 0 at both ends, from a on the faces between grid points."""
    inner, h = faces[1:-1], 1 / len(faces)
    return _tridiagonal(inner, -(faces[:-1] + faces[1:]), inner) / h**2


def _upwind(c: Float64[np.ndarray, " n"]) -> sp.csr_array:
    """Matrix of c u_x by differences against the stream, which keep the reduced models free of grid oscillations."""
    h = 1 / (len(c) + 1)
    right, left = np.maximum(c, 0), np.minimum(c, 0)
    return _tridiagonal(-right[1:], right - left, left[:-1]) / h


def _tridiagonal(below: np.ndarray, diagonal: np.ndarray, above: np.ndarray) -> sp.csr_array:
    offsets: Any = [-1, 0, 1]
    return sp.csr_array(sp.diags_array([below, diagonal, above], offsets=offsets))
