import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from tests.pde.subspace.subspaces_of_a_path import turning_bases

from firstlight.errors import InvalidInput
from firstlight.pde.subspace import GlobalPOD, SubspaceRegressor, principal_angles
from firstlight.pde.subspace.inner_products import orthonormal_basis
from firstlight.pde.subspace.problems import FlattopProblem, generate

ANGLES = np.random.default_rng(0).uniform(0, 6, 120)
FEW = {"net": "pod-mlp", "out_dim": 3, "pod_dim": 6, "width": 64, "steps": 150, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def flattop():
    return generate(FlattopProblem(cells=16, n_vectors=3), 60)


@pytest.fixture(scope="module")
def turning():
    return SubspaceRegressor(**FEW).fit(ANGLES[:, None], turning_bases(ANGLES))


def test_parameters_are_learned_where_a_constant_basis_must_fail(turning):
    new = np.linspace(0.5, 5.5, 20)
    ours = -turning.score(new[:, None], turning_bases(new))
    constant = -GlobalPOD(out_dim=3).fit(ANGLES[:, None], turning_bases(ANGLES)).score(new[:, None], turning_bases(new))
    assert ours < 0.15 * constant


def test_predictions_are_orthonormal_and_do_not_depend_on_company(turning):
    together = turning.predict([[1.0], [2.0], [3.0]])
    np.testing.assert_allclose(together[1].T @ together[1], np.eye(3), atol=1e-12)
    assert principal_angles(together[1], turning.predict([2.0]))[0] < 1e-5


def test_the_same_seed_gives_the_same_model():
    one, two = (SubspaceRegressor(**{**FEW, "steps": 10}).fit(ANGLES[:, None], turning_bases(ANGLES)) for _ in range(2))
    np.testing.assert_array_equal(one.predict([2.0]), two.predict([2.0]))


def test_it_survives_pickling_and_saving(turning, tmp_path):
    turning.save_pretrained(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(turning)), SubspaceRegressor.from_pretrained(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict([2.0]), turning.predict([2.0]))


def test_it_clones_as_estimators_do():
    model = SubspaceRegressor(10, (10, 20), "ffno", loss="l2", width=8)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "network_")


def test_a_mass_matrix_is_the_inner_product_of_training_and_prediction():
    weights = np.random.default_rng(3).uniform(0.2, 5, 12)
    mass = sp.diags_array(weights).tocsr()
    bases = np.stack([orthonormal_basis(one, mass) for one in turning_bases(ANGLES)])
    model = SubspaceRegressor(**FEW, mass=mass).fit(ANGLES[:, None], bases)
    W = model.predict([2.0])
    np.testing.assert_allclose(W.T @ (mass @ W), np.eye(3), atol=1e-10)
    exact = orthonormal_basis(turning_bases([2.0])[0], mass)
    assert principal_angles(W, exact, mass)[0] < 0.1


@pytest.mark.parametrize("net", ["unet", "ffno"])
@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_networks_on_a_grid_learn(net, loss, flattop):
    model = SubspaceRegressor(out_dim=4, net=net, loss=loss, width=8, layers=2, steps=60, learning_rate=5e-3)
    model.fit(flattop.fields[:50], flattop.bases[:50])
    untrained = SubspaceRegressor(out_dim=4, net=net, width=8, layers=2, steps=1, learning_rate=1e-12)
    untrained.fit(flattop.fields[:50], flattop.bases[:50])
    new = flattop.fields[50:], flattop.bases[50:]
    assert -model.score(*new) < 0.85 * -untrained.score(*new)


@pytest.mark.parametrize("steps", [1, 2, 3, 20])
def test_the_shortest_training_runs(steps):
    short = {**FEW, "steps": steps, "batch_size": 120}
    assert SubspaceRegressor(**short).fit(ANGLES[:, None], turning_bases(ANGLES)).run_.epochs == steps


def test_one_network_serves_several_numbers_of_columns(flattop):
    model = SubspaceRegressor(out_dim=(8, 3), width=8, layers=2, steps=60).fit(flattop.fields, flattop.bases)
    assert model.network_.out_dims == [3, 8]
    W = model.predict(flattop.fields[0])
    assert W.shape == (256, 8)
    raw = model.network_(torch.from_numpy(flattop.fields[:1]).float())[0, :, :3].detach().numpy()
    assert principal_angles(W[:, :3], raw)[0] < 1e-3


def test_a_mass_matrix_on_a_grid_enters_the_loss(flattop):
    mass = sp.eye_array(256).tocsr() * 4.0
    model = SubspaceRegressor(out_dim=4, width=8, layers=2, steps=10, mass=mass)
    W = model.fit(flattop.fields, flattop.bases / 2).predict(flattop.fields[0])
    np.testing.assert_allclose(W.T @ (mass @ W), np.eye(4), atol=1e-10)
    plain = SubspaceRegressor(out_dim=4, width=8, layers=2, steps=10).fit(flattop.fields, flattop.bases)
    assert principal_angles(W, plain.predict(flattop.fields[0]))[0] < 1e-2  # a multiple of the identity is no change


def test_a_stopped_run_goes_on_from_its_folder(flattop, tmp_path):
    model = SubspaceRegressor(out_dim=3, width=8, layers=2, steps=8)
    model.fit(flattop.fields, flattop.bases, folder=tmp_path / "run")
    with pytest.raises(InvalidInput, match="resume"):
        model.fit(flattop.fields, flattop.bases, folder=tmp_path / "run")
    again = clone(model).fit(flattop.fields, flattop.bases, folder=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.predict(flattop.fields[0]), model.predict(flattop.fields[0]))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"out_dim": 2}, "out_dim=2 must be at least the 3 wanted"),
        ({"out_dim": 256}, "less than the 256 unknowns"),
        ({"net": "cnn"}, "net must be one of"),
        ({"loss": "l3"}, "loss must be"),
        ({"net": "pod-mlp", "pod_dim": 500}, "pod_dim=500 must lie between"),
        ({"validation": 0.0}, "too few to learn from"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change, complaint, flattop):
    with pytest.raises(InvalidInput, match=complaint):
        SubspaceRegressor(**change).fit(flattop.fields, flattop.bases)


def test_networks_on_a_grid_need_one(flattop):
    flat = flattop.fields.reshape(60, -1)
    with pytest.raises(InvalidInput, match="pod-mlp"):
        SubspaceRegressor(net="unet").fit(flat, flattop.bases)
    with pytest.raises(InvalidInput, match="256 of them, but bases have 255 rows"):
        SubspaceRegressor().fit(flattop.fields, np.linalg.qr(flattop.bases[:, :255])[0])


def test_whole_spaces_are_one_point():
    square = np.stack([np.eye(4)] * 5)
    with pytest.raises(InvalidInput, match="one point"):
        SubspaceRegressor(net="pod-mlp").fit(np.arange(5.0)[:, None], square)
