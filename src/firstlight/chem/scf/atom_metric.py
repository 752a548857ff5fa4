"""The Coulomb metric of each atom by itself.

Between atoms the Coulomb matrix of the auxiliary basis is dense, and for large molecules too large to be kept. Its
blocks on the diagonal, one for each atom, belong to elements and not to molecules; they are enough to hold the number
of electrons and to say how far predictions are apart. Against the whole matrix, the number of electrons held this way
changes the error of predicted densities by less than one in a hundred on average (see the model card).
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy.linalg
from jaxtyping import Float64
from pyscf import gto

from firstlight.chem.scf.auxiliary_basis import auxiliary_molecule, function_integrals
from firstlight.chem.scf.density_fit import coulomb_matrix


@lru_cache(maxsize=1024)
def atom_coulomb(element: str, auxbasis: str) -> Float64[np.ndarray, "functions functions"]:
    """Return the Coulomb matrix of the auxiliary functions of one atom, in hartree."""
    return coulomb_matrix(_atom(element, auxbasis))


@lru_cache(maxsize=1024)
def atom_integrals(element: str, auxbasis: str) -> Float64[np.ndarray, " functions"]:
    """Return ∫χ_P dr of the auxiliary functions of one atom, in electrons."""
    return function_integrals(_atom(element, auxbasis))


@lru_cache(maxsize=1024)
def atom_response(element: str, auxbasis: str) -> Float64[np.ndarray, " functions"]:
    """Return G⁻¹q, with G and q those of the atom: how it takes up charge at the least Coulomb energy."""
    return scipy.linalg.solve(atom_coulomb(element, auxbasis), atom_integrals(element, auxbasis), assume_a="pos")


def hold_electrons(
    c: Float64[np.ndarray, "heads naux"], symbols: Sequence[str], auxbasis: str, electrons: int
) -> Float64[np.ndarray, "heads naux"]:
    """Move coefficients as little as possible, in the metric of the atoms, to a number of electrons.

    The nearest such density is c + G⁻¹q (N − q·c)/(q·G⁻¹q), with G block-diagonal: charge that is lacking is spread
    over the atoms, and goes to their diffuse s functions.

    Parameters
    ----------
    c : coefficients of several densities of one molecule, in PySCF's order.
    symbols : its atoms.
    auxbasis : name of the auxiliary basis.
    electrons : the number of electrons N.
    """
    q = np.concatenate([atom_integrals(symbol, auxbasis) for symbol in symbols])
    response = np.concatenate([atom_response(symbol, auxbasis) for symbol in symbols])
    return c + np.outer((electrons - c @ q) / (q @ response), response)


def atom_norm(c: Float64[np.ndarray, " naux"], symbols: Sequence[str], auxbasis: str) -> float:
    """Return √(cᵀGc), the norm of coefficients in the metric of the atoms."""
    blocks = [atom_coulomb(symbol, auxbasis) for symbol in symbols]
    ends = np.cumsum([len(block) for block in blocks])
    parts = np.split(c, ends[:-1])
    return float(np.sqrt(sum(part @ block @ part for part, block in zip(parts, blocks, strict=True))))


def _atom(element: str, auxbasis: str) -> gto.Mole:
    return auxiliary_molecule(gto.M(atom=[(element, (0.0, 0.0, 0.0))], basis="sto-3g", spin=None, verbose=0), auxbasis)
