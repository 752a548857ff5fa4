"""The finite-element problem that everything here is measured against, in the words of scikit-fem.

−∇·(a ∇u) + c u = f in the domain, u = g on the Dirichlet part of the boundary, a ∂u/∂n = h on the rest, with linear
elements. The sign of h is that of the outward normal: positive lets the quantity in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float64
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from skfem import Basis, BilinearForm, ElementTriP1, FacetBasis, LinearForm, MeshTri
from skfem.models.poisson import laplace, mass

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.meshes import WHOLE, check_mesh, facets, node_graph, tags

Field = float | Callable[..., Any] | np.ndarray
"""A number, a function of x and y (arrays), or one value per node."""


@dataclass(frozen=True)
class EllipticProblem:
    """The operator −∇·(a ∇u) + c u on a mesh.

    Attributes
    ----------
    mesh : ``skfem.MeshTri``.
    diffusion : a, one value per node and between them linear; 1 unless given.
    reaction : c, for example 1/(α Δt) in a step of the heat equation.
    """

    mesh: MeshTri
    diffusion: Float64[np.ndarray, " nodes"] | None = None
    reaction: float = 0.0

    def __post_init__(self) -> None:
        check_mesh(self.mesh)
        if self.diffusion is not None and not (self.diffusion > 0).all():
            where = int(np.flatnonzero(~(self.diffusion > 0))[0])
            raise InvalidInput(
                f"the coefficient a is {self.diffusion[where]} at node {where}; expected positive values"
            )

    @cached_property
    def basis(self) -> Basis:
        """The basis of linear elements."""
        return Basis(self.mesh, ElementTriP1())

    @cached_property
    def matrix(self) -> sp.csr_array:
        """Stiffness, plus c times the area of each node."""
        if self.diffusion is None:
            stiffness = laplace.assemble(self.basis)
        else:
            stiffness = _diffusion.assemble(self.basis, a=self.basis.interpolate(self.diffusion))
        # The mass is lumped: the whole mass matrix would break the maximum principle in short steps of time.
        return sp.csr_array(stiffness + self.reaction * sp.diags_array(self.areas) if self.reaction else stiffness)

    @cached_property
    def mass(self) -> sp.csr_array:
        """The mass matrix."""
        return sp.csr_array(mass.assemble(self.basis))

    @cached_property
    def areas(self) -> Float64[np.ndarray, " nodes"]:
        """The area of each node, a third of its triangles."""
        return np.asarray(self.mass.sum(axis=1)).ravel()

    def solve(self, conditions: "Conditions", load: Float64[np.ndarray, " nodes"]) -> Float64[np.ndarray, " nodes"]:
        """Return the finite-element solution by sparse LU."""
        free, u = ~conditions.fixed, np.where(conditions.fixed, conditions.values, 0.0)
        rows = self.matrix[free]
        u[free] = splu(rows[:, free].tocsc()).solve((load + conditions.load)[free] - rows @ u)
        return u


@dataclass(frozen=True)
class Conditions:
    """What is given on the boundary, node by node.

    Attributes
    ----------
    fixed : where a value is given.
    values : it; NaN elsewhere.
    load : ∫ h φ of the flux.
    notes : what the user may not have meant, in sentences.
    """

    fixed: Bool[np.ndarray, " nodes"]
    values: Float64[np.ndarray, " nodes"]
    load: Float64[np.ndarray, " nodes"]
    notes: tuple[str, ...]


def boundary_conditions(
    mesh: MeshTri, dirichlet: Field | Mapping[str, Field], neumann: Field | Mapping[str, Field] | None = None
) -> Conditions:
    """Turn values by tag into values by node.

    Parameters
    ----------
    dirichlet, neumann : by name of a part of the boundary, or for the whole of it: a number, a function of x and y,
        or one value per node of the mesh. A node of both parts is a Dirichlet node; of two Dirichlet tags the last one
        holds. A part of the boundary with neither is insulated.

    Raises
    ------
    InvalidInput
        If a tag does not exist or has no facets, a value is not finite, a flux is given on a curve inside the domain,
        or a connected piece of the domain has no Dirichlet node.
    """
    known = tags(mesh)
    values = np.full(mesh.nvertices, np.nan)
    notes = []
    for tag, field in _by_tag(dirichlet).items():
        nodes = np.unique(facets(mesh)[:, _facets_of(known, tag)])
        wanted = nodal(mesh, field, f"the value on {tag!r}", nodes)[nodes]
        given = np.isfinite(values[nodes])
        if disputed := int((given & ~np.isclose(values[nodes], wanted)).sum()):
            notes.append(f"{disputed} nodes of {tag!r} had another value by an earlier tag; the last one holds")
        values[nodes] = wanted
    fluxes = _by_tag({} if neumann is None else neumann)
    load = np.zeros(mesh.nvertices)
    for tag, field in fluxes.items():
        load += _flux_load(mesh, tag, _facets_of(known, tag), field)
    fixed = np.isfinite(values)
    _refuse_floating(mesh, fixed, load)
    bare = _silent_facets(mesh, known, fixed, fluxes)
    if bare:
        notes.append(f"{bare} facets of the boundary got no condition and are insulated")
    return Conditions(fixed, values, load, tuple(notes))


def nodal(
    mesh: MeshTri, field: Field, what: str, nodes: np.ndarray | slice = slice(None)
) -> Float64[np.ndarray, " nodes"]:
    """Return one value per node of a number, a function of x and y, or such an array; finite at `nodes`.

    Raises
    ------
    InvalidInput
        If an array has another length or a value is not finite.
    """
    try:
        values = np.array(field(mesh.p[0], mesh.p[1]) if callable(field) else field, dtype=float)
        values = np.broadcast_to(values, mesh.nvertices).copy()
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{what} is {field!r}; expected a number, a function of the arrays x and y, or {mesh.nvertices} values, "
            "one per node of the mesh"
        ) from error
    bad = np.flatnonzero(~np.isfinite(values[nodes]))
    if len(bad):
        node = bad[0] if isinstance(nodes, slice) else nodes[bad[0]]
        raise InvalidInput(f"{what} is {values[node]} at node {node}, at {mesh.p[:, node].tolist()}; expected finite")
    return values


def _by_tag(given: Field | Mapping[str, Field]) -> dict[str, Field]:
    return dict(given) if isinstance(given, Mapping) else {WHOLE: given}


def _facets_of(known: Mapping[str, np.ndarray], tag: str) -> np.ndarray:
    if tag not in known:
        raise InvalidInput(f"the boundary has no tag {tag!r}; its tags are {', '.join(sorted(known))}")
    if not len(known[tag]):
        raise InvalidInput(f"the tag {tag!r} has no facets")
    return known[tag]


def _flux_load(mesh: MeshTri, tag: str, where: np.ndarray, field: Field) -> np.ndarray:
    inside = np.setdiff1d(where, mesh.boundary_facets())
    if len(inside):
        raise InvalidInput(f"{len(inside)} facets of {tag!r} are inside the domain; a flux is given on its boundary")
    values = nodal(mesh, field, f"the flux on {tag!r}", np.unique(facets(mesh)[:, where]))
    basis = FacetBasis(mesh, ElementTriP1(), facets=where)
    return np.asarray(_flux.assemble(basis, h=basis.interpolate(np.nan_to_num(values))))


def _refuse_floating(mesh: MeshTri, fixed: np.ndarray, load: np.ndarray) -> None:
    """Every connected piece needs a value somewhere, or its solution is only known up to a constant."""
    count, piece = connected_components(node_graph(mesh), directed=False)
    for one in range(count):
        nodes = np.flatnonzero(piece == one)
        if not fixed[nodes].any():
            some = ", ".join(map(str, nodes[:20])) + (" …" if len(nodes) > 20 else "")
            raise InvalidInput(
                f"no value is given on the connected piece of {len(nodes)} nodes ({some}); its solution is free by a "
                f"constant, and exists only if what flows in, {load[nodes].sum():.6g}, is 0. Give a value on its "
                "boundary, or leave the piece out of the mesh (largest_piece, --largest-piece)"
            )


def _silent_facets(
    mesh: MeshTri, known: Mapping[str, np.ndarray], fixed: np.ndarray, fluxes: Mapping[str, Field]
) -> int:
    spoken = [known[tag] for tag in fluxes]
    outer = mesh.boundary_facets()
    silent = np.setdiff1d(outer, np.concatenate(spoken)) if spoken else outer
    return int((~fixed[facets(mesh)[:, silent]].all(axis=0)).sum())


@BilinearForm
def _diffusion(u: Any, v: Any, w: Any) -> Any:
    form: Any = laplace.form
    return w.a * form(u, v, w)


@LinearForm
def _flux(v: Any, w: Any) -> Any:
    return w.h * v
