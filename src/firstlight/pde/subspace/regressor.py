"""Subspaces from coefficient fields by a trained network, in the manner of scikit-learn."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.estimators import SubspaceEstimator
from firstlight.pde.subspace.inner_products import Mass
from firstlight.pde.subspace.subspace_network import SubspaceNetwork

WIDTHS = {"ffno": (32, 4), "unet": (16, 5), "pod-mlp": (256, 3)}  # width and layers


class SubspaceRegressor(SubspaceEstimator):
    """Learns a map from a coefficient field, or any parameters, to a subspace.

    The prediction may have more columns than there are wanted vectors. That makes the task easier, for one space may
    then serve many fields, and costs a solver little (`firstlight.pde.subspace.redundancy`).

    Parameters
    ----------
    dim : how many columns of each basis are wanted, k; all unless given.
    out_dim : columns of the prediction, p ≥ k; 2 k unless given. With several numbers one network learns them all: the
        prediction W has as many columns as the largest, and ``W[:, :p]`` is the prediction for each other p.
    net : ``"unet"`` or ``"ffno"`` for fields on a grid, of shape (channels, *grid), with one unknown per grid point;
        ``"pod-mlp"`` for parameters and for any mesh.
    loss : ``"l1"``, the exact distance, or ``"l2"``, its estimate from `n_probe` random combinations.
    n_probe : of the loss ``"l2"``.
    mass : matrix of the inner product: sparse, dense, or its diagonal.
    width, layers : size of the network; suited to it unless given.
    modes : Fourier modes of ``"ffno"``.
    pod_dim : columns of the fixed basis within which ``"pod-mlp"`` predicts; 200, or all that there are.
    steps, batch_size, learning_rate : of the training.
    validation : share of the samples, the last ones, on which the best epoch is chosen.
    seed : of first weights and order.

    Attributes
    ----------
    network_ : the trained `SubspaceNetwork`.
    run_ : the `firstlight.training.TrainingRun` that trained it: scores by epoch, checkpoints if a folder was given.
    n_features_in_ : numbers in a field.

    Examples
    --------
    Lines in the plane that turn with a parameter:

    >>> angles = np.linspace(0, 1, 50)
    >>> lines = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)[:, :, None]
    >>> model = SubspaceRegressor(out_dim=1, net="pod-mlp", pod_dim=2, width=32, steps=200, batch_size=10)
    >>> line = model.fit(angles[:, None], lines).predict([0.33])
    >>> bool(abs(np.arctan(line[1, 0] / line[0, 0]) - 0.33) < 0.02)
    True
    """

    def __init__(
        self,
        dim: int | None = None,
        out_dim: int | Sequence[int] | None = None,
        net: str = "unet",
        loss: str = "l1",
        n_probe: int = 4,
        mass: Mass = None,
        width: int | None = None,
        layers: int | None = None,
        modes: int = 12,
        pod_dim: int | None = None,
        steps: int = 3000,
        batch_size: int = 16,
        learning_rate: float = 2e-3,
        validation: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.dim, self.out_dim, self.net, self.loss, self.n_probe, self.mass = dim, out_dim, net, loss, n_probe, mass
        self.width, self.layers, self.modes, self.pod_dim = width, layers, modes, pod_dim
        self.steps, self.batch_size, self.learning_rate = steps, batch_size, learning_rate
        self.validation, self.seed = validation, seed

    def fit(
        self, fields: Any, bases: Any, *, folder: str | Path | None = None, resume: bool = False, **trainer: Any
    ) -> "SubspaceRegressor":
        """Train the network.

        Parameters
        ----------
        fields : fields or parameters, one per sample along the first axis.
        bases : orthonormal, shape (samples, n, k).
        folder : where checkpoints and the table of scores are kept; a temporary one unless given.
        resume : go on with the run in `folder`.
        **trainer : passed to ``lightning.Trainer`` by `firstlight.training.fit`, such as ``accelerator="gpu"``.

        Raises
        ------
        InvalidInput
            If fields and bases cannot be used together or with this network, ``out_dim`` is less than ``dim``, or a
            parameter has no such value.
        MissingExtra
            If Lightning is not installed.
        Interrupted
            On Ctrl-C; with a folder, the same call with ``resume=True`` goes on.
        """
        from firstlight.pde.subspace.network_training import train

        fields, bases = self._check_training(fields, bases)
        if self.loss not in ("l1", "l2"):
            raise InvalidInput(f"loss must be 'l1' or 'l2', got {self.loss!r}")
        if len(fields) < 3 or not 0 < self.validation < 1:
            raise InvalidInput(f"{len(fields)} samples with validation={self.validation} leave too few to learn from")
        torch.manual_seed(self.seed)
        network = self._network(fields, bases)
        with TemporaryDirectory() as temporary:
            options = {"mass": self.mass, "loss": self.loss, "n_probe": self.n_probe, "steps": self.steps}
            options |= {"batch_size": self.batch_size, "learning_rate": self.learning_rate, "seed": self.seed}
            options |= {"validation": self.validation, "resume": resume, "enable_progress_bar": False, **trainer}
            run = train(network, fields, bases, folder=folder or Path(temporary) / "run", **options)
        self.network_, self.run_, self.n_features_in_ = network, run, int(np.prod(self.field_shape_))
        return self

    @classmethod
    def from_pretrained(cls, name: str | Path, mass: Mass = None) -> "SubspaceRegressor":
        """Return an estimator with weights that ship with the package, or from a folder or the Hugging Face Hub.

        Parameters
        ----------
        name : ``"flattop"``, ``"flattop-3d"`` or ``"burgers"``, or what `firstlight.pretrained` takes.
        mass : matrix of the inner product in which predictions are to be orthonormal.
        """
        network = SubspaceNetwork.from_pretrained(name)
        estimator = cls(network.dim, network.out_dims, network.kind, mass=mass)
        estimator.network_, estimator.field_shape_ = network, network.field_shape
        return estimator

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the trained network to a folder, for `from_pretrained`."""
        self.network_.save_pretrained(folder)

    def _network(self, fields: np.ndarray, bases: np.ndarray) -> SubspaceNetwork:
        samples, n, k = bases.shape
        out_dim = self.out_dim or min(2 * k, n - 1)
        out_dims = [out_dim] if isinstance(out_dim, int) else [int(p) for p in out_dim]
        width, layers = WIDTHS.get(self.net, (1, 1))
        # No more directions than the training samples span; a few more samples than that may be set aside.
        available = min(n, k * (samples - max(1, round(self.validation * samples))))
        pod_dim = self.pod_dim or min(200, available)
        if self.net == "pod-mlp" and not max(out_dims) <= pod_dim <= available:
            raise InvalidInput(
                f"pod_dim={pod_dim} must lie between out_dim={max(out_dims)} and the {available} directions that the "
                "training samples can span"
            )
        size = (self.width or width, self.layers or layers, self.modes, pod_dim)
        return SubspaceNetwork(self.net, list(fields.shape[1:]), n, k, out_dims, *size)

    def _bases(self, fields: np.ndarray) -> np.ndarray:
        return self.network_.bases(fields, self.mass)
