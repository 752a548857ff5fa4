"""The local answers of all patches, averaged into one linear map.

u ↦ M u + R g + L b on the free nodes: g the values at the fixed nodes, b the loads. A node takes the mean of the
answers of the patches in which it is free, so the map's fixed point is also that of the Schwarz–Richardson iteration
u + τ Σₖ (wₖ − u), whose sum over patches is the mean times their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64, Int
from scipy.sparse.linalg import splu

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.elliptic import EllipticProblem
from firstlight.pde.schwarz.local_operators import LocalMap, LocalOperator

ROUNDING = 1e-12


@dataclass(frozen=True)
class Coupling:
    """Free nodes and how they depend on each other and on the data.

    Attributes
    ----------
    fixed : which nodes of the mesh have a given value.
    node : of each local answer, the number of its node among the free ones.
    answers, answers_to_load : the local answers by values at all nodes, and by loads at the free ones (None where the
        local operator does not answer loads).
    owner : the part of each free node.
    """

    fixed: Bool[np.ndarray, " nodes"]
    node: Int[np.ndarray, " answers"]
    answers: sp.csr_array
    answers_to_load: sp.csr_array | None
    owner: Int[np.ndarray, " free"]

    @classmethod
    def of(
        cls,
        operator: LocalOperator,
        decomposition: Decomposition,
        problem: EllipticProblem,
        fixed: Bool[np.ndarray, " nodes"],
    ) -> "Coupling":
        """Ask the local operator for its maps and average them.

        Raises
        ------
        InvalidInput
            If the operator refuses the problem, or a map has an entry that is not finite.
        """
        patches = decomposition.patches(fixed)
        maps = operator.maps(patches, problem)
        _refuse_broken(maps)
        number = np.cumsum(~fixed) - 1
        greens = [one.green for one in maps if one.green is not None]
        loads = _stacked(
            [(patch.nodes[patch.free], green) for patch, green in zip(patches, greens, strict=False)], len(fixed)
        )
        values = _stacked(
            [(patch.nodes[patch.fixed], one.harmonic) for patch, one in zip(patches, maps, strict=True)], len(fixed)
        )
        return cls(
            fixed=fixed,
            node=number[np.concatenate([patch.nodes[patch.free] for patch in patches])],
            answers=values,
            answers_to_load=loads[:, np.flatnonzero(~fixed)] if len(greens) == len(maps) else None,
            owner=decomposition.owner[~fixed],
        )

    @cached_property
    def cover(self) -> Int[np.ndarray, " free"]:
        """In how many patches each free node is free."""
        return np.bincount(self.node, minlength=int((~self.fixed).sum()))

    @cached_property
    def between(self) -> sp.csr_array:
        """M."""
        return sp.csr_array(self._mean @ self.answers[:, np.flatnonzero(~self.fixed)])

    def jump(self, values: Float64[np.ndarray, " nodes"], load: Float64[np.ndarray, " nodes"]) -> float:
        """Return the largest difference between the answer of one patch and the value that all agreed on."""
        said = self.answers @ values
        if self.answers_to_load is not None:
            said = said + self.answers_to_load @ load[~self.fixed]
        return float(np.abs(said - values[~self.fixed][self.node]).max(initial=0.0))

    def right_side(
        self, values: Float64[np.ndarray, "*cases nodes"], load: Float64[np.ndarray, "*cases nodes"]
    ) -> Float64[np.ndarray, "*cases free"]:
        """Return R g + L b.

        Raises
        ------
        InvalidInput
            If there is a load and the local operator does not answer loads.
        """
        side = (self._from_fixed @ values[..., self.fixed].T).T
        if not load[..., ~self.fixed].any():
            return side
        if self.answers_to_load is None:
            raise InvalidInput("this local operator answers boundary values only, neither sources nor fluxes")
        return side + (self._from_load @ load[..., ~self.fixed].T).T

    def solve(self, side: Float64[np.ndarray, "*cases free"]) -> Float64[np.ndarray, "*cases free"]:
        """Return the fixed point u = M u + side by the factors of I − M, made at the first call."""
        skeleton = self._skeleton
        ends = self._factors.solve(np.ascontiguousarray(side[..., skeleton].T)).T
        return side + (self.between[:, skeleton] @ ends.T).T

    @cached_property
    def hops(self) -> Float64[np.ndarray, " free"]:
        """How many patches a random walker crosses from each node until it ends at a fixed one: (I − M)⁻¹ 1."""
        return self.solve(np.ones(len(self.owner)))

    @cached_property
    def radius_bound(self) -> float:
        """A bound of the spectral radius of M that needs no eigenvalues; infinite if it proves nothing.

        For M ≥ 0 and any h > 0 the radius is at most the largest (M h)ᵢ / hᵢ (Collatz and Wielandt); of the hops, this
        is about 1 − 1/max h.
        """
        hops = self.hops
        if (self.between.nnz and self.between.data.min() < 0) or hops.min() <= 0:
            return float("inf")
        return float(((self.between @ hops) / hops).max()) + ROUNDING

    @cached_property
    def _mean(self) -> sp.csr_array:
        count = len(self.node)
        weights = 1.0 / self.cover[self.node]
        return sp.csr_array((weights, (self.node, np.arange(count))), shape=(len(self.cover), count))

    @cached_property
    def _from_fixed(self) -> sp.csr_array:
        return sp.csr_array(self._mean @ self.answers[:, np.flatnonzero(self.fixed)])

    @cached_property
    def _from_load(self) -> sp.csr_array:
        assert self.answers_to_load is not None
        return sp.csr_array(self._mean @ self.answers_to_load)

    @cached_property
    def _skeleton(self) -> Int[np.ndarray, " skeleton"]:
        """Free nodes that others depend on, those where patches end."""
        return np.unique(self.between.indices)

    @cached_property
    def _factors(self) -> Any:
        inner = self.between[self._skeleton][:, self._skeleton]
        return splu((sp.eye_array(inner.shape[0]) - inner).tocsc())


def _stacked(blocks: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> sp.csr_array:
    """Stack blocks, each over columns of its own."""
    rows = [np.full(block.shape[0], len(columns)) for columns, block in blocks]
    counts = np.concatenate(rows) if rows else np.zeros(0, dtype=int)
    indices = [np.tile(columns, block.shape[0]) for columns, block in blocks]
    data = [block.ravel() for _, block in blocks]
    pointers = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_array(
        (np.concatenate(data) if data else np.zeros(0), np.concatenate(indices) if data else counts, pointers),
        shape=(len(counts), n),
    )


def _refuse_broken(maps: Sequence[LocalMap]) -> None:
    for number, one in enumerate(maps):
        if not np.isfinite(one.harmonic).all() or (one.green is not None and not np.isfinite(one.green).all()):
            raise InvalidInput(f"the local operator answered patch {number} with values that are not finite")
