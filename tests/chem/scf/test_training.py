import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch

from firstlight.chem.scf import LabelRecipe, from_smiles
from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule
from firstlight.chem.scf.data import is_held_out
from firstlight.chem.scf.density_fit import coulomb_matrix, with_electrons
from firstlight.chem.scf.density_model import DensityPredictor
from firstlight.chem.scf.labels import Label, label_one, read_labels
from firstlight.chem.scf.molecules import Geometry
from firstlight.chem.scf.training import coulomb_error, learning_curve, sample, split, train
from firstlight.errors import InvalidInput

SHARED = next((p / "shared/data/01" for p in Path(__file__).parents if (p / "shared/data/01").is_dir()), None)
SMALL = {"elements": ("H", "O"), "channels": 8, "layers": 1, "functions": 6, "heads": 2}
QUIET = {"enable_progress_bar": False, "accelerator": "cpu"}


@cache
def labels():
    """Water and peroxides, computed here in a minimal basis, in shapes that differ."""
    recipe = LabelRecipe(xc="lda,vwn", basis="sto-3g", grid_level=0, auxbases=(JFIT,))
    made = []
    for smiles in ("O", "OO", "OOO", "OOOO"):
        molecule = from_smiles(smiles)
        for k in range(2):
            shaken = molecule.positions + 0.03 * np.random.default_rng(k).standard_normal(molecule.positions.shape)
            arrays = label_one(Geometry(f"{smiles}:{k}", molecule.symbols, shaken, smiles=smiles), recipe)
            geometry = Geometry(f"{smiles}:{k}", molecule.symbols, shaken, smiles=smiles)
            made.append(Label(geometry, 0.0, {JFIT: arrays[f"c_{JFIT}"].astype(float)}))
    return made


def unlabelled(name, smiles):
    return Label(Geometry(name, ("O",), np.zeros((1, 3)), smiles=smiles), 0.0, {})


def test_judged_molecules_are_on_neither_side():
    held_out = next(index for index in range(1, 1000) if is_held_out(index))
    judged = [unlabelled("drug", "OC(C)=O"), unlabelled(f"qm9:{held_out}", "CCO"), unlabelled("x", "C[C@H](N)O")]
    kept = [unlabelled(f"qm9:{held_out + 1}", "CCC"), unlabelled("y", "CCN")]
    train_on, watch = split([*judged, *kept], apart_from=["CC(=O)O", "C[C@@H](N)O"])
    assert {label.geometry.name for label in (*train_on, *watch)} == {f"qm9:{held_out + 1}", "y"}


def test_conformers_and_stereoisomers_stay_together():
    many = [
        unlabelled(f"{n}:{k}", "C" * n + form)
        for n in range(1, 60)
        for k, form in enumerate(("[C@H](N)O", "[C@@H](N)O"))
    ]
    train_on, watch = split(many, share=0.3)
    assert len(train_on) + len(watch) == len(many)
    assert 0.1 < len(watch) / len(many) < 0.5
    assert not {one.geometry.name.split(":")[0] for one in train_on} & {
        one.geometry.name.split(":")[0] for one in watch
    }


def test_loss_is_the_relative_coulomb_error_with_the_electrons_held():
    """Against the projection written out for the coefficients."""
    torch.manual_seed(0)
    predictor, label = DensityPredictor(**SMALL), labels()[2]
    predictor.scale.learn(
        {s: np.random.default_rng(0).standard_normal((9, n)) for s, n in zip("HO", (11, 49), strict=True)}
    )
    one = sample(predictor, label)
    y = one.target + torch.randn_like(one.target)
    error = float((y - one.target) @ one.metric @ (y - one.target))

    mol = label.geometry.mole("sto-3g")
    auxmol = auxiliary_molecule(mol, JFIT)
    matrix, exact = coulomb_matrix(auxmol), label.coefficients[JFIT]
    atoms = scipy.linalg.block_diag(*(matrix[b:e, b:e] for *_, b, e in auxmol.aoslice_by_atom()))
    mixing = torch.block_diag(*(predictor.scale.of_element(int(number))[1] for number in one.graph.species))
    mean = predictor.scale.mean_coefficients(one.graph.species)

    def energy(c):
        apart = with_electrons(c, auxmol, float(mol.nelectron), atoms) - exact
        return apart @ matrix @ apart

    predicted = (mean + mixing @ y.double()).numpy()
    assert error == pytest.approx(energy(predicted) / energy(mean.numpy()), rel=1e-3)


