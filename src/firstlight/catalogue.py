"""The table of systems: what each does, for whom, from which paper, and whether it works yet.

The core knows a system only by this table; its parts are imported by dotted path when asked for.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

from firstlight.errors import InvalidInput, MissingExtra


@dataclass(frozen=True)
class System:
    """One system of the package.

    Attributes
    ----------
    path : dotted path under ``firstlight``, for example ``"games"`` or ``"chem.scf"``.
    summary : what a user gets, in one line.
    host : the tool of the field it works inside.
    paper : the source of the method.
    works : False while the system is planned and not yet built.
    """

    path: str
    summary: str
    host: str
    paper: str
    works: bool = False

    @property
    def command(self) -> str:
        """The word of the command line: ``firstlight <command> <verb>``."""
        return self.path.rpartition(".")[2]

    @property
    def field(self) -> str:
        """The folder of the field, which is also the name of its pip extra."""
        return self.path.partition(".")[0]

    def part(self, name: str = "") -> ModuleType:
        """Import the system's package, or one of its modules such as ``"claims"``.

        Raises
        ------
        MissingExtra
            If a library of the system's extra is not installed.
        """
        try:
            return import_module(f"firstlight.{self.path}.{name}".rstrip("."))
        except ModuleNotFoundError as error:
            library = (error.name or "firstlight").partition(".")[0]
            if library == "firstlight":  # a bug of ours, no missing library
                raise
            raise MissingExtra(library, self.field) from error


# fmt: off
SYSTEMS = (
    System("chem.scf", "fewer SCF cycles from a predicted electron density",
        "PySCF", "Liu et al., Towards a (universally) transferable acceleration method for DFT, ICLR 2026", works=True),
    System("games", "equilibria of zero-sum games without tuning, with an exact gap",
        "OpenSpiel, Gambit", "Meng et al., A faster parameter-free regret matching algorithm, ICLR 2026", works=True),
    System("chem.spectra", "molecular structure from one or several spectra",
        "RDKit", "Su et al., SpectraLLM, ICLR 2026"),
    System("interp", "susceptibilities: how a network's parts respond to its data",
        "PyTorch, transformers", "Baker et al., Structural inference with susceptibilities, ICLR 2026"),
    System("pde.schwarz", "learned local solvers stitched into any geometry",
        "scikit-fem, meshio", "Huang et al., Operator learning with domain decomposition, ICLR 2026"),
    System("pde.informed", "physics-informed regression on dependent data, with rates",
        "scikit-learn", "Scampicchio et al., Physics-informed learning under mixing, ICLR 2026"),
    System("chem.pairs", "properties and interactions of pairs of molecules",
        "RDKit, PyTorch Geometric", "Du et al., I2Mole, ICLR 2026"),
    System("graphs.generation", "new graphs with the global and local shape of given ones",
        "PyTorch Geometric, NetworkX", "DualDiff: Global and local topology-aware graph generation, ICLR 2026"),
    System("depth.prior", "dense metric depth from a photo and any incomplete depth",
        "NumPy, transformers, ONNX", "Depth Anything with Any Prior, ICLR 2026"),
    System("pde.flow", "continuous-time PDE dynamics from irregular snapshots",
        "PyTorch, torchdiffeq", "Hou, Huang, Perdikaris, CFO: continuous flow operator, ICLR 2026", works=True),
    System("wind", "forecasts that keep the extremes of wind",
        "xarray", "Improving extreme wind prediction with frequency-informed learning, ICLR 2026"),
    System("graphs.ising", "the long-range Ising benchmark, generated exactly",
        "PyTorch Geometric", "Mathys et al., LRIM: long-range Ising model graph benchmark, ICLR 2026", works=True),
    System("depth.completion", "dense depth from sparse points, with uncertainty",
        "NumPy, transformers, ONNX", "LDCM: Large depth completion model from sparse observations, ICLR 2026"),
    System("causal", "alignment of two modalities that keeps causal structure",
        "PyTorch, scikit-learn", "CARL: Preserving causal structure in representation learning, ICLR 2026"),
    System("genome", "isoform- and tissue-aware expression from DNA",
        "transformers, FASTA", "CDBridge: a cross-omics post-training bridge strategy, ICLR 2026"),
    System("neuro", "bidirectional predictive coding networks",
        "PyTorch", "Oliviers, Tang, Bogacz, Bidirectional predictive coding, ICLR 2026"),
    System("graphs.hashing", "graph retrieval by hashing exchangeable embeddings",
        "PyTorch Geometric, FAISS", "Nair et al., Exchangeability of GNN representations, ICLR 2026"),
    System("transport", "tree-sliced Sobolev distances: exact, streaming",
        "POT, PyTorch", "Tran et al., Tree-sliced Sobolev IPM, ICLR 2026", works=True),
    System("pde.subspace", "predicted subspaces that warm-start eigensolvers and CG",
        "SciPy, scikit-fem", "Fanaskov et al., Deep learning for subspace regression, ICLR 2026", works=True),
)
# fmt: on

FIELDS = tuple(dict.fromkeys(system.field for system in SYSTEMS))


def working() -> list[System]:
    """Return the systems that are built, in the order of the table."""
    return [system for system in SYSTEMS if system.works]


def find(name: str) -> System:
    """Return the system of this path (``"chem.scf"``) or command word (``"scf"``).

    Raises
    ------
    InvalidInput
        If no system has that name, or it is planned and not yet built.
    """
    for system in SYSTEMS:
        if name in (system.path, system.command):
            if not system.works:
                raise InvalidInput(f"{name} is planned and not yet built; see: firstlight list")
            return system
    names = [name for system in working() for name in (system.path, system.command)]
    close = get_close_matches(name, names, n=1)
    advice = f"did you mean {close[0]}?" if close else f"these work: {', '.join(s.path for s in working())}"
    raise InvalidInput(f"no system is named {name!r}; {advice}")


def as_markdown() -> str:
    """Return the table of systems for the README, those that work today first."""
    lines = ["| System | What you get | Works inside | Paper | Today |", "|---|---|---|---|---|"]
    for system in sorted(SYSTEMS, key=lambda system: not system.works):
        today = "**works**" if system.works else "planned"
        lines.append(f"| `{system.path}` | {system.summary} | {system.host} | {system.paper} | {today} |")
    return "\n".join(lines)


if __name__ == "__main__":  # python -m firstlight.catalogue
    print(as_markdown())
