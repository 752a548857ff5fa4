"""What a source of densities gives, whatever is behind it: a network, or a calculation that has been done already."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from pyscf import gto

from firstlight.chem.scf.auxiliary_basis import JFIT, Basis, auxiliary_molecule, function_integrals
from firstlight.chem.scf.density_fit import fit_density
from firstlight.errors import FirstlightError, InvalidInput

ELECTRON_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PredictedDensity:
    """A density of the auxiliary basis, and how far it is to be trusted.

    Attributes
    ----------
    coefficients : in the order of `auxiliary_molecule(mol, auxbasis)`; they hold the electrons of the molecule.
    auxbasis : their basis.
    uncertainty : expected relative Coulomb error, in units of that of superposed atoms (`relative_coulomb_error`).
    doubt : why the density should not be used, in words; empty if it may be.
    """

    coefficients: Float64[np.ndarray, " naux"]
    auxbasis: Basis
    uncertainty: float = 0.0
    doubt: str = ""


@runtime_checkable
class DensitySource(Protocol):
    """Anything that gives densities of molecules.

    Attributes
    ----------
    elements : symbols of the elements it knows; all if empty.
    """

    elements: tuple[str, ...]

    def predict(self, mol: gto.Mole) -> PredictedDensity:
        """Return the density of a molecule that `check_molecule` has let through."""
        ...


class FittedDensity:
    """The density of a density matrix that is known: the best that any source in this basis could give.

    Parameters
    ----------
    mol : the molecule, in the orbital basis of `dm`.
    dm : density matrix, of one or two spins.
    auxbasis : basis to fit in.
    metric : of the fit, ``"coulomb"`` or ``"overlap"``.
    """

    elements: tuple[str, ...] = ()

    def __init__(self, mol: gto.Mole, dm: Any, auxbasis: Basis = JFIT, metric: str = "coulomb") -> None:
        self.positions = mol.atom_coords()
        self.density = PredictedDensity(fit_density(mol, np.asarray(dm), auxbasis, metric), auxbasis)

    def predict(self, mol: gto.Mole) -> PredictedDensity:
        """Return the density, of the one molecule it belongs to.

        Raises
        ------
        InvalidInput
            If the atoms have moved.
        """
        if mol.natm != len(self.positions) or not np.allclose(mol.atom_coords(), self.positions, rtol=0, atol=1e-8):
            raise InvalidInput("this density was fitted for another geometry; fit it again")
        return self.density


def check_electrons(mol: gto.Mole, density: PredictedDensity) -> None:
    """Stop a density that does not hold the electrons of the molecule.

    Raises
    ------
    FirstlightError
        If ∫ρ̃ differs from the number of electrons by more than 10⁻⁶.
    """
    q = function_integrals(auxiliary_molecule(mol, density.auxbasis))
    held = float(q @ density.coefficients)
    if not abs(held - mol.nelectron) <= ELECTRON_TOLERANCE:  # so that nan is stopped too
        raise FirstlightError(f"the predicted density holds {held:.6f} electrons, the molecule has {mol.nelectron}")
