"""One call from boundary values to a solution, with exact local solves equal to finite elements."""

import numpy as np
import pytest
from tests.pde.schwarz.domains import linear, ring, square

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.elliptic import EllipticProblem, boundary_conditions
from firstlight.pde.schwarz.local_operators import ExactLocal
from firstlight.pde.schwarz.solver import SchwarzSolver

METHODS = ("direct", "gmres", "anderson", "ras", "multiplicative", "richardson")


def solver(mesh, method="direct", **options) -> SchwarzSolver:
    return SchwarzSolver(ExactLocal(), Decomposition.from_mesh(mesh, target_nodes=60), method=method, **options)


@pytest.mark.parametrize("method", METHODS)
def test_with_exact_local_solves_every_method_reaches_finite_elements(method: str) -> None:
    mesh = ring()
    values = np.random.default_rng(0).uniform(size=mesh.nvertices)
    truth = EllipticProblem(mesh).solve(boundary_conditions(mesh, values), np.zeros(mesh.nvertices))
    found = solver(mesh, method, tol=1e-12, max_iterations=50_000).solve(values)
    assert found.converged
    assert np.abs(found.u - truth).max() < 1e-10


def test_sources_fluxes_and_coefficients_are_those_of_finite_elements() -> None:
    mesh = square()
    a, f = (lambda x, y: 1 + x), (lambda x, y: np.sin(5 * y))
    dirichlet, neumann = {"left": 1.0, "top": lambda x, y: x}, {"right": lambda x, y: y, "bottom": -0.5}
    found = solver(mesh).solve(dirichlet, neumann, a=a, f=f)
    problem = EllipticProblem(mesh, a(*mesh.p))
    truth = problem.solve(boundary_conditions(mesh, dirichlet, neumann), problem.mass @ f(*mesh.p))
    assert np.abs(found.u - truth).max() < 1e-11


def test_a_flux_is_positive_where_it_flows_in_whatever_the_numbering_of_triangles() -> None:
    mesh = square()
    fluxes = {"right": 2.0, "top": -3.0, "bottom": 3.0}
    found = solver(mesh).solve({"left": linear}, fluxes)
    assert np.abs(found.u - linear(*mesh.p)).max() < 1e-12


def test_values_on_a_curve_inside_are_held() -> None:
    mesh = square()
    inner = [
        facet for facet in range(mesh.nfacets) if np.hypot(*(mesh.p[:, mesh.facets[:, facet]].mean(1) - 0.5)) < 0.1
    ]
    mesh = type(mesh)(mesh.p, mesh.t, _boundaries={**mesh.boundaries, "wire": np.array(inner)})
    found = solver(mesh).solve({"boundary": 0.0, "wire": 1.0})
    truth = EllipticProblem(mesh).solve(
        boundary_conditions(mesh, {"boundary": 0.0, "wire": 1.0}), np.zeros(mesh.nvertices)
    )
    assert np.abs(found.u - truth).max() < 1e-12
    assert found.u.max() == 1.0


def test_many_boundary_values_at_once_equal_one_after_the_other() -> None:
    mesh = ring()
    values = np.random.default_rng(1).uniform(size=(5, mesh.nvertices))
    schwarz = solver(mesh)
    many = schwarz.solve_many(values)
    assert np.abs(many - [schwarz.solve(row).u for row in values]).max() < 1e-13


def test_heat_decays_as_its_lowest_mode() -> None:
    mesh, alpha = square(0.06), 0.3
    times = np.linspace(0.0, 0.1, 51)
    found = solver(mesh).solve_heat(lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y), times, 0.0, alpha=alpha)
    rate = -np.log(found.u[-1].max() / found.u[0].max()) / 0.1
    assert rate == pytest.approx(2 * np.pi**2 * alpha, rel=0.02)


def test_boundary_values_of_heat_may_move_with_time() -> None:
    mesh = square()
    times = np.linspace(0.0, 1.0, 11)
    found = solver(mesh).solve_heat(0.0, times, lambda x, y, t: linear(x, y) * min(1.0, 5 * t), alpha=5.0)
    assert np.abs(found.u[-1] - linear(*mesh.p)).max() < 1e-3


def test_polish_reaches_finite_elements_and_counts_what_the_start_saved() -> None:
    mesh = ring()
    values = np.random.default_rng(2).uniform(size=mesh.nvertices)
    truth = EllipticProblem(mesh).solve(boundary_conditions(mesh, values), np.zeros(mesh.nvertices))
    found = solver(mesh, "ras", tol=1e-3).solve(values, polish=True)
    assert np.abs(found.u - truth).max() < 1e-11
    assert found.polish_iterations is not None
    assert found.saved_iterations is not None
    assert found.saved_iterations > 0


def test_turned_moved_and_scaled_domains_have_the_same_solution() -> None:
    mesh = ring()
    values = np.random.default_rng(3).uniform(size=mesh.nvertices)
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    other = type(mesh)(300.0 * turn @ mesh.p + [[5e5], [4e6]], mesh.t)
    assert np.abs(solver(mesh).solve(values).u - solver(other).solve(values).u).max() < 1e-9


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"dirichlet": {"rim": 1.0}}, "no tag 'rim'; its tags are bottom, boundary, left"),
        ({"dirichlet": {"left": np.nan}}, "finite"),
        ({"dirichlet": {"left": np.ones(3)}}, "one per node"),
        ({"dirichlet": {"left": 1.0}, "a": -1.0}, "positive"),
        ({"dirichlet": {}, "neumann": {"left": 1.0}}, "no value is given on the connected piece"),
    ],
)
def test_data_that_mean_nothing_are_refused(data: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        solver(square(0.2)).solve(**data)


def test_silent_facets_and_disputed_corners_are_noted() -> None:
    notes = solver(square(0.2)).solve({"left": 0.0, "top": 1.0}).notes
    assert any("10 facets of the boundary got no condition" in note for note in notes)
    assert any("1 nodes of 'top' had another value" in note for note in notes)


def test_unknown_methods_and_uneven_times_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'jacobi'"):
        solver(square(0.2), "jacobi")
    with pytest.raises(InvalidInput, match="equally spaced"):
        solver(square(0.2)).solve_heat(0.0, np.array([0.0, 0.1, 0.3]), 0.0)
