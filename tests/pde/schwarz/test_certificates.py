"""Certificates hold for wrong solutions too, and say when they prove nothing."""

import numpy as np
import pytest
from skfem import MeshTri
from tests.pde.schwarz.domains import ring

from firstlight.pde.schwarz.certificates import Barrier
from firstlight.pde.schwarz.coupling import Coupling
from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.elliptic import EllipticProblem, boundary_conditions
from firstlight.pde.schwarz.local_operators import ExactLocal, LocalMap
from firstlight.pde.schwarz.shapes import random_polygon
from firstlight.pde.schwarz.solver import SchwarzSolver


class Blurred:
    """Exact local answers with every entry wrong by up to some factor, rows still summing to one."""

    def __init__(self, wrong: float) -> None:
        self.wrong = wrong

    def maps(self, patches, problem) -> list[LocalMap]:
        rng = np.random.default_rng(0)
        found = []
        for exact in ExactLocal().maps(patches, problem):
            blurred = exact.harmonic * np.exp(self.wrong * rng.normal(size=exact.harmonic.shape))
            found.append(LocalMap(blurred / blurred.sum(axis=1, keepdims=True), exact.green))
        return found


@pytest.mark.parametrize("wrong", [0.001, 0.1, 1.0])
def test_the_bound_covers_the_error_at_every_node(wrong: float) -> None:
    mesh = ring()
    solver = SchwarzSolver(Blurred(wrong), Decomposition.from_mesh(mesh))
    for seed in range(5):
        values = np.random.default_rng(seed).uniform(size=mesh.nvertices)
        truth = EllipticProblem(mesh).solve(boundary_conditions(mesh, values), np.zeros(mesh.nvertices))
        found = solver.solve(values)
        bound = found.certificate.error_bound
        assert bound is not None
        assert (np.abs(found.u - truth) <= bound + 1e-12).all()
        assert bound.max() <= 30 * np.abs(found.u - truth).max()
        assert found.certificate.overshoot == 0.0


def test_the_spectral_radius_is_below_its_bound_and_the_bound_below_one() -> None:
    for seed in range(4):
        mesh = random_polygon(np.random.default_rng(seed)).mesh(0.05)
        fixed = np.zeros(mesh.nvertices, dtype=bool)
        fixed[mesh.boundary_nodes()] = True
        coupling = Coupling.of(Blurred(0.5), Decomposition.from_mesh(mesh), EllipticProblem(mesh), fixed)
        radius = np.abs(np.linalg.eigvals(coupling.between.toarray())).max()
        assert radius <= coupling.radius_bound < 1


def test_the_number_of_hops_is_that_of_a_random_walk() -> None:
    mesh = ring(0.2)
    fixed = np.zeros(mesh.nvertices, dtype=bool)
    fixed[mesh.boundary_nodes()] = True
    cut = Decomposition.from_mesh(mesh, target_nodes=40, overlap=1)
    coupling = Coupling.of(ExactLocal(), cut, EllipticProblem(mesh), fixed)
    power, total = np.ones(coupling.between.shape[0]), np.zeros(coupling.between.shape[0])
    for _ in range(5000):
        total, power = total + power, coupling.between @ power
    assert np.allclose(coupling.hops, total, rtol=1e-9)


def test_a_mesh_that_is_not_delaunay_has_no_bound_and_says_why() -> None:
    points = np.array(
        [[0.0, 0.0], [1.0, 0.0], [0.5, 0.05], [0.5, -0.05], [-1.0, -1.0], [2.0, -1.0], [2.0, 1.0], [-1.0, 1.0]]
    )
    triangles = np.array(
        [[0, 2, 1], [0, 1, 3], [0, 3, 4], [3, 5, 4], [3, 1, 5], [1, 6, 5], [1, 2, 6], [2, 7, 6], [2, 0, 7], [0, 4, 7]]
    )
    mesh = MeshTri(points.T.copy(), triangles.T.copy())
    fixed = np.arange(8) >= 4
    barrier = Barrier(EllipticProblem(mesh), fixed)
    assert barrier.bound(np.zeros(8), np.zeros(8)) is None
    assert "positive entry" in barrier.reason


def test_patches_that_disagree_show_a_jump() -> None:
    mesh = ring()
    values = np.random.default_rng(0).uniform(size=mesh.nvertices)
    jumps = [
        SchwarzSolver(Blurred(wrong), Decomposition.from_mesh(mesh)).solve(values).certificate.jump
        for wrong in (0.0, 0.01, 0.1)
    ]
    assert jumps[0] < 1e-12 < jumps[1] < jumps[2]
