"""Linear-quadratic control of a heated rod: which few directions of its state does a good controller need?

    φ' = A φ - b + C u,        minimise  |Ψᵀφ(T)|² + (1/λ) ∫ |u|²

A is the diffusion matrix of a rod with random conductivity and cold ends, C five actuators, Ψ five sensors, b a heat
loss. The wanted subspace is that of balanced truncation: the directions that are both reached and seen (Moore 1981).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64
from scipy.linalg import lu_factor, lu_solve, solve_continuous_lyapunov

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.columns import orthonormal
from firstlight.pde.subspace.problems.burgers import diffusion_1d
from firstlight.pde.subspace.problems.random_series import smooth_noise

WEIGHT = 15.0  # λ, of what is seen against what control costs
DURATION, STEPS = 5.0, 127


@dataclass(frozen=True)
class HeatControlProblem:
    """Control of a rod with random conductivity, actuators, sensors, loss and first state.

    Parameters
    ----------
    cells : inner grid points.
    n_vectors : number of balanced directions wanted, k.
    rank : number of actuators, and of sensors.
    """

    cells: int = 128
    n_vectors: int = 10
    rank: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= self.n_vectors <= self.cells:
            raise InvalidInput(
                f"expected 1 ≤ rank ≤ n_vectors ≤ cells, got {self.rank}, {self.n_vectors}, {self.cells}"
            )

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field."""
        return (self.cells,)

    def sample(self, seed: int | np.random.SeedSequence) -> "HeatControlSample":
        """Draw one rod. Channels of its field: conductivity, then actuators, then sensors."""
        rng = np.random.default_rng(seed)
        n, x = self.cells, np.linspace(0, 1, self.cells + 2)[1:-1]
        actuators, sensors = (
            np.linalg.qr(np.column_stack([smooth_noise(n, 5, 4, rng) for _ in range(self.rank)]))[0] for _ in range(2)
        )
        initial = 5 * smooth_noise(n, 5, 4, rng) * np.sin(np.pi * x)
        a = 0.0005 + 0.2 * (1 + np.tanh(5 * smooth_noise(2 * n + 1, 5, 4, rng))) / 2
        loss = 10 * smooth_noise(n, 6, 4, rng)
        field = np.vstack([a[1::2], actuators.T, sensors.T])
        matrix = diffusion_1d(a[::2]).toarray()
        return HeatControlSample(field, matrix, actuators, sensors, loss, initial, self.n_vectors)


@dataclass(frozen=True, eq=False)
class HeatControlSample:
    """One rod, its best control, and control by reduced models.

    Attributes
    ----------
    field : what a network sees: conductivity, actuators, sensors at the grid points.
    matrix : A.
    actuators, sensors : C and Ψ, orthonormal columns.
    loss, initial : b and φ(0).
    n_vectors : how many balanced directions are wanted.
    """

    field: Float64[np.ndarray, "channels n"]
    matrix: Float64[np.ndarray, "n n"]
    actuators: Float64[np.ndarray, "n rank"]
    sensors: Float64[np.ndarray, "n rank"]
    loss: Float64[np.ndarray, " n"]
    initial: Float64[np.ndarray, " n"]
    n_vectors: int

    @cached_property
    def balanced(self) -> tuple[Float64[np.ndarray, "n k"], Float64[np.ndarray, " k"]]:
        """Balanced directions, orthonormalised in their order, and their Hankel singular values.

        By square roots of both Gramians, from which small singular values come out accurately.
        """
        reached, seen = (
            _square_root(solve_continuous_lyapunov(self.matrix, -side @ side.T))
            for side in (self.actuators, self.sensors)
        )
        left, values, _ = np.linalg.svd(reached.T @ seen)
        k = self.n_vectors
        return np.linalg.qr(reached @ left[:, :k])[0], values[:k]

    def basis(self) -> Float64[np.ndarray, "n k"]:
        """The wanted subspace, by an orthonormal basis."""
        return self.balanced[0]

    @cached_property
    def optimum(self) -> "Control":
        """The best control."""
        return best_control(self.matrix, self.actuators, self.sensors, self.loss, self.initial)

    def reduced_errors(self, W: Float64[np.ndarray, "n p"]) -> tuple[float, float]:
        """Errors at time T of the model reduced to the span of W under the control that is best for it.

        Returns
        -------
        Relative errors of the state φ(T), and of what the sensors see of it, against the full model's best control.
        """
        Q = orthonormal(W, len(self.initial))
        sides = (Q.T @ side for side in (self.actuators, self.sensors, self.loss, self.initial))
        found = Q @ best_control(Q.T @ self.matrix @ Q, *sides).states[-1]
        best = self.optimum.states[-1]
        seen = self.sensors.T @ best
        return (
            float(np.linalg.norm(best - found) / np.linalg.norm(best)),
            float(np.linalg.norm(seen - self.sensors.T @ found) / np.linalg.norm(seen)),
        )


