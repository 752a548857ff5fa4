"""From a density to a Fock matrix, orbitals, and a density matrix to start SCF from.

The Kohn–Sham matrix of a semilocal functional needs the density alone,

    F_μν = T_μν + V_μν + Σ_P (μν|P) c_P + ∫ φ_μ φ_ν v_xc[ρ̃] dr,

in any orbital basis: no fit is solved, no four-centre integral is evaluated. One diagonalisation gives orbitals. Exact
exchange and the kinetic energy density of meta-GGAs are no functionals of ρ̃ that we could evaluate; for functionals
that need them a semilocal proxy makes the first Fock matrix, and only that one.
"""

from copy import copy
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float64
from pyscf import df, dft, gto, lib
from pyscf.scf import uhf

from firstlight.chem.scf.auxiliary_basis import JFIT, Basis, auxiliary_molecule
from firstlight.chem.scf.guess_grid import guess_grid
from firstlight.chem.scf.mean_fields import is_kohn_sham
from firstlight.chem.scf.real_space import density_values
from firstlight.chem.scf.three_centre import contract_auxiliary
from firstlight.errors import InvalidInput

SMALLEST_DENSITY = 1e-10  # fitted densities are slightly negative far out; functionals must not see that
POINTS = 72 * dft.gen_grid.BLKSIZE  # of the grid at a time: whole blocks of PySCF's screening


def density_to_fock(mf: Any, c: Float64[np.ndarray, " naux"], auxbasis: Basis = JFIT) -> Float64[np.ndarray, "nao nao"]:
    """Return the Kohn–Sham matrix of the density ρ̃, in hartree.

    Parameters
    ----------
    mf : a mean-field object of PySCF, from which come molecule, core Hamiltonian, functional and, where it has one, the
        density-fitting tensor. It need not have run.
    c : coefficients of the density.
    auxbasis : their basis.

    Raises
    ------
    InvalidInput
        If the number of coefficients is not that of the basis.
    """
    mol = mf.mol
    auxmol = auxiliary_molecule(mol, auxbasis)
    if c.shape != (auxmol.nao,):
        raise InvalidInput(f"{auxbasis} has {auxmol.nao} functions for this molecule, got {c.shape} coefficients")
    return mf.get_hcore(mol) + coulomb_potential(mf, auxmol, c) + exchange_correlation(mf, auxmol, c)


def density_to_dm(
    mf: Any, c: Float64[np.ndarray, " naux"], auxbasis: Basis = JFIT
) -> Float64[np.ndarray, "*spin nao nao"]:
    """Return the density matrix that the orbitals of `density_to_fock` make, tagged with them as PySCF does.

    Orbitals and occupations are the mean-field object's own (``mf.eig``, ``mf.get_occ``), so symmetry, unrestricted and
    restricted open shells are what they are in its SCF cycles. Both spins start from the same potential.

    Parameters
    ----------
    mf, c, auxbasis : as `density_to_fock` takes them.

    Returns
    -------
    Of shape (nao, nao), or (2, nao, nao) where `mf` keeps two spins.
    """
    fock = density_to_fock(mf, c, auxbasis)
    if isinstance(mf, uhf.UHF):
        fock = np.stack([fock, fock])
    mo_energy, mo_coeff = mf.eig(fock, mf.get_ovlp(mf.mol))
    mo_occ = mf.get_occ(mo_energy, mo_coeff)
    return mf.make_rdm1(mo_coeff, mo_occ)


def semilocal_proxy(xc: str) -> str:
    """Return the functional whose potential is evaluated for the guess: `xc` itself if it is an LDA or a GGA.

    Hybrids and meta-GGAs that hold the correlation of Lee, Yang and Parr begin with BLYP, all others, and Hartree–Fock,
    with PBE.

    >>> [semilocal_proxy(xc) for xc in ("bp86", "b3lyp", "pbe0", "r2scan", "hf")]
    ['bp86', 'blyp', 'pbe', 'pbe', 'pbe']
    """
    numint = dft.numint.NumInt()
    semilocal = numint._xc_type(xc) in ("LDA", "GGA") and not numint.libxc.is_hybrid_xc(xc)
    if semilocal and not numint.libxc.is_nlc(xc):
        return xc
    return "blyp" if "lyp" in xc.lower() else "pbe"


