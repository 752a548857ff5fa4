import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.pde.subspace.subspaces_of_a_path import turning_bases

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import GlobalPOD, global_pod, principal_angles
from firstlight.pde.subspace.inner_products import orthonormal_basis

ANGLES = np.linspace(0, 6, 40)


def test_directions_are_singular_vectors_of_all_bases():
    bases = turning_bases(ANGLES)
    model = GlobalPOD(out_dim=4).fit(ANGLES, bases)
    U, s, _ = np.linalg.svd(np.concatenate(list(bases), axis=1), full_matrices=False)
    assert principal_angles(model.basis_, U[:, :4])[0] < 1e-7
    np.testing.assert_allclose(model.captured_, s[:4] ** 2 / (s**2).sum())


@pytest.mark.parametrize("limit", [global_pod.DENSE, 10, 1])
@pytest.mark.parametrize("weighed", [False, True])
def test_every_way_to_compute_them_gives_the_same(limit, weighed, monkeypatch):
    monkeypatch.setattr(global_pod, "DENSE", limit)  # forces the Gram matrix of samples, or Lanczos
    mass = np.random.default_rng(1).uniform(1, 4, 12) if weighed else np.ones(12)
    bases = np.stack([orthonormal_basis(one, mass) for one in turning_bases(ANGLES)])
    model = GlobalPOD(out_dim=5, mass=sp.diags_array(mass) if weighed else None).fit(ANGLES, bases)
    root = np.sqrt(mass)[:, None]
    U = np.linalg.svd(root * np.concatenate(list(bases), axis=1), full_matrices=False)[0]
    assert principal_angles(root * model.basis_, U[:, :5])[0] < 1e-6
    np.testing.assert_allclose(model.basis_.T @ (mass[:, None] * model.basis_), np.eye(5), atol=1e-10)


def test_a_lumped_mass_matrix_is_as_good_as_the_full_diagonal_one():
    mass = np.random.default_rng(1).uniform(1, 4, 12)
    bases = np.stack([orthonormal_basis(one, mass) for one in turning_bases(ANGLES)])
    lumped, full = (GlobalPOD(mass=one).fit(ANGLES, bases).basis_ for one in (mass, np.diag(mass)))
    np.testing.assert_allclose(np.abs(lumped), np.abs(full), atol=1e-10)


def test_more_columns_score_better_and_all_of_them_perfectly():
    bases = turning_bases(ANGLES)
    scores = [GlobalPOD(out_dim=p).fit(ANGLES, bases).score(ANGLES, bases) for p in (3, 4, 6)]
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] == pytest.approx(0, abs=1e-12)


def test_more_directions_than_bases_span_are_refused():
    with pytest.raises(InvalidInput, match="about 6"):
        GlobalPOD(out_dim=8).fit(ANGLES, turning_bases(ANGLES))
    with pytest.raises(InvalidInput, match="cannot give 13 directions"):
        GlobalPOD(out_dim=13).fit(ANGLES, turning_bases(ANGLES))


def test_predictions_do_not_depend_on_the_field():
    model = GlobalPOD().fit(ANGLES[:, None], turning_bases(ANGLES))
    assert model.predict(ANGLES[:5, None]).shape == (5, 12, 3)
    np.testing.assert_array_equal(model.predict([3.0]), model.predict([-1.0]))


def test_it_clones_as_estimators_do():
    assert clone(GlobalPOD(2, 7)).get_params() == {"dim": 2, "out_dim": 7, "mass": None}
