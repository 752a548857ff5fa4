"""The benchmark as a data set of PyTorch Geometric, drawn on this machine when it is first asked for.

In memory it is the bits of the spins and one list of edges; labels are computed when a graph is asked for, which takes
one Fourier transform. So 10,000 graphs of 64 × 64 nodes need 5 MB, where stored one by one they would need 3 GB. Every
graph that is handed out is a copy of its own and may be changed at will.
"""

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from firstlight.errors import InvalidInput
from firstlight.files import written_whole
from firstlight.graphs.ising.couplings import TARGETS, Target
from firstlight.graphs.ising.data import LRIMName, generate, load_samples
from firstlight.graphs.ising.official_files import read_official
from firstlight.graphs.ising.sampling import CHAIN_LENGTH, SpinSamples


class LRIM(InMemoryDataset):
    """Long-range Ising configurations as graphs, with the energy of every site as its label.

    Parameters
    ----------
    root : folder of the data sets, where ``firstlight ising generate --out`` writes them. A set that is not there is
        drawn, which takes from seconds (16 × 16) to hours (256 × 256) and goes on where it was interrupted; a file
        ``<name>.pt`` of the authors is read instead if there is one.
    name : ``"lrim_16_0.6_10k"``: the sides of the torus, sigma (0.6 hard, 1.5 easy), and the number of graphs.
    split : ``"train"``, ``"val"`` or ``"test"``, the first 80 %, the next 10 % and the last; None for all.
    transform : called with every graph that is asked for.
    pre_transform : called once with every graph; what it makes is kept in ``<root>/processed``.
    force_reload : draw the set again, and apply `pre_transform` again.
    target : the label: ``"lrim"`` for the benchmark's y = -s h with h_i = Σ_j J_ij s_j, ``"delta_e"`` for the energy
        of flipping the spin, which is -2 y, ``"field"`` for h.
    seed : of the set, if it is drawn; one that is there must have been drawn with it.
    n_jobs : processes that draw, -1 for one per core. Their number changes nothing but the time.

    Raises
    ------
    InvalidInput
        If there is no set of that name, its file is damaged, or it was drawn with another seed.
    Interrupted
        On Ctrl-C.

    Notes
    -----
    A graph holds ``x``, the spins, and ``y``, the labels, both of shape (nodes, 1), and ``edge_index``, the four
    nearest neighbours of every site. Labels are computed in double precision and given in torch's default type.
    ``graph_id`` is its number in the whole set; with ``seed``, ``chain`` and ``draw`` it can be drawn again alone, by
    ``dataset.samples.regenerate(graph_id)``. In sets of whole thousands no chain of draws reaches from one split into
    another.
    """

    def __init__(
        self,
        root: str | Path,
        name: str = "lrim_16_0.6_10k",
        split: str | None = "train",
        transform: Callable[[Data], Data] | None = None,
        pre_transform: Callable[[Data], Data] | None = None,
        force_reload: bool = False,
        *,
        target: str = "lrim",
        seed: int = 0,
        n_jobs: int = -1,
    ) -> None:
        if split not in ("train", "val", "test", None):
            raise InvalidInput(f"expected split 'train', 'val' or 'test', or None for all graphs, got {split!r}")
        if target not in TARGETS:
            raise InvalidInput(f"expected a target of {', '.join(TARGETS)}, got {target!r}")
        self.kind = LRIMName.parse(name)
        self.target: Target = target  # type: ignore[assignment] - checked above
        self.model = self.kind.model
        super().__init__(str(root), transform, pre_transform, log=False, force_reload=force_reload)
        path = Path(self.raw_paths[0])
        if path.suffix == ".pt":
            self._samples, (self._packed, self._edges) = None, read_official(path, self.model)
        else:
            if force_reload or not path.is_file():
                generate(self.name, self.root, seed=seed, n_jobs=n_jobs, overwrite=force_reload)
            self._samples = load_samples(path)
            _check_provenance(path, self._samples, self.kind, seed)
            self._packed, self._edges = self._samples.packed, torch.tensor(self.model.edge_index)
        self._pre_transformed = None if pre_transform is None else self._apply(pre_transform, anew=force_reload)
        if split is not None:
            self._indices = self.get_idx_split()[split].tolist()

    @property
    def name(self) -> str:
        """Name of the set."""
        return str(self.kind)

    @property
    def samples(self) -> SpinSamples:
        """Spins of the whole set, with their model and the report of how they were drawn.

        Raises
        ------
        InvalidInput
            If the set was read from a file of the authors, which does not say.
        """
        if self._samples is None:
            raise InvalidInput(f"{self.raw_paths[0]} does not say how its graphs were drawn; draw a set for that")
        return self._samples

    @property
    def raw_dir(self) -> str:
        """Folder of the files of all sets."""
        return self.root

    @property
    def raw_file_names(self) -> list[str]:
        """File of this set: the authors' if it is there, else ours."""
        official = f"{self.name}.pt"
        return [official if Path(self.root, official).is_file() else f"{self.name}.npz"]

    @property
    def num_classes(self) -> int:
        """Numbers to predict per node: one."""
        return 1

    @property
    def y(self) -> Float[Tensor, "nodes 1"]:
        """Labels of all nodes of all graphs of this split, one graph after the other."""
        return torch.cat([self.get(i)["y"] for i in self.indices()])

    def get_idx_split(self) -> dict[str, Int64[Tensor, " graphs"]]:
        """Numbers of the graphs of each split within the whole set, the one with ``split=None``."""
        train, val, test = torch.arange(self.len()).tensor_split((self.len() * 8 // 10, self.len() * 9 // 10))
        return {"train": train, "val": val, "test": test}

    def len(self) -> int:
        """Number of graphs of the whole set."""
        return len(self._packed)

    def get(self, idx: int) -> Data:
        """Make one graph, by its number within the whole set, before `transform`."""
        if self._pre_transformed is None:
            return self._graph(idx)
        kept = {
            key: value.clone() if isinstance(value, Tensor) else value
            for key, value in self._pre_transformed[idx].items()
        }
        return Data.from_dict({"edge_index": self._edges.clone(), **kept})

    def copy(self, idx: Any = None) -> "LRIM":
        """Copy the data set or a part of it; the graphs it hands out are copies anyhow."""
        return copy.copy(self) if idx is None else self.index_select(idx)  # type: ignore[return-value] - an LRIM too

    def _graph(self, idx: int) -> Data:
        spins = 2 * np.unpackbits(self._packed[idx], count=self.model.n_sites).view(np.int8) - 1
        kind = torch.get_default_dtype()
        data = Data(
            x=torch.tensor(spins, dtype=kind)[:, None],
            y=torch.tensor(self.model.target(spins, self.target), dtype=kind)[:, None],
            edge_index=self._edges.clone(),
            graph_id=idx,
        )
        if self._samples is not None:
            data.seed, (data.chain, data.draw) = self._samples.report.seed, divmod(idx, CHAIN_LENGTH)
        return data

    def _apply(self, pre_transform: Callable[[Data], Data], *, anew: bool) -> list[dict[str, Any]]:
        """Apply a pre-transform to every graph, or read what it made; edges that it left alone are not kept again."""
        of = hashlib.sha256(self._packed.tobytes()).hexdigest()
        settings = f"{self.target} {torch.get_default_dtype()} {pre_transform!r} {of}"
        path = Path(self.processed_dir) / f"{self.name}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}.pt"
        if path.is_file() and not anew:
            return torch.load(path, weights_only=True)
        graphs = [pre_transform(self._graph(idx)).to_dict() for idx in range(self.len())]
        for graph in graphs:
            if "edge_index" in graph and torch.equal(graph["edge_index"], self._edges):
                del graph["edge_index"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as partial:
            torch.save(graphs, partial)
        return graphs


def _check_provenance(path: Path, samples: SpinSamples, kind: LRIMName, seed: int) -> None:
    if repr(samples.model) != repr(kind.model) or len(samples) != kind.count:
        raise InvalidInput(f"{path} holds {len(samples)} configurations of {samples.model!r}, not {kind}; rename it")
    if samples.report.seed != seed:
        raise InvalidInput(
            f"{path} was drawn with seed {samples.report.seed}, not {seed}; pass that seed, or choose another root"
        )