def coulomb_potential(mf: Any, auxmol: gto.Mole, c: Float64[np.ndarray, " naux"]) -> Float64[np.ndarray, "nao nao"]:
    """Return the Coulomb potential of ρ̃ between orbitals, in hartree.

    A density-fitted mean-field object has the tensor B = L⁻¹ (Q|μν), where L Lᵀ = (Q|Q'), in memory or on disk. Then J
    is Bᵀ L⁻¹ (Q|P) c, for the price of one pass over it; the tensor that SCF is about to build is built here. Other
    objects get the three-centre integrals contracted directly.
    """
    mol = mf.mol
    with_df = getattr(mf, "with_df", None)
    if not isinstance(with_df, df.DF) or mol.cart:
        return contract_auxiliary(mol, auxmol, c)
    if with_df._cderi is None:
        with_df.build()
    if with_df.auxmol is None:  # a tensor that was given without its basis
        return contract_auxiliary(mol, auxmol, c)
    try:
        lower = scipy.linalg.cholesky(with_df.auxmol.intor("int2c2e", hermi=1), lower=True)
    except scipy.linalg.LinAlgError:  # then PySCF made the tensor otherwise
        return contract_auxiliary(mol, auxmol, c)
    weights = scipy.linalg.solve_triangular(lower, gto.intor_cross("int2c2e", with_df.auxmol, auxmol) @ c, lower=True)
    packed, first = np.zeros(mol.nao * (mol.nao + 1) // 2), 0
    tensor: Any
    for tensor in with_df.loop():
        packed += weights[first : first + len(tensor)] @ tensor
        first += len(tensor)
    return lib.unpack_tril(packed)


def exchange_correlation(mf: Any, auxmol: gto.Mole, c: Float64[np.ndarray, " naux"]) -> Float64[np.ndarray, "nao nao"]:
    """Return ∫ φ_μ φ_ν v_xc[ρ̃] dr in hartree, of the functional of `mf` or its `semilocal_proxy`.

    The grid is a coarse one of its own, or as coarse as that of `mf`: SCF from the guess takes the same number of
    cycles as with the default grid, which has six times the points.
    """
    mol = mf.mol
    xc = semilocal_proxy(getattr(mf, "xc", "hf"))
    numint = dft.numint.NumInt()
    kind = numint._xc_type(xc)
    coarsest = is_kohn_sham(mf) and mf.grids.level == 0
    points, weights = guess_grid(mol, 0 if coarsest else None)
    deriv = int(kind == "GGA")
    rho = density_values(auxmol, c, points, deriv)
    rho[:, rho[0] < SMALLEST_DENSITY] = 0.0
    rho[0] = np.maximum(rho[0], SMALLEST_DENSITY)
    potential = numint.eval_xc_eff(xc, rho if deriv else rho[0], deriv=1, xctype=kind)[1] * weights
    return _between_orbitals(mol, points, potential)


def _between_orbitals(
    mol: gto.Mole, points: Float64[np.ndarray, "points 3"], potential: Float64[np.ndarray, "terms points"]
) -> Float64[np.ndarray, "nao nao"]:
    """Integrate v φ_μ φ_ν, and v' · ∇(φ_μ φ_ν) where there is a term of the gradient; weights are in the potential.

    PySCF sorts the points of a grid by place, so a run of them meets few orbitals, and only those enter its product.
    """
    matrix = np.zeros((mol.nao, mol.nao))
    terms = len(potential)
    reach = dft.gen_grid.make_mask(mol, points) > 0
    ao_loc, blocks = mol.ao_loc_nr(), dft.gen_grid.BLKSIZE
    local = copy(mol)
    for first in range(0, len(points), POINTS):
        last = min(first + POINTS, len(points))
        shells = np.flatnonzero(reach[first // blocks : -(-last // blocks)].any(axis=0))
        if not shells.size:
            continue
        near = np.concatenate([np.arange(ao_loc[s], ao_loc[s + 1]) for s in shells])
        local._bas = mol._bas[shells]
        orbitals = dft.numint.eval_ao(local, points[first:last], deriv=int(terms == 4))
        orbitals = orbitals.reshape(terms, last - first, near.size)
        weighted = np.einsum("tgm,tg->gm", orbitals, potential[:, first:last])
        # Half of the local term, since the transpose below brings the other half and the gradient of the other orbital.
        weighted -= 0.5 * orbitals[0] * potential[0, first:last, None]
        matrix[np.ix_(near, near)] += orbitals[0].T @ weighted
    return matrix + matrix.T
