"""What a learned kernel promises holds before it has learned anything."""

import numpy as np
import pytest
import torch
from tests.pde.schwarz.domains import linear, ring, square

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.elliptic import EllipticProblem
from firstlight.pde.schwarz.harmonic_kernel import HarmonicKernel
from firstlight.pde.schwarz.solver import SchwarzSolver
from firstlight.pde.schwarz.training import lessons, train


@pytest.fixture(scope="module")
def kernel() -> HarmonicKernel:
    torch.manual_seed(0)
    return HarmonicKernel(width=16).eval()


def patches_of(mesh, nodes: int = 60):
    fixed = np.zeros(mesh.nvertices, dtype=bool)
    fixed[mesh.boundary_nodes()] = True
    return Decomposition.from_mesh(mesh, target_nodes=nodes).patches(fixed)


def test_answers_are_means_of_given_values_and_exact_for_linear_ones(kernel: HarmonicKernel) -> None:
    mesh = ring()
    patches = patches_of(mesh)
    for patch, answer in zip(patches, kernel.maps(patches, EllipticProblem(mesh)), strict=True):
        assert (answer.harmonic >= 0).all()
        assert np.abs(answer.harmonic.sum(axis=1) - 1).max() < 1e-14
        assert np.abs(answer.harmonic @ patch.points[patch.fixed] - patch.points[patch.free]).max() < 1e-11


def test_a_turned_moved_and_scaled_domain_has_the_same_answers(kernel: HarmonicKernel) -> None:
    mesh = ring()
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    other = type(mesh)(300.0 * turn @ mesh.p + [[5e5], [4e6]], mesh.t)
    for one, two in zip(
        kernel.maps(patches_of(mesh), EllipticProblem(mesh)),
        kernel.maps(patches_of(other), EllipticProblem(other)),
        strict=True,
    ):
        assert np.abs(one.harmonic - two.harmonic).max() < 1e-5


def test_the_joined_solution_is_linear_where_it_should_be_and_certified(kernel: HarmonicKernel) -> None:
    mesh = ring()
    solver = SchwarzSolver(kernel, Decomposition.from_mesh(mesh))
    found = solver.solve(linear)
    assert np.abs(found.u - linear(*mesh.p)).max() < 1e-10
    assert found.certificate.radius_bound < 1
    noise = solver.solve(np.random.default_rng(0).uniform(size=mesh.nvertices))
    assert noise.certificate.overshoot == 0.0
    assert noise.certificate.error_bound is not None


def test_problems_it_was_not_made_for_are_refused(kernel: HarmonicKernel) -> None:
    mesh = square()
    solver = SchwarzSolver(kernel, Decomposition.from_mesh(mesh))
    with pytest.raises(InvalidInput, match="all of the boundary"):
        solver.solve({"left": 0.0}, {"right": 1.0})
    with pytest.raises(InvalidInput, match="coefficient"):
        solver.solve(0.0, a=2.0)
    with pytest.raises(InvalidInput, match="boundary values only"):
        solver.solve(0.0, f=1.0)


def test_greens_functions_are_symmetric_and_positive() -> None:
    torch.manual_seed(0)
    mesh = ring()
    patches = patches_of(mesh)
    for answer in HarmonicKernel(width=16, loads=True).maps(patches, EllipticProblem(mesh)):
        assert answer.green is not None
        assert (answer.green > 0).all()
        assert np.abs(answer.green - answer.green.T).max() <= 1e-6 * answer.green.max()


@pytest.mark.parametrize("loads", [False, True])
def test_training_brings_the_kernel_nearer_to_the_exact_answers(tmp_path, loads: bool) -> None:
    some = lessons(3, loads=loads)[:8]
    learned, run = train(some, some, folder=tmp_path, epochs=15, enable_progress_bar=False)
    rows = run.table.read_text().splitlines()
    column = rows[0].split(",").index("valid_noise")
    first, last = (float(rows[line].split(",")[column]) for line in (1, -1))
    assert last < 0.8 * first
    assert (learned.green is not None) is loads


def test_lessons_are_the_exact_answers_of_random_patches() -> None:
    lesson = lessons(3)[0]
    assert np.allclose(lesson.harmonic.sum(axis=1), 1.0)
    rim, free = lesson.view["rim"], lesson.view["free"]
    assert np.abs(lesson.harmonic @ rim - free).max() < 1e-9
