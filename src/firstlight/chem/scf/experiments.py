"""The measurements behind the claims and the benchmark: what a basis allows, and how the guess grows with size."""

import resource
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from pyscf import df, dft
from rdkit import Chem
from rdkit.Chem.rdDistGeom import EmbedMolecule
from rdkit.Chem.rdMolTransforms import SetDihedralDeg
from scipy.spatial.transform import Rotation

from firstlight.chem.scf.auxiliary_basis import JFIT, JKFIT
from firstlight.chem.scf.comparison import density_error
from firstlight.chem.scf.fock import density_to_dm
from firstlight.chem.scf.guess import apply
from firstlight.chem.scf.molecules import Geometry
from firstlight.chem.scf.prediction import DensitySource, FittedDensity
from firstlight.chem.scf.real_space import dipole_moment
from firstlight.errors import InvalidInput

STARTS = (
    "minao",
    "atom",
    "restart",
    "jfit, Coulomb",
    "jfit, overlap",
    "jkfit, Coulomb",
    "even-tempered, Coulomb",
)
HELIX = (-57.0, -47.0, 180.0)  # φ, ψ, ω of the α-helix, in degrees


def oracle_cycles(molecule: Geometry, *, grid_level: int = 3, starts: Sequence[str] = STARTS) -> dict[str, int]:
    """Count the cycles of PBE/def2-SVP that exact densities need, by auxiliary basis and metric, beside other guesses.

    Parameters
    ----------
    molecule : closed-shell.
    grid_level : of PySCF's grids.
    starts : which, of `STARTS`: ``minao``, ``atom``, a restart, and fits in def2-universal-jfit in either metric, in
        def2-universal-jkfit, and in an even-tempered basis (``aug_etb``, β = 2).
    """
    mf: Any = dft.RKS(molecule.mole(), xc="pbe").density_fit()
    mf.grids.level = grid_level
    mf.grids.build(with_non0tab=True)
    mf.with_df.build()
    reference = mf.copy().run()
    dm = reference.make_rdm1()

    def fitted(auxbasis: Any, metric: str = "coulomb") -> Any:
        return apply(mf, FittedDensity(mf.mol, dm, auxbasis, metric)).get_init_guess()

    makers: dict[str, Callable[[], Any]] = {
        "atom": lambda: mf.get_init_guess(key="atom"),
        "restart": lambda: dm,
        "jfit, Coulomb": lambda: fitted(JFIT),
        "jfit, overlap": lambda: fitted(JFIT, "overlap"),
        "jkfit, Coulomb": lambda: fitted(JKFIT),
        "even-tempered, Coulomb": lambda: fitted(df.aug_etb(mf.mol, 2.0)),
    }
    cycles = {}
    for name in starts:
        run = reference
        if name != "minao":  # the reference began from it
            run = mf.copy()
            run.kernel(dm0=makers[name]())
        cycles[name] = int(run.cycles)
    return cycles


def density_quality(molecule: Geometry, source: DensitySource, *, grid_level: int = 3) -> dict[str, float]:
    """Compare a predicted density with the converged one (PBE/def2-SVP).

    Returns
    -------
    The relative Coulomb error, the uncertainty that was expected, the dipole moment's error in debye (length of the
    difference of the vectors), and the dipole moment itself.
    """
    mf: Any = apply(dft.RKS(molecule.mole(), xc="pbe").density_fit(), source)  # fewer cycles to the same density
    mf.grids.level = grid_level
    mf.run()
    predicted, exact = source.predict(mf.mol), mf.dip_moment(verbose=0)
    moment = dipole_moment(mf.mol, predicted.coefficients, predicted.auxbasis)
    return {
        "relative error": density_error(mf, source),
        "expected": predicted.uncertainty,
        "dipole error": float(np.linalg.norm(moment - exact)),
        "dipole": float(np.linalg.norm(exact)),
    }


def guess_cost(molecule: Geometry, source: DensitySource, basis: str = "def2-svp") -> dict[str, float]:
    """Make the guess of a molecule and nothing else: processor seconds, and the most memory this process has held.

    Memory counts from the beginning of the process, so a fresh one measures it.
    """
    mf = dft.RKS(molecule.mole(basis), xc="pbe")
    began = time.process_time()
    density = source.predict(mf.mol)
    predicted = time.process_time()
    density_to_dm(mf, density.coefficients, density.auxbasis)
    return {
        "atoms": len(molecule.symbols),
        "orbitals": mf.mol.nao,
        "prediction s": predicted - began,
        "guess s": time.process_time() - began,
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def growth_exponent(sizes: Sequence[float | int], seconds: Sequence[float]) -> float:
    """Return the slope of log(seconds) over log(size), by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def polyglycine(residues: int) -> Geometry:
    """Build an α-helix of glycine, seven atoms a residue: a short one from RDKit, continued by its own screw.

    Parameters
    ----------
    residues : at least 5.

    Raises
    ------
    InvalidInput
        If there are fewer.
    """
    if residues < 5:
        raise InvalidInput(f"a helix is continued from 5 residues, got {residues}")
    molecule = Chem.AddHs(Chem.MolFromSequence("G" * 5))
    EmbedMolecule(molecule, randomSeed=1)
    backbone = [molecule.GetSubstructMatches(Chem.MolFromSmarts("NCC(=O)"))[k][:3] for k in range(5)]
    _turn_to_helix(molecule, backbone)
    places = molecule.GetConformer().GetPositions()
    blocks = _residues(molecule, backbone)
    second, third = (places[list(backbone[k])] for k in (1, 2))
    start, step = second.mean(axis=0), third.mean(axis=0)
    # The screw that takes the second residue to the third; its powers make the whole chain of the second.
    rotation = Rotation.align_vectors(third - step, second - start)[0]

    def moved(points: np.ndarray, times: int) -> np.ndarray:
        for _ in range(times):
            points = rotation.apply(points - start) + step
        return points

    chain = [(blocks[0], 0), *((blocks[1], k) for k in range(residues - 4)), *((b, residues - 5) for b in blocks[2:])]
    symbols = tuple(molecule.GetAtomWithIdx(a).GetSymbol() for block, _ in chain for a in block)
    positions = np.concatenate([moved(places[block], times) for block, times in chain])
    return Geometry(f"{residues} glycines", symbols, positions)


def _turn_to_helix(molecule: Any, backbone: Sequence[tuple[int, int, int]]) -> None:
    conformer = molecule.GetConformer()
    for (n, ca, c), (n_next, ca_next, c_next) in pairwise(backbone):
        phi, psi, omega = HELIX
        SetDihedralDeg(conformer, n, ca, c, n_next, psi)
        SetDihedralDeg(conformer, ca, c, n_next, ca_next, omega)
        SetDihedralDeg(conformer, c, n_next, ca_next, c_next, phi)


def _residues(molecule: Any, backbone: Sequence[tuple[int, int, int]]) -> list[list[int]]:
    """Assign every atom to the residue whose backbone it hangs on."""
    owner = {a: k for k, atoms in enumerate(backbone) for a in atoms}
    blocks: list[list[int]] = [list(atoms) for atoms in backbone]
    while len(owner) < molecule.GetNumAtoms():
        for atom in molecule.GetAtoms():
            near = [owner[other.GetIdx()] for other in atom.GetNeighbors() if other.GetIdx() in owner]
            if atom.GetIdx() not in owner and near:
                owner[atom.GetIdx()] = near[0]
                blocks[near[0]].append(atom.GetIdx())
    return blocks
