"""Eigenproblems on unstructured meshes, assembled by scikit-fem: diffusion on an L-shape, a clamped composite plate.

Both come as A u = λ B u with a mass matrix B, so that subspaces are to be compared in its inner product, and boundary
values are taken out: unknowns are those of the free nodes.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.pde.subspace.factorisations import shift_invert_eigsh
from firstlight.pde.subspace.problems.elliptic import flattop
from firstlight.pde.subspace.problems.random_series import RandomSeries

POISSON = 0.3
SOFT, STIFF = 1.0, 1000.0  # Young's moduli of the composite, in units of the softer one


@dataclass(frozen=True)
class LShapeProblem:
    """-div(a grad u) = λ u on the L-shape [-1, 1]² without its first quadrant, u = 0 on its boundary.

    Parameters
    ----------
    refinements : uniform refinements of scikit-fem's coarsest L; 4 give 705 free nodes, each more four times as many.
    n_vectors : number of lowest eigenvectors wanted.
    """

    refinements: int = 4
    n_vectors: int = 10

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field: one value per free node."""
        return (int(_l_shape(self.refinements).free.sum()),)

    def sample(self, seed: int | np.random.SeedSequence) -> "MeshSample":
        """Draw a flattop coefficient; the field is its values at the free nodes."""
        space = _l_shape(self.refinements)
        from skfem.helpers import dot, grad

        series = RandomSeries.draw(2, np.random.default_rng(seed))
        values = _at(series, space.quadrature, low=-1.0, size=2.0)

        def energy(u: Any, v: Any, w: Any) -> Any:
            slope, test = grad(u), grad(v)
            return w.a * dot(slope, test)  # type: ignore[arg-type]  # its stubs allow for elements without gradients

        stiffness = _bilinear(energy).assemble(space.basis, a=flattop(values))
        mass = _bilinear(lambda u, v, w: u * v).assemble(space.basis)
        nodes = space.basis.doflocs[:, space.free].T
        field = flattop(series.at((nodes + 1) / 2))[None]
        return MeshSample(field, space.restricted(stiffness), space.restricted(mass), space.free, self.n_vectors)


@dataclass(frozen=True)
class CompositeProblem:
    """Modes of a plane plate [0, 2] × [0, 1], clamped on its left side, of two materials a thousandfold apart.

    Where the random series is positive the plate is stiff, elsewhere soft, in plane strain with Poisson's ratio 0.3 and
    density 1. Rigid bodies of stiff material in soft surroundings are slow modes of which constants know nothing.

    Parameters
    ----------
    cells : elements along the short side.
    n_vectors : number of lowest modes wanted.
    """

    cells: int = 16
    n_vectors: int = 10

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of a field: one value per free displacement."""
        return (int(_plate(self.cells).free.sum()),)

    def sample(self, seed: int | np.random.SeedSequence) -> "MeshSample":
        """Draw a composite; the field is log10 of Young's modulus at the node of each free displacement."""
        space = _plate(self.cells)
        from skfem.helpers import ddot, sym_grad, trace
        from skfem.helpers import dot as inner

        series = RandomSeries.draw(2, np.random.default_rng(seed))
        # The series is stretched over half the length of the short side, so that there are several inclusions.
        E = _modulus(_at(series, space.quadrature, low=0.0, size=0.5))
        lame, shear = E * POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), E / (2 * (1 + POISSON))

        def energy(u: Any, v: Any, w: Any) -> Any:
            strain, test = sym_grad(u), sym_grad(v)
            return w.lame * trace(strain) * trace(test) + 2 * w.shear * ddot(strain, test)

        stiffness = _bilinear(energy).assemble(space.basis, lame=lame, shear=shear)
        mass = _bilinear(lambda u, v, w: inner(u, v)).assemble(space.basis)
        nodes = space.basis.doflocs[:, space.free].T
        field = np.log10(_modulus(series.at(nodes / 0.5)))[None]
        return MeshSample(field, space.restricted(stiffness), space.restricted(mass), space.free, self.n_vectors)

    def rigid_body_modes(self) -> Float64[np.ndarray, "n 3"]:
        """Two translations and a rotation at the free displacements, the classical candidates for multigrid."""
        space = _plate(self.cells)
        x, y = space.basis.doflocs
        vertical = np.zeros(len(x), bool)
        vertical[1::2] = True
        modes = np.column_stack([~vertical, vertical, np.where(vertical, x - 1, 0.5 - y)])
        return modes[space.free].astype(np.float64)


@dataclass(frozen=True, eq=False)
class MeshSample:
    """One eigenproblem on a mesh.

    Attributes
    ----------
    field : the coefficient at the free unknowns, what a network sees; one channel.
    matrix, mass : A and B on the free unknowns.
    free : mask of the free unknowns among all.
    n_vectors : how many modes are wanted.
    """

    field: Float64[np.ndarray, "1 n"]
    matrix: sp.csr_array
    mass: sp.csr_array
    free: Bool[np.ndarray, " all"]
    n_vectors: int

    @cached_property
    def eigenpairs(self) -> tuple[Float64[np.ndarray, " k"], Float64[np.ndarray, "n k"]]:
        """The lowest eigenvalues in ascending order and their eigenvectors, orthonormal in the mass matrix."""
        return shift_invert_eigsh(self.matrix, self.n_vectors, self.mass)

    def basis(self) -> Float64[np.ndarray, "n k"]:
        """The wanted subspace, by a basis that is orthonormal in the mass matrix."""
        return self.eigenpairs[1]


@dataclass(frozen=True, eq=False)
class _Space:
    """A finite-element space with its boundary values marked."""

    basis: Any
    free: Bool[np.ndarray, " all"]

    @property
    def quadrature(self) -> Float64[np.ndarray, "2 elements points"]:
        return np.asarray(self.basis.global_coordinates())

    def restricted(self, matrix: Any) -> sp.csr_array:
        return sp.csr_array(sp.csr_array(matrix)[self.free][:, self.free])


@cache
def _l_shape(refinements: int) -> _Space:
    skfem = _skfem()
    if not 1 <= refinements <= 10:
        raise InvalidInput(f"expected between 1 and 10 refinements, got {refinements}")
    basis = skfem.Basis(skfem.MeshTri.init_lshaped().refined(refinements), skfem.ElementTriP1())
    return _clamped(basis, basis.get_dofs())


@cache
def _plate(cells: int) -> _Space:
    skfem = _skfem()
    if cells < 2:
        raise InvalidInput(f"expected at least 2 cells, got {cells}")
    mesh = skfem.MeshTri.init_tensor(np.linspace(0, 2, 2 * cells + 1), np.linspace(0, 1, cells + 1))
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP1()))
    return _clamped(basis, basis.get_dofs(lambda x: x[0] < 1e-9))


def _clamped(basis: Any, held: Any) -> _Space:
    free = np.ones(basis.N, bool)
    free[held.flatten()] = False
    return _Space(basis, free)


def _modulus(series: Float64[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
    return np.where(series > 0, STIFF, SOFT)


def _at(series: RandomSeries, points: np.ndarray, low: float, size: float) -> np.ndarray:
    """Evaluate at points, shape (2, …), that lie in the box from `low` on with edges of `size`."""
    return series.at((points.reshape(2, -1).T - low) / size).reshape(points.shape[1:])


def _bilinear(form: Any) -> Any:
    return _skfem().BilinearForm(form)


def _skfem() -> Any:
    try:
        import skfem
    except ModuleNotFoundError as error:
        raise MissingExtra("scikit-fem", "pde") from error
    return skfem
