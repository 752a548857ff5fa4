"""The recipe of the shipped weights: labels in, a `DensityPredictor` out.

The loss of a molecule is the Coulomb self-energy of the error of its density, Δcᵀ J Δc, after the projection on the
number of electrons, relative to that of superposed mean atoms. The projection (`hold_electrons`) is linear in the
error, P = 1 − u qᵀ/(q·u) with u = G⁻¹q, so it goes into the matrix once and for all: Pᵀ J P in place of J. Every head
leaves out its own part of the molecules.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from pyscf import scf
from torch import Tensor
from torch.utils.data import DataLoader

from firstlight.chem.scf.atom_graphs import AtomGraph, joined
from firstlight.chem.scf.atom_metric import atom_integrals, atom_response
from firstlight.chem.scf.auxiliary_basis import auxiliary_molecule
from firstlight.chem.scf.data import ELEMENTS, constitution, is_held_out
from firstlight.chem.scf.density_fit import coulomb_matrix, fit_density, relative_coulomb_error
from firstlight.chem.scf.density_model import DensityPredictor, nearest_distances
from firstlight.chem.scf.drugs import JUDGED
from firstlight.chem.scf.labels import Label
from firstlight.errors import InvalidInput
from firstlight.training import LightningModule, TrainingRun, fit

BATCH = 8


@dataclass(frozen=True)
class Sample:
    """A molecule as the training loop needs it, in single precision.

    Attributes
    ----------
    graph : what the network sees.
    target : the standardised coefficients y, in the order of `CoefficientScale.flat`.
    metric : the matrix of the loss, in terms of y.
    taught : which heads are trained on it.
    """

    graph: AtomGraph
    target: Float[Tensor, " naux"]
    metric: Float[Tensor, "naux naux"]
    taught: Float[Tensor, " heads"]

    def to(self, device: torch.device) -> "Sample":
        """Return it on another device; Lightning asks for this."""
        return Sample(self.graph.to(device), *(part.to(device) for part in (self.target, self.metric, self.taught)))


def split(labels: Sequence[Label], apart_from: Sequence[str] = (), share: float = 0.08) -> tuple[list[Label], ...]:
    """Divide labels into those to train on and those to watch training with, leaving out what is for judging.

    The split is by molecule, whatever the conformer or stereoisomer, and by a rule: more labels move none of the
    others to the other side.

    Parameters
    ----------
    labels : of `label`, or read from an archive.
    apart_from : SMILES of further molecules for judging. QM9 molecules that `is_held_out` names, and
        `firstlight.chem.scf.drugs.JUDGED`, are left out anyway.
    share : of the labels that training is watched with.
    """
    judged = {constitution(smiles) for smiles in (*JUDGED, *apart_from)}
    train: list[Label] = []
    valid: list[Label] = []
    for label in labels:
        source, _, index = label.geometry.name.partition(":")
        known = constitution(label.geometry.smiles)
        if (source == "qm9" and is_held_out(int(index))) or known in judged:
            continue
        (valid if _hash(known) < share else train).append(label)
    return train, valid


def train(
    labels: Sequence[Label],
    folder: str | Path,
    *,
    apart_from: Sequence[str] = (),
    max_epochs: int = 150,
    batch_size: int = BATCH,
    learning_rate: float = 5e-3,
    seed: int = 0,
    resume: bool = False,
    start: DensityPredictor | None = None,
    model: dict[str, Any] | None = None,
    **trainer: Any,
) -> tuple[DensityPredictor, TrainingRun]:
    """Train a predictor and leave it in ``folder/model``.

    Parameters
    ----------
    labels : converged densities in the auxiliary basis of the model.
    folder : for checkpoints, the table of scores and the finished model.
    apart_from : SMILES of molecules for judging, which are not trained on.
    max_epochs, batch_size, learning_rate : of the training; the rate falls along a cosine to zero.
    seed : of weights and order.
    resume : go on with the run in `folder`.
    start : a trained predictor to go on from, with its standardisation; it is left as it is.
    model : arguments of `DensityPredictor` in place of its defaults, without `start`.
    **trainer : as `firstlight.training.fit` takes them.

    Returns
    -------
    predictor : the finished model, with its uncertainty calibrated on the molecules that training was watched with.
    run : where checkpoints and scores are.

    Raises
    ------
    InvalidInput
        If labels lack the auxiliary basis or elements of the model, or too few of them are left to train on.
    """
    torch.manual_seed(seed)
    predictor = DensityPredictor(**(model or {})) if start is None else copy.deepcopy(start).train()
    usable = [label for label in labels if set(label.geometry.symbols) <= set(predictor.elements)]
    taught, watched = split(usable, apart_from)
    if not taught or not watched:
        raise InvalidInput(
            f"{len(labels)} labels leave {len(taught)} to train on and {len(watched)} to watch; make more"
        )
    if start is None:
        predictor.scale.learn(_samples_by_element(predictor, taught))
    learn_distances(predictor, taught)
    loops = DensityTraining(predictor, learning_rate, max_epochs)
    samples: list[Any] = [[sample(predictor, label) for label in part] for part in (taught, watched)]
    loaders = [DataLoader(samples[k], batch_size, shuffle=k == 0, collate_fn=list) for k in (0, 1)]
    trainer = {"gradient_clip_val": 1.0, **trainer}
    run = fit(loops, *loaders, folder=folder, max_epochs=max_epochs, seed=seed, resume=resume, **trainer)
    predictor.eval()
    calibrate(predictor, watched)
    predictor.save_pretrained(Path(folder) / "model")
    return predictor, run


def learning_curve(
    labels: Sequence[Label],
    folder: str | Path,
    sizes: Sequence[int],
    *,
    apart_from: Sequence[str] = (),
    steps: int = 1000,
    seed: int = 0,
    **options: Any,
) -> list[tuple[int, float]]:
    """Train on more and more labels, with the same number of steps, to see what further labels would give.

    All models know the elements of the smallest part, so that all are watched with the same molecules.

    Parameters
    ----------
    labels, apart_from, seed : as `train` takes them.
    folder : for one run per size, which an interrupted call goes on with.
    sizes : numbers of molecules to train on.
    steps : of the optimiser, rounded up to whole passes.
    **options : of `train`.

    Returns
    -------
    Size, and mean relative error on the molecules that training was watched with, in units of that of mean atoms.

    Raises
    ------
    InvalidInput
        If there are fewer labels than the largest size.
    """
    taught, watched = split(labels, apart_from)
    if not sizes or min(sizes) < 1 or max(sizes) > len(taught):
        raise InvalidInput(f"sizes must lie between 1 and {len(taught)}, the labels to train on; got {list(sizes)}")
    order = np.random.default_rng(seed).permutation(len(taught))
    shuffled = [taught[k] for k in order]
    elements = sorted({symbol for one in shuffled[: min(sizes)] for symbol in one.geometry.symbols}, key=ELEMENTS.index)
    options["model"] = {**options.get("model", {}), "elements": elements}
    curve = []
    for size in sizes:
        part = [one for one in shuffled if set(one.geometry.symbols) <= set(elements)][:size]
        epochs = math.ceil(steps / math.ceil(len(part) / options.get("batch_size", BATCH)))
        run = train([*part, *watched], Path(folder) / str(size), max_epochs=epochs, seed=seed, resume=True, **options)[
            1
        ]
        curve.append((len(part), run.score))
    return curve


class DensityTraining(LightningModule):
    """Loss and optimiser."""

    def __init__(self, predictor: DensityPredictor, learning_rate: float, max_epochs: int) -> None:
        super().__init__()
        self.predictor, self.learning_rate, self.max_epochs = predictor, learning_rate, max_epochs

    def training_step(self, batch: list[Sample], _: int) -> Tensor:
        """Return the mean over heads and molecules of the relative energy of the error."""
        losses = []
        for one, y in zip(batch, self._outputs(batch), strict=True):
            error = y - one.target
            energies = torch.einsum("hp,hp->h", error @ one.metric, error)
            losses.append(energies @ one.taught / one.taught.sum())
        loss = torch.stack(losses).mean()
        self.log("train_loss", loss, on_epoch=True, on_step=False, batch_size=len(batch))
        return loss

    def validation_step(self, batch: list[Sample], _: int) -> None:
        """Log the relative error (a root, in contrast to the loss) of the mean of the heads."""
        errors = []
        for one, y in zip(batch, self._outputs(batch), strict=True):
            error = y.mean(dim=0) - one.target
            errors.append((error @ one.metric @ error).clamp(min=0).sqrt())
        self.log("valid_loss", torch.stack(errors).mean(), on_epoch=True, sync_dist=True, batch_size=len(batch))

    def configure_optimizers(self) -> Any:
        """Return Adam with a rate that falls along a cosine."""
        optimizer = torch.optim.Adam(self.predictor.network.parameters(), self.learning_rate, betas=(0.9, 0.98))
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cosine, "interval": "epoch"}}

    def _outputs(self, batch: list[Sample]) -> list[Float[Tensor, "heads naux"]]:
        graph = joined([one.graph for one in batch])
        y = self.predictor.scale.flat(self.predictor.network(graph), graph.species)
        return list(y.split([len(one.target) for one in batch], dim=1))


def sample(predictor: DensityPredictor, label: Label) -> Sample:
    """Prepare a label for training: its graph, its standardised coefficients and the matrix of its loss."""
    geometry, scale = label.geometry, predictor.scale
    graph = predictor.graph(geometry.symbols, geometry.positions)
    c = torch.from_numpy(_coefficients(label, predictor.auxbasis))
    c = c - scale.mean_coefficients(graph.species)
    matrix = coulomb_matrix(auxiliary_molecule(geometry.mole("sto-3g"), predictor.auxbasis))
    q, u = (
        np.concatenate([of_atom(symbol, predictor.auxbasis) for symbol in geometry.symbols])
        for of_atom in (atom_integrals, atom_response)
    )
    projection = np.eye(len(q)) - np.outer(u, q) / (q @ u)
    projected = torch.from_numpy(projection.T @ matrix @ projection)
    mixing = [scale.of_element(int(number))[1] for number in graph.species]
    sizes = [len(one) for one in mixing]
    # W is block-diagonal, so Wᵀ J W is made of products by atom.
    rows = torch.cat([one.T @ part for one, part in zip(mixing, projected.split(sizes), strict=True)])
    metric = torch.cat([part @ one for one, part in zip(mixing, rows.split(sizes, dim=1), strict=True)], dim=1)
    target = torch.cat([torch.linalg.solve(one, part) for one, part in zip(mixing, c.split(sizes), strict=True)])
    heads = predictor.heads
    left_out = int(_hash(constitution(geometry.smiles) + "/head") * heads) if heads > 1 else heads
    taught = (torch.arange(heads) != left_out).float()
    return Sample(graph.to(torch.float32), target.float(), (metric / (c @ projected @ c)).float(), taught)


def learn_distances(predictor: DensityPredictor, labels: Sequence[Label]) -> None:
    """Set between which distances the nearest atoms stand in training, by element."""
    found: dict[str, list[float]] = {element: [] for element in predictor.elements}
    for label in labels:
        distances = nearest_distances(label.geometry.positions)
        for symbol, distance in zip(label.geometry.symbols, distances, strict=True):
            found[symbol].append(float(distance))
    for number, distances in enumerate(found.values()):
        predictor.nearest[number] = torch.tensor([min(distances), max(distances)])


def calibrate(predictor: DensityPredictor, labels: Sequence[Label]) -> None:
    """Set what the spread of the heads is multiplied by, so that it is the expected error on these molecules."""
    predictor.uncertainty_per_spread.fill_(1.0)
    spreads = [predictor.predict(label.geometry.mole()).uncertainty for label in labels]
    errors = [coulomb_error(predictor, label) for label in labels]
    if sum(spreads) > 0:  # not with a single head
        predictor.uncertainty_per_spread.fill_(sum(errors) / sum(spreads))


def coulomb_error(predictor: DensityPredictor, label: Label) -> float:
    """Return `relative_coulomb_error` of the predicted density of a labelled molecule."""
    mol = label.geometry.mole()
    atoms = fit_density(mol, np.asarray(scf.hf.init_guess_by_atom(mol)), predictor.auxbasis)
    matrix = coulomb_matrix(auxiliary_molecule(mol, predictor.auxbasis))
    exact = _coefficients(label, predictor.auxbasis)
    return relative_coulomb_error(predictor.predict(mol).coefficients, exact, atoms, matrix)


def _samples_by_element(predictor: DensityPredictor, labels: Sequence[Label]) -> dict[str, np.ndarray]:
    """Collect the coefficients of all atoms of each element."""
    sizes = dict(zip(predictor.elements, predictor.scale.sizes, strict=True))
    found: dict[str, list[np.ndarray]] = {element: [] for element in predictor.elements}
    for label in labels:
        ends = np.cumsum([sizes[symbol] for symbol in label.geometry.symbols])
        parts = np.split(_coefficients(label, predictor.auxbasis), ends[:-1])
        for symbol, part in zip(label.geometry.symbols, parts, strict=True):
            found[symbol].append(part)
    return {element: np.array(atoms) for element, atoms in found.items()}


def _coefficients(label: Label, auxbasis: str) -> np.ndarray:
    if auxbasis not in label.coefficients:
        raise InvalidInput(f"{label.geometry.name} has no coefficients in {auxbasis}; label it again with that basis")
    return np.asarray(label.coefficients[auxbasis], dtype=float)


def _hash(text: str) -> float:
    """Return a number in [0, 1) that depends on the text only."""
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56
