"""A density matrix written as coefficients of an auxiliary basis, and how good the result is.

The fit minimises the self-interaction of the error in a metric M, ½ (ρ − ρ̃ | ρ − ρ̃)_M, so M c = b. In the Coulomb
metric that bounds the error of the Coulomb energy and leaves the best start for SCF (Whitten 1973; Dunlap, Connolly and
Sabin 1979); the overlap metric minimises ∫(ρ − ρ̃)² and is here for comparison.
"""

import numpy as np
import scipy.linalg
from jaxtyping import Float64
from pyscf import gto

from firstlight.chem.scf.auxiliary_basis import JFIT, Basis, auxiliary_molecule, function_integrals
from firstlight.chem.scf.three_centre import contract_orbitals
from firstlight.errors import InvalidInput

INTEGRALS = {"coulomb": ("int2c2e", "int3c2e"), "overlap": ("int1e_ovlp", "int3c1e")}


def fit_density(
    mol: gto.Mole,
    dm: Float64[np.ndarray, "*spin nao nao"],
    auxbasis: Basis = JFIT,
    metric: str = "coulomb",
    charge: bool = True,
) -> Float64[np.ndarray, " naux"]:
    """Fit ρ̃ = Σ_P c_P χ_P to the density of a density matrix.

    Parameters
    ----------
    mol : the molecule with the orbital basis of `dm`.
    dm : density matrix; of two spins the sum is fitted.
    auxbasis : name of the auxiliary basis, or a basis by element.
    metric : ``"coulomb"`` or ``"overlap"``.
    charge : hold the number of electrons of the density exactly, by a Lagrange multiplier.

    Returns
    -------
    Coefficients in the order of the functions of `auxiliary_molecule(mol, auxbasis)`.

    Raises
    ------
    InvalidInput
        If the metric has another name, the shape of `dm` does not fit the molecule, or the basis lacks an element.
    """
    if metric not in INTEGRALS:
        raise InvalidInput(f"no metric {metric!r}; expected 'coulomb' or 'overlap'")
    total = np.asarray(dm)
    total = total.sum(axis=0) if total.ndim == 3 else total
    if total.shape != (mol.nao, mol.nao):
        raise InvalidInput(f"expected a density matrix of {mol.nao} × {mol.nao} orbitals, got {np.shape(dm)}")
    auxmol = auxiliary_molecule(mol, auxbasis)
    two_centre, three_centre = INTEGRALS[metric]
    matrix = auxmol.intor(two_centre, hermi=1)
    c = scipy.linalg.solve(matrix, contract_orbitals(mol, auxmol, total, three_centre), assume_a="pos")
    if charge:
        electrons = np.sum(total * mol.intor("int1e_ovlp", hermi=1))
        c = with_electrons(c, auxmol, float(electrons), matrix)
    return c


def with_electrons(
    c: Float64[np.ndarray, " naux"],
    auxmol: gto.Mole,
    electrons: float,
    matrix: Float64[np.ndarray, "naux naux"] | None = None,
) -> Float64[np.ndarray, " naux"]:
    """Change coefficients as little as possible, in the metric, so that q·c is the number of electrons.

    The nearest such density is c + M⁻¹q (N − q·c) / (q·M⁻¹q), with q_P = ∫χ_P.

    Parameters
    ----------
    c : coefficients.
    auxmol : the molecule in its auxiliary basis.
    electrons : the number of electrons N.
    matrix : the metric M; the Coulomb matrix (P|Q) unless given.
    """
    matrix = coulomb_matrix(auxmol) if matrix is None else matrix
    q = function_integrals(auxmol)
    direction = scipy.linalg.solve(matrix, q, assume_a="pos")
    return c + direction * ((electrons - q @ c) / (q @ direction))


def coulomb_matrix(auxmol: gto.Mole) -> Float64[np.ndarray, "naux naux"]:
    """Return J_PQ = (P|Q) in hartree."""
    return auxmol.intor("int2c2e", hermi=1)


def relative_coulomb_error(
    c: Float64[np.ndarray, " naux"],
    exact: Float64[np.ndarray, " naux"],
    atoms: Float64[np.ndarray, " naux"],
    matrix: Float64[np.ndarray, "naux naux"],
) -> float:
    """Return f = ‖c − exact‖_J / ‖atoms − exact‖_J, the error in units of that of superposed atoms.

    Parameters
    ----------
    c, exact, atoms : coefficients: the density to be judged, the fit of the converged density, and the fit of the
        superposition of atomic densities (PySCF's guess ``"atom"``).
    matrix : the Coulomb matrix of the auxiliary basis.
    """
    ours, theirs = c - exact, atoms - exact
    return float(np.sqrt((ours @ matrix @ ours) / (theirs @ matrix @ theirs)))
