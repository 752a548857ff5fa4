import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import CompositeProblem, LShapeProblem, meshes


def test_constant_coefficient_on_the_l_shape_nears_the_known_eigenvalues(monkeypatch):
    """The third eigenfunction is sin(πx) sin(πy), of eigenvalue 2π²; the first is from Trefethen, Betcke 2006."""
    monkeypatch.setattr(meshes, "flattop", np.ones_like)
    errors = []
    for refinements in (4, 5):
        values = LShapeProblem(refinements, n_vectors=3).sample(0).eigenpairs[0]
        errors.append(np.array([values[0] / 9.6397238440 - 1, values[2] / (2 * np.pi**2) - 1]))
    assert (np.array(errors) > 0).all()  # Galerkin eigenvalues come from above
    assert errors[0][1] / errors[1][1] == pytest.approx(4, rel=0.1)  # second order where the function is smooth
    assert errors[1][0] < 0.01


@pytest.mark.parametrize("problem", [LShapeProblem(3), CompositeProblem(6)])
def test_bases_are_orthonormal_in_the_mass_matrix(problem):
    sample = problem.sample(0)
    V = sample.basis()
    assert sample.field.shape == (1, *problem.grid) == (1, len(V))
    np.testing.assert_allclose(V.T @ (sample.mass @ V), np.eye(10), atol=1e-10)
    values = np.linalg.eigvals(np.linalg.solve(sample.mass.toarray(), sample.matrix.toarray()))
    np.testing.assert_allclose(sample.eigenpairs[0], np.sort(values.real)[:10], rtol=1e-8)


def test_rigid_bodies_move_without_strain():
    problem = CompositeProblem(8)
    space = meshes._plate(8)
    sample = problem.sample(0)
    modes = problem.rigid_body_modes()
    strain = np.abs(sample.matrix @ modes)
    # Only next to the clamped side, where the mode is cut off, does the plate resist.
    x = space.basis.doflocs[0][space.free]
    assert strain[x > 0.2].max() < 1e-9 * strain.max()


def test_the_composite_has_two_materials():
    moduli = 10 ** CompositeProblem(16).sample(0).field
    np.testing.assert_allclose(np.unique(moduli.round(9)), [1, 1000])


@pytest.mark.parametrize("problem", [LShapeProblem(0), CompositeProblem(1)])
def test_impossible_meshes_are_refused(problem):
    with pytest.raises(InvalidInput):
        problem.sample(0)