def test_each_head_leaves_out_a_part():
    taught = torch.stack([sample(DensityPredictor(**SMALL), label).taught for label in labels()])
    assert (taught.sum(dim=1) == 1).all()
    assert (taught.mean(dim=0) < 1).all()


def test_training_learns_and_resumes(tmp_path):
    model, run = train(labels(), tmp_path, max_epochs=12, batch_size=3, model=SMALL, **QUIET)
    with run.table.open() as file:
        losses = [float(row["train_loss"]) for row in csv.DictReader(file)]
    assert losses[-1] < 0.3 * losses[0]
    assert run.epochs == 12
    again = DensityPredictor.from_pretrained(tmp_path / "model")
    assert coulomb_error(again, labels()[0]) == pytest.approx(coulomb_error(model, labels()[0]), rel=1e-6)
    _, longer = train(labels(), tmp_path, max_epochs=12, batch_size=3, model=SMALL, resume=True, **QUIET)
    assert longer.score == run.score


def test_uncertainty_is_calibrated_on_molecules_not_trained_on(tmp_path):
    model, _ = train(labels(), tmp_path, max_epochs=2, batch_size=3, model=SMALL, **QUIET)
    _, watched = split(labels())
    errors = [coulomb_error(model, label) for label in watched]
    expected = [model.predict(label.geometry.mole()).uncertainty for label in watched]
    assert np.mean(expected) == pytest.approx(np.mean(errors), rel=1e-4)


def test_training_goes_on_from_a_trained_model(tmp_path):
    first, run = train(labels(), tmp_path / "first", max_epochs=6, batch_size=3, model=SMALL, **QUIET)
    before = {name: value.clone() for name, value in first.state_dict().items()}
    second, longer = train(labels(), tmp_path / "second", max_epochs=6, batch_size=3, start=first, **QUIET)
    assert longer.score < run.score
    assert all(torch.equal(value, before[name]) for name, value in first.state_dict().items())
    assert torch.equal(second.scale.of_element(0)[1], first.scale.of_element(0)[1])


def test_learning_curve_is_measured_on_the_same_molecules(tmp_path):
    taught, _ = split(labels())
    sizes = (2, len(taught))
    curve = learning_curve(labels(), tmp_path, sizes, steps=6, batch_size=2, model=SMALL, **QUIET)
    assert [size for size, _ in curve] == list(sizes)
    assert all(0 < error < 2 for _, error in curve)
    with pytest.raises(InvalidInput, match="sizes must lie between"):
        learning_curve(labels(), tmp_path, (99,))


def test_too_few_labels_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="leave 0 to train on"):
        train([], tmp_path, model=SMALL)


def test_labels_without_the_basis_are_refused(tmp_path):
    bare = [Label(label.geometry, label.energy, {}) for label in labels()]
    with pytest.raises(InvalidInput, match="has no coefficients in def2-universal-jfit"):
        train(bare, tmp_path, model=SMALL)


@pytest.mark.skipif(SHARED is None, reason="needs the labels that stand beside the repository")
def test_given_labels_hold_molecules_that_are_not_trained_on():
    given = read_labels(SHARED / "labels_pbe_def2svp.npz")
    train_on, watch = split(given)
    names = {label.geometry.name for label in (*train_on, *watch)}
    assert not any(name.startswith("qm9:") and is_held_out(int(name[4:])) for name in names)
    assert 0.04 < len(watch) / len(given) < 0.14
