"""Densities of molecules from a trained equivariant network.

The network gives every atom numbers y of about unit size, from which the coefficients of its auxiliary shells follow as
c = mean + W y (`CoefficientScale`); the coefficients of the molecule are then moved to the number of its electrons, as
little as possible in the Coulomb metric of the atoms. Several heads on the same features, trained on different parts of
the data, give the density by their mean and its uncertainty by their spread.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float64
from pyscf import gto
from scipy.spatial import KDTree
from torch import Tensor

from firstlight.chem.scf.atom_graphs import AtomGraph, atom_graph
from firstlight.chem.scf.atom_metric import atom_norm, hold_electrons
from firstlight.chem.scf.auxiliary_basis import JFIT, irreps, real_atoms
from firstlight.chem.scf.coefficient_scale import CoefficientScale
from firstlight.chem.scf.data import ELEMENTS
from firstlight.chem.scf.equivariant_network import DensityNetwork
from firstlight.chem.scf.molecules import check_molecule
from firstlight.chem.scf.prediction import PredictedDensity
from firstlight.pretrained import Pretrained

TRUSTED = 0.3  # expected relative Coulomb error beyond which SCF would gain nothing
STRETCH = 0.15  # ångström; how far a distance may lie outside those of training, as those of vibrations and X-rays do


class DensityPredictor(Pretrained):
    """Electron densities of neutral molecules, as coefficients of an auxiliary basis.

    Parameters
    ----------
    elements : symbols of the elements it knows.
    auxbasis : name of the auxiliary basis.
    cutoff : how far the neighbours of an atom are, in ångström.
    channels, layers, functions, heads : of the network, as `DensityNetwork` takes them.

    Attributes
    ----------
    uncertainty_per_spread : what the spread of the heads is multiplied by to give the expected error; measured on
        molecules that were not trained on.
    nearest : for each element the shortest and the longest distance to the nearest atom in training, in ångström.
    """

    uncertainty_per_spread: Tensor
    nearest: Tensor

    def __init__(
        self,
        elements: Sequence[str] = ELEMENTS,
        auxbasis: str = JFIT,
        cutoff: float = 5.0,
        channels: int = 48,
        layers: int = 2,
        functions: int = 10,
        heads: int = 4,
    ) -> None:
        super().__init__()
        self.elements, self.auxbasis = tuple(elements), auxbasis
        self.cutoff, self.functions, self.heads = cutoff, functions, heads
        self.network = DensityNetwork([irreps(e, auxbasis) for e in elements], channels, layers, functions, heads)
        self.scale = CoefficientScale(self.elements, auxbasis)
        self.register_buffer("uncertainty_per_spread", torch.tensor(1.0))
        self.register_buffer("nearest", torch.tensor([[0.0, torch.inf]]).repeat(len(elements), 1))

    def graph(self, symbols: Sequence[str], positions: Float64[np.ndarray, "atoms 3"]) -> AtomGraph:
        """Return what the network sees of a molecule, in double precision; positions in ångström."""
        species = np.array([self.elements.index(symbol) for symbol in symbols], dtype=np.int64)
        return atom_graph(species, positions, self.cutoff, self.functions)

    def predict(self, mol: gto.Mole) -> PredictedDensity:
        """Predict the density of a molecule.

        It depends on the real atoms and the number of electrons only: not on the orbital basis, nor on the frame or the
        order of the atoms. Computed in double precision, so that it turns with the molecule to about 10⁻¹².

        Parameters
        ----------
        mol : the molecule, built. Ghost atoms are passed over.

        Returns
        -------
        The density; with a doubt about it if the molecule is charged, which none in training was, if an atom stands
        nearer to its neighbour or farther from it than any of its element in training, or if the heads disagree so much
        that SCF would gain nothing.

        Raises
        ------
        InvalidInput
            If `check_molecule` refuses it, such as for an element that the model does not know.
        """
        check_molecule(mol, self.elements)
        symbols = [mol.atom_pure_symbol(a) for a in real_atoms(mol)]
        positions = mol.atom_coords(unit="Angstrom")[real_atoms(mol)]
        graph = self.graph(symbols, positions)
        ensemble, mean_atoms = self._ensemble(graph.to(self.uncertainty_per_spread.device))
        ensemble = hold_electrons(ensemble, symbols, self.auxbasis, mol.nelectron)
        c = ensemble.mean(axis=0)
        # As the error is in units of that of superposed atoms, so is the spread in units of that of mean atoms.
        spread = np.mean([atom_norm(one - c, symbols, self.auxbasis) for one in ensemble])
        spread /= atom_norm(mean_atoms - c, symbols, self.auxbasis)
        uncertainty = float(self.uncertainty_per_spread) * float(spread)
        doubt = self._doubt(mol.charge, symbols, positions, uncertainty)
        return PredictedDensity(c, self.auxbasis, uncertainty, doubt)

    @torch.no_grad()
    def _ensemble(self, graph: AtomGraph) -> tuple[Float64[np.ndarray, "heads naux"], Float64[np.ndarray, " naux"]]:
        """Return what each head predicts, not yet with the right number of electrons, and the mean atoms."""
        double = {name: parameter.double() for name, parameter in self.network.named_parameters()}
        outputs = torch.func.functional_call(self.network, double, (graph,))
        c, mean = self.scale.coefficients(outputs, graph.species), self.scale.mean_coefficients(graph.species)
        return c.cpu().numpy(), mean.cpu().numpy()

    def _doubt(
        self, charge: int, symbols: Sequence[str], positions: Float64[np.ndarray, "atoms 3"], uncertainty: float
    ) -> str:
        if charge:
            return f"it was learned on neutral molecules, and the charge is {charge:+d}"
        for number, (symbol, distance) in enumerate(zip(symbols, nearest_distances(positions), strict=True)):
            shortest, longest = self.nearest[self.elements.index(symbol)].tolist()
            if not shortest - STRETCH <= distance <= longest + STRETCH:
                return (
                    f"the nearest neighbour of {symbol}{number + 1} is {distance:.2f} Å away, "
                    f"where it was learned with {shortest:.2f} to {longest:.2f} Å"
                )
        if not uncertainty <= TRUSTED:
            return f"its expected error is {uncertainty:.2f} of that of superposed atoms, more than {TRUSTED}"
        return ""


def nearest_distances(positions: Float64[np.ndarray, "atoms 3"]) -> Float64[np.ndarray, " atoms"]:
    """Return how far the nearest other atom is from each; infinite for an atom by itself."""
    return KDTree(positions).query(positions, k=2)[0][:, 1]
