"""What a local solver is: on a patch, free values from fixed values and loads.

For a linear problem that is two matrices. Their names are those of potential theory: row i of the harmonic measure says
how much each fixed value counts at node i, and the Green's function answers a load at a free node. Both are not
negative where the maximum principle holds, and without reaction the rows of the harmonic measure sum to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from firstlight.pde.schwarz.decomposition import Patch
from firstlight.pde.schwarz.elliptic import EllipticProblem


@dataclass(frozen=True)
class LocalMap:
    """The linear answer of a patch: free values = harmonic @ fixed values + green @ loads at free nodes.

    Attributes
    ----------
    harmonic : the harmonic measure.
    green : the Green's function; None if the operator does not offer it, and then no loads may be given.
    """

    harmonic: Float64[np.ndarray, "free fixed"]
    green: Float64[np.ndarray, "free free"] | None


@runtime_checkable
class LocalOperator(Protocol):
    """Anything that solves an elliptic problem on patches, for all data at once."""

    def maps(self, patches: Sequence[Patch], problem: EllipticProblem) -> list[LocalMap]:
        """Return the linear answer of every patch, or raise InvalidInput for a problem it was not made for."""
        ...


class ExactLocal:
    """Local solves by finite elements: classical Schwarz, and the measure of the learned operators."""

    def maps(self, patches: Sequence[Patch], problem: EllipticProblem) -> list[LocalMap]:
        """Invert the free block of the matrix, whose rows are complete in a patch."""
        found = []
        for patch in patches:
            rows = problem.matrix[patch.nodes[patch.free]][:, patch.nodes].toarray()
            factor = scipy.linalg.cho_factor(rows[:, patch.free])
            green = scipy.linalg.cho_solve(factor, np.eye(len(patch.free)))
            found.append(LocalMap(-green @ rows[:, patch.fixed], green))
        return found
