"""What predicted bases are worth for reduced models of convection and for controllers of a rod.

Two families that no weights ship for: a network of a minute or two is trained in the run, beside its peers. All wanted
vectors count alike in its loss, while the POD modes of one solution fade by powers of ten; so it is taught the first
four or five only, with columns to spare. Taught ten, it came out behind the global POD on ten columns.
"""

from typing import Any

import numpy as np

from firstlight.pde.subspace.experiments import OURS, Row
from firstlight.pde.subspace.global_pod import GlobalPOD
from firstlight.pde.subspace.grassmann import GrassmannInterpolator
from firstlight.pde.subspace.problems import ConvectionProblem, HeatControlProblem, generate, sample_seed
from firstlight.pde.subspace.regressor import SubspaceRegressor
from firstlight.pde.subspace.training import JUDGED

COLUMNS = (10, 20)


def control_errors(samples: int, steps: int, judged: int) -> list[Row]:
    """Relative errors at the final time of a controlled rod, against the best control of the full model.

    Parameters
    ----------
    samples : rods to train on.
    steps : of the training.
    judged : rods to judge by.
    """
    problem = HeatControlProblem(n_vectors=10)
    found = _judged(problem, 5, samples, steps, judged, lambda rod, W: rod.reduced_errors(W))
    return [
        {"basis": name, "error of the state": float(means[0]), "error at the sensors": float(means[1])}
        for name, means in found.items()
    ]


def convection_errors(samples: int, steps: int, judged: int) -> list[Row]:
    """Relative errors over all times of reduced convection–diffusion–reaction models, and of mere projection.

    Parameters
    ----------
    samples : equations to train on.
    steps : of the training.
    judged : equations to judge by.
    """
    problem = ConvectionProblem(n_vectors=10)
    found = _judged(problem, 4, samples, steps, judged, lambda one, W: (one.reduced_error(W), one.projection_error(W)))
    return [
        {"basis": name, "error of the model": float(means[0]), "error of projection": float(means[1])}
        for name, means in found.items()
    ]


def _judged(problem: Any, taught: int, samples: int, steps: int, judged: int, errors: Any) -> dict[str, np.ndarray]:
    """Mean errors, by basis; the network is taught the first so many wanted vectors."""
    train = generate(problem, samples)
    model = SubspaceRegressor(taught, COLUMNS, steps=steps).fit(train.fields, train.bases)
    pods = {p: GlobalPOD(out_dim=p).fit(train.fields, train.bases).basis_ for p in COLUMNS}
    near = GrassmannInterpolator(method="nearest").fit(train.fields, train.bases)
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(judged):
        sample = problem.sample(sample_seed(0, JUDGED + number))
        W = model.predict(sample.field)
        bases = {f"{OURS}, {p}": W[:, :p] for p in COLUMNS} | {f"global POD, {p}": pods[p] for p in COLUMNS}
        bases |= {"nearest neighbour, 10": near.predict(sample.field), "exact, 10": sample.basis()}
        for name, basis in bases.items():
            found.setdefault(name, []).append(errors(sample, basis))
    return {name: np.mean(one, axis=0) for name, one in found.items()}
