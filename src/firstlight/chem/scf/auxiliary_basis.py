"""The auxiliary basis in which densities are written: ρ̃(r) = Σ_P c_P χ_P(r).

The functions χ_P are atom-centred Gaussians with real solid harmonics, as PySCF orders them: atom by atom, shell by
shell; a p shell as x, y, z, higher ones as m = -l … l. Equivariant networks (e3nn) order them by l and run every shell
over m = -l … l, so between the two stands a permutation of each atom's block.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64
from pyscf import gto

from firstlight.errors import InvalidInput

JFIT = "def2-universal-jfit"
JKFIT = "def2-universal-jkfit"

Basis = str | dict[str, Any]


def auxiliary_molecule(mol: gto.Mole, auxbasis: Basis) -> gto.Mole:
    """Return the molecule with the auxiliary basis in place of the orbital basis.

    Unlike ``pyscf.df.make_auxmol`` it gives ghost atoms no functions, since there is no density of theirs to describe,
    and its functions are spherical even where the orbitals are Cartesian.

    Parameters
    ----------
    mol : the molecule, built.
    auxbasis : name of an auxiliary basis, or a basis by element as PySCF accepts it (``df.aug_etb(mol)``).

    Raises
    ------
    InvalidInput
        If the basis has no functions for an element of the molecule.
    """
    atoms = [(mol.atom_pure_symbol(a), mol.atom_coord(a)) for a in real_atoms(mol)]
    auxmol = gto.Mole()
    auxmol.set(atom=atoms, unit="Bohr", basis=auxbasis, cart=False, spin=None, verbose=0, output=None)
    try:
        auxmol.build(dump_input=False, parse_arg=False)
    except (KeyError, RuntimeError, ValueError) as error:  # BasisNotFoundError is a RuntimeError
        elements = ", ".join(sorted({symbol for symbol, _ in atoms}))
        raise InvalidInput(f"auxiliary basis {auxbasis!r} does not cover {elements}: {error}") from error
    return auxmol


def real_atoms(mol: gto.Mole) -> list[int]:
    """Return the indices of the atoms that are no ghosts."""
    return [a for a in range(mol.natm) if mol.atom_charge(a) > 0]


def function_integrals(auxmol: gto.Mole) -> Float64[np.ndarray, " naux"]:
    """Return q_P = ∫χ_P dr, the charge of each function in electrons; only s functions have any."""
    return gto.intor_cross("int1e_ovlp", _constant_one(), auxmol)[0]


def function_dipoles(auxmol: gto.Mole) -> Float64[np.ndarray, "3 naux"]:
    """Return ∫ r χ_P dr about the origin, in bohr."""
    return gto.intor_cross("int1e_r", _constant_one(), auxmol)[:, 0]


def _constant_one() -> gto.Mole:
    """Return a molecule whose one basis function is 1 everywhere: a Gaussian of exponent 0."""
    one = gto.fakemol_for_charges(np.zeros((1, 3)))
    one._env[one._bas[0, gto.mole.PTR_EXP]] = 0.0
    one._env[one._bas[0, gto.mole.PTR_COEFF]] = np.sqrt(4 * np.pi)  # libcint multiplies by the harmonic, 1/√(4π)
    return one


@lru_cache(maxsize=1024)
def shells(element: str, auxbasis: str) -> tuple[int, ...]:
    """Return the angular momentum of every shell of an element, in PySCF's order.

    >>> shells("H", "def2-universal-jfit")
    (0, 0, 0, 1, 2)

    Raises
    ------
    InvalidInput
        If the basis does not have the element.
    """
    atom = gto.Mole()
    atom.set(atom=[(element, (0.0, 0.0, 0.0))], spin=None)
    auxmol = auxiliary_molecule(atom.build(dump_input=False, parse_arg=False), auxbasis)
    return tuple(auxmol.bas_angular(b) for b in range(auxmol.nbas) for _ in range(auxmol.bas_nctr(b)))


def irreps(element: str, auxbasis: str) -> str:
    """Return how the coefficients of an element turn under rotation, as e3nn writes it.

    A density is a true scalar field, so the coefficients of a shell have the parity (-1)^l of its harmonics.

    >>> irreps("C", "def2-universal-jfit")
    '6x0e+4x1o+3x2e+1x3o+1x4e'
    """
    momenta = shells(element, auxbasis)
    return "+".join(f"{momenta.count(n)}x{n}{'eo'[n % 2]}" for n in sorted(set(momenta)))


def e3nn_order(element: str, auxbasis: str) -> Int64[np.ndarray, " functions"]:
    """Return the permutation that takes an atom's coefficients from PySCF's order to e3nn's.

    ``c[e3nn_order(element, auxbasis)]`` is sorted by l, and each shell runs over m = -l … l. For p shells this is
    y, z, x, where PySCF has x, y, z. It matches e3nn when positions are given to e3nn with the axes permuted the same
    way, (y, z, x), because e3nn's polar axis is its second one.
    """
    momenta = np.array(shells(element, auxbasis))
    starts = np.concatenate([[0], np.cumsum(2 * momenta + 1)[:-1]])
    by_l = np.argsort(momenta, kind="stable")
    return np.concatenate([starts[k] + _m_order(int(momenta[k])) for k in by_l])


def _m_order(momentum: int) -> Int64[np.ndarray, " m"]:
    return np.array([1, 2, 0]) if momentum == 1 else np.arange(2 * momentum + 1)
