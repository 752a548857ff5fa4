"""The recipe of the shipped kernels: patches of random domains, exact answers there, and a network that learns them.

Domains are random polygons with holes, meshed and cut as the domains of users are, so that what the network meets later
looks like what it learned on. The target is the whole answer of a patch and not the solution for some boundary values:
one local solve teaches all of them. The loss is the relative error of the answer for white noise, which is the
Frobenius norm of the kernel's error, and for harmonic polynomials, whose errors add up from patch to patch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from skfem import MeshTri
from torch import Tensor
from torch.utils.data import DataLoader

from firstlight import parallel
from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.decomposition import Decomposition, Patch
from firstlight.pde.schwarz.elliptic import EllipticProblem
from firstlight.pde.schwarz.harmonic_kernel import HarmonicKernel, tilted
from firstlight.pde.schwarz.local_operators import ExactLocal
from firstlight.pde.schwarz.patch_views import PatchViews, padded, rim_nodes, view
from firstlight.pde.schwarz.shapes import random_polygon
from firstlight.training import LightningModule, TrainingRun, fit

BATCH = 8
TILTS = 4
DEGREES = (2, 3, 4)
"""Of the harmonic polynomials in the loss; constants and linear functions are exact already."""


@dataclass(frozen=True)
class Lesson:
    """A patch as the network sees it and the exact answer.

    Attributes
    ----------
    view : as `view` returns it.
    harmonic : by free and rim nodes; zero where nothing is given.
    green : by free nodes.
    """

    view: dict[str, np.ndarray]
    harmonic: Float[np.ndarray, "free rim"]
    green: Float[np.ndarray, "free free"]


def lessons(seed: int, *, loads: bool = False) -> list[Lesson]:
    """Return the patches of one random domain with their exact answers.

    Parameters
    ----------
    seed : of the domain.
    loads : with a random coefficient, and with flux on a random part of the boundary, in half of the domains each;
        otherwise the Laplacian with values on all of the boundary.
    """
    rng = np.random.default_rng(seed)
    while True:
        try:
            mesh = random_polygon(rng).mesh(rng.uniform(0.02, 0.045))
            cut = Decomposition.from_mesh(
                mesh, target_nodes=int(rng.integers(60, 130)), overlap=int(rng.integers(1, 4))
            )
            break
        except InvalidInput:  # the mesh is too coarse for this polygon
            continue
    fixed = np.zeros(mesh.nvertices, dtype=bool)
    fixed[mesh.boundary_nodes()] = True
    diffusion = None
    if loads:
        fixed &= ~_random_arcs(rng, mesh) if rng.random() < 0.5 else True
        diffusion = _random_coefficient(rng, mesh) if rng.random() < 0.5 else None
    return _lessons_of(cut.patches(fixed), EllipticProblem(mesh, diffusion))


def make_lessons(domains: int, *, loads: bool = False, first_seed: int = 0, workers: int | None = None) -> list[Lesson]:
    """Return the patches of many random domains, made by all cores."""
    jobs = {f"domain-{seed}": seed for seed in range(first_seed, first_seed + domains)}
    made, failures = parallel.run(_Teacher(loads), jobs, workers=workers)
    if failures:
        raise InvalidInput(f"{len(failures)} domains failed: {next(iter(failures.values()))}")
    return [lesson for one in made.values() for lesson in one["lessons"]]


def train(
    train_lessons: Sequence[Lesson],
    valid_lessons: Sequence[Lesson],
    *,
    folder: str | Path,
    epochs: int = 40,
    kernel: HarmonicKernel | None = None,
    seed: int = 0,
    resume: bool = False,
    **trainer: Any,
) -> tuple[HarmonicKernel, TrainingRun]:
    """Train a kernel.

    Parameters
    ----------
    train_lessons, valid_lessons : of different domains.
    folder, resume, **trainer : as `firstlight.training.fit` takes them.
    epochs : the learning rate falls along a cosine to the last.
    kernel : where to begin; a new one unless given, with a Green's function if any lesson needs one.
    seed : of the weights and the order.
    """
    torch.manual_seed(seed)
    loads = any(not one.view["given"].all() or np.ptp(one.view["rim_diffusion"]) > 0 for one in train_lessons)
    kernel = HarmonicKernel(loads=loads) if kernel is None else kernel
    module = _KernelTraining(kernel, epochs)
    batches = [
        DataLoader(list(some), batch_size=BATCH, shuffle=shuffled, collate_fn=_collate)  # type: ignore[arg-type]
        for some, shuffled in ((train_lessons, True), (valid_lessons, False))
    ]
    run = fit(module, *batches, folder=folder, max_epochs=epochs, seed=seed, resume=resume, **trainer)
    return kernel.eval(), run


@dataclass(frozen=True)
class _Batch:
    views: PatchViews
    harmonic: Float[Tensor, "patches free rim"]
    green: Float[Tensor, "patches free free"]
    tilt: Tensor  # which patches know linear functions

    def to(self, device: torch.device) -> "_Batch":
        return _Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


class _KernelTraining(LightningModule):
    """The loss and the optimiser."""

    def __init__(self, kernel: HarmonicKernel, epochs: int) -> None:
        super().__init__()
        self.kernel, self.epochs = kernel, epochs

    def training_step(self, batch: _Batch) -> Tensor:
        errors = self._errors(batch)
        self.log("train_loss", errors["loss"], on_epoch=True, on_step=False, batch_size=len(batch.harmonic))
        return errors["loss"]

    def validation_step(self, batch: _Batch) -> None:
        for name, value in self._errors(batch).items():
            self.log(f"valid_{name}", value, on_epoch=True, sync_dist=True, batch_size=len(batch.harmonic))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.kernel.parameters(), 1e-3, weight_decay=1e-5)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.5e-3, total_steps=steps, pct_start=0.05)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def _errors(self, batch: _Batch) -> dict[str, Tensor]:
        measure, green = self.kernel(batch.views)
        known = batch.views.is_free[:, :, None] & (batch.views.is_rim & batch.views.given)[:, None]
        bent = tilted(measure, batch.views.rim, batch.views.free, TILTS)
        measure = torch.where(known & batch.tilt[:, None, None], bent, measure)
        error = (measure - batch.harmonic) * known
        modes = _harmonic_polynomials(batch.views)
        found = {
            "noise": _ratio(error, batch.harmonic),
            "smooth": _ratio(error @ modes, (batch.harmonic @ modes) * batch.views.is_free[..., None]),
        }
        if green is not None:
            found["green"] = _ratio(green - batch.green, batch.green)
        return {"loss": torch.stack(list(found.values())).sum(), **found}


@dataclass(frozen=True)
class _Teacher:
    """A job that can be sent to a process."""

    loads: bool

    def __call__(self, seed: int) -> dict[str, Any]:
        return {"lessons": lessons(seed, loads=self.loads)}


def _lessons_of(patches: Sequence[Patch], problem: EllipticProblem) -> list[Lesson]:
    found = []
    for patch, exact in zip(patches, ExactLocal().maps(patches, problem), strict=True):
        a = np.ones(1) if problem.diffusion is None else problem.diffusion[patch.nodes]
        harmonic = np.zeros((len(patch.free), len(rim_nodes(patch))))
        harmonic[:, : len(patch.fixed)] = exact.harmonic
        assert exact.green is not None
        found.append(Lesson(view(patch, problem), harmonic, exact.green * np.exp(np.log(a).mean())))
    return found


def _collate(some: Sequence[Lesson]) -> _Batch:
    views = padded([one.view for one in some])
    harmonic = torch.zeros(len(some), views.free.shape[1], views.rim.shape[1])
    green = torch.zeros(len(some), views.free.shape[1], views.free.shape[1])
    for number, one in enumerate(some):
        free, rim = one.harmonic.shape
        harmonic[number, :free, :rim] = torch.from_numpy(one.harmonic)
        green[number, :free, :free] = torch.from_numpy(one.green)
    plain = [bool(one.view["given"].all() and np.ptp(one.view["rim_diffusion"]) == 0) for one in some]
    return _Batch(views, harmonic, green, torch.tensor(plain))


def _ratio(error: Tensor, truth: Tensor) -> Tensor:
    """Return the mean over patches of the relative Frobenius error."""
    return (error.square().sum(dim=(1, 2)) / truth.square().sum(dim=(1, 2)).clamp(min=1e-12) + 1e-12).sqrt().mean()


def _harmonic_polynomials(views: PatchViews) -> Float[Tensor, "patches rim modes"]:
    """Return Re and Im of powers of z about the middle of the patch, at given rim nodes, each of size one."""
    present = (views.given & views.is_rim)[..., None].float()
    middle = (views.rim * present).sum(dim=1, keepdim=True) / present.sum(dim=1, keepdim=True).clamp(min=1)
    z = torch.view_as_complex((views.rim - middle).contiguous())
    modes = torch.stack([part for power in DEGREES for part in ((z**power).real, (z**power).imag)], dim=-1) * present
    return modes / modes.norm(dim=1, keepdim=True).clamp(min=1e-6)


def _random_arcs(rng: np.random.Generator, mesh: MeshTri) -> np.ndarray:
    """Return nodes on the boundary inside one or two random disks, which carry a flux; some keep their value."""
    inside = np.zeros(mesh.nvertices, dtype=bool)
    rim = mesh.boundary_nodes()
    for _ in range(int(rng.integers(1, 3))):
        middle = mesh.p[:, rng.choice(rim)]
        inside |= np.hypot(*(mesh.p - middle[:, None])) < rng.uniform(0.1, 0.5)
    return inside if not inside[rim].all() else np.zeros_like(inside)


def _random_coefficient(rng: np.random.Generator, mesh: MeshTri) -> np.ndarray:
    """Return white noise as in the paper, or a smooth field, over up to two decades."""
    if rng.random() < 0.5:
        return rng.uniform(0.02, 1.0, mesh.nvertices)
    waves = rng.normal(size=(6, 2)) * rng.uniform(2, 15)
    field = np.sin(waves @ mesh.p + rng.uniform(0, 2 * np.pi, (6, 1))).T @ rng.normal(size=6)
    return np.exp(rng.uniform(0.2, 1.0) * field)
