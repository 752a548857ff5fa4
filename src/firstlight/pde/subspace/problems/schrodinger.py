"""Bound states of a particle in an expanded Morse potential on [0, 10]: -u'' + V u = λ u.

    V(r) = D (1 - exp(-y p(y)))²,   y = (r - r_e) / (r + r_e)

has its minimum at r_e and the depth D; the polynomial p has other coefficients on the left of r_e than on the right
(expanded Morse oscillator; Lee, Seto, Hirao, Bernath, Le Roy 1999, with expansions that differ as in Le Roy 2006).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigh_tridiagonal

from firstlight.errors import InvalidInput

RADIUS = 10.0
DEPTHS = (10.0, 40.0)
# Coefficients of p on the left and on the right, the scale of those on the left, and where the minimum may lie.
FAMILIES = {"I": (3, 1, 1.0, (2.0, 7.0)), "II": (4, 4, 1.0, (1.0, 5.0)), "III": (10, 10, 5.0, (1.0, 8.0))}


@dataclass(frozen=True)
class MorseProblem:
    """Lowest states in random expanded Morse potentials.

    Parameters
    ----------
    family : ``"I"``, ``"II"`` or ``"III"``, with 6, 10 and 22 parameters: coefficients left and right, r_e, D.
    cells : grid points on [0, 10]; u = 0 one step beyond either end.
    n_vectors : number of states wanted, k.
    """

    family: str = "I"
    cells: int = 100
    n_vectors: int = 10

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InvalidInput(f"expected the family 'I', 'II' or 'III', got {self.family!r}")
        if self.cells < 4 or not 1 <= self.n_vectors <= self.cells:
            raise InvalidInput(f"expected at least 4 cells and no more states, got {self.cells} and {self.n_vectors}")

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field."""
        return (self.cells,)

    def sample(self, seed: int | np.random.SeedSequence) -> "MorseSample":
        """Draw one potential."""
        n_left, n_right, size, minima = FAMILIES[self.family]
        rng = np.random.default_rng(seed)
        # Signs that make the wall on the left rise: y is negative there. The last coefficient on the right keeps the
        # potential from falling again far out.
        signs = np.append((-1.0) ** np.arange(1, n_left), -1.0)
        left = size * rng.uniform(size=n_left) * signs
        right = 10 * rng.uniform(size=n_right)
        right[-1] += 1
        r_e, depth = rng.uniform(*minima), rng.uniform(*DEPTHS)
        r = np.linspace(0, RADIUS, self.cells)
        potential = np.where(r <= r_e, _morse(r, r_e, depth, left), _morse(r, r_e, depth, right))
        return MorseSample(potential[None], np.concatenate([left, right, [r_e, depth]]), self.n_vectors)


@dataclass(frozen=True, eq=False)
class MorseSample:
    """One potential and its states.

    Attributes
    ----------
    field : the potential at the grid points, one channel.
    parameters : coefficients on the left and on the right, r_e, D.
    n_vectors : how many states are wanted.
    """

    field: Float64[np.ndarray, "1 n"]
    parameters: Float64[np.ndarray, " parameters"]
    n_vectors: int

    @cached_property
    def eigenpairs(self) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "n k"]]:
        """The lowest energies and orthonormal states, by a tridiagonal eigensolver."""
        potential = self.field[0]
        n = len(potential)
        per_square = ((n - 1) / RADIUS) ** 2
        last = self.n_vectors - 1
        solve: Any = eigh_tridiagonal  # whose stubs know other returns too
        return solve(potential + 2 * per_square, np.full(n - 1, -per_square), select="i", select_range=(0, last))

    def basis(self) -> Float64[np.ndarray, "n k"]:
        """The wanted subspace, by an orthonormal basis."""
        return self.eigenpairs[1]


def _morse(r: np.ndarray, r_e: float, depth: float, coefficients: np.ndarray) -> np.ndarray:
    """The potential with p(y) = (1 - y) Σ_{n<N} c_n yⁿ + y c_N."""
    y = (r - r_e) / (r + r_e)
    p = (1 - y) * np.polynomial.polynomial.polyval(y, np.append(coefficients[:-1], 0.0)) + y * coefficients[-1]
    return depth * (1 - np.exp(-y * p)) ** 2