@dataclass(frozen=True, eq=False)
class Control:
    """A controlled run.

    Attributes
    ----------
    states : φ at every time.
    controls : u in every step.
    """

    states: Float64[np.ndarray, "times n"]
    controls: Float64[np.ndarray, "steps rank"]

    def cost(self, sensors: Float64[np.ndarray, "n rank"]) -> float:
        """|Ψᵀφ(T)|² + (Δt/λ) Σ |u|²."""
        seen = self.states[-1] @ sensors
        return float(seen @ seen + DURATION / STEPS / WEIGHT * np.sum(self.controls**2))


def best_control(
    A: Float64[np.ndarray, "n n"],
    C: Float64[np.ndarray, "n rank"],
    Psi: Float64[np.ndarray, "n rank"],
    b: Float64[np.ndarray, " n"],
    initial: Float64[np.ndarray, " n"],
) -> Control:
    """Minimise |Ψᵀφ(T)|² + (Δt/λ) Σ |u|² under φ⁺ = F φ + G u + g, implicit Euler for φ' = A φ - b + C u.

    The least remaining cost φᵀS φ + 2 sᵀφ + const. obeys the discrete Riccati recursion backwards in time; with
    S = L Lᵀ, P = GᵀL and R = (Δt/λ) I, and E = (R + P Pᵀ)⁻¹ from the Woodbury identity,

        u = -E Gᵀ(S (F φ + g) + s),   L ← FᵀL (I + Pᵀ R⁻¹ P)^{-½},   s ← Fᵀ(I - L Pᵀ E Gᵀ)(S g + s),

    so that S keeps the rank of Ψ and no n × n matrix but F is ever multiplied.
    """
    dt = DURATION / STEPS
    implicit = lu_factor(np.eye(len(A)) - dt * A)
    F, G, g = (lu_solve(implicit, side) for side in (np.eye(len(A)), dt * C, -dt * b))
    R = dt / WEIGHT * np.eye(C.shape[1])
    L, s = Psi.copy(), np.zeros(len(A))
    feedback, feedforward = [], []
    for _ in range(STEPS):
        P = G.T @ L
        gain = np.linalg.solve(R + P @ P.T, np.column_stack([P @ L.T, G.T]))
        K, N = gain[:, : len(A)], gain[:, len(A) :]
        ahead = L @ (L.T @ g) + s
        feedback.append(K @ F)
        feedforward.append(N @ ahead)
        s = F.T @ (ahead - L @ (P.T @ (N @ ahead)))
        L = F.T @ np.linalg.solve(np.linalg.cholesky(np.eye(L.shape[1]) + WEIGHT / dt * P.T @ P), L.T).T
    states, controls = [initial], []
    for K, k in zip(feedback[::-1], feedforward[::-1], strict=True):
        controls.append(-(K @ states[-1] + k))
        states.append(F @ states[-1] + G @ controls[-1] + g)
    return Control(np.array(states), np.array(controls))


def _square_root(gramian: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    values, vectors = np.linalg.eigh((gramian + gramian.T) / 2)
    return vectors * np.sqrt(values.clip(0))
