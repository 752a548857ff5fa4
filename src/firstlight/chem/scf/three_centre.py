"""Contractions of the three-centre integrals (μν|P), a block at a time.

Nothing here holds the whole tensor, which for a hundred atoms would be gigabytes: b_P = Σ_μν D_μν (μν|P) takes the
auxiliary shells in blocks, and J_μν = Σ_P (μν|P) c_P runs through PySCF's screened direct contraction, whose cost grows
with the number of overlapping pairs of orbitals and whose memory is one matrix.
"""

import numpy as np
from jaxtyping import Float64
from pyscf import gto, lib
from pyscf.scf import _vhf, jk

BLOCK_BYTES = 256 * 2**20
NEGLIGIBLE = 1e-11  # hartree; of a guess, far below what its first cycle changes


def contract_orbitals(
    mol: gto.Mole, auxmol: gto.Mole, dm: Float64[np.ndarray, "nao nao"], integral: str = "int3c2e"
) -> Float64[np.ndarray, " naux"]:
    """Return b_P = Σ_μν D_μν (μν|P).

    Parameters
    ----------
    mol, auxmol : the molecule in its orbital and in its auxiliary basis.
    dm : density matrix, symmetric.
    integral : ``"int3c2e"`` for the Coulomb integral, ``"int3c1e"`` for the overlap of the three functions.
    """
    auxmol, to_spherical = _like_orbitals(mol, auxmol)
    # The integrals come as a lower triangle, in which each pair off the diagonal stands for two.
    packed = lib.pack_tril(dm + dm.T - np.diag(np.diag(dm)))
    both = mol + auxmol
    ao_loc = auxmol.ao_loc_nr()
    largest = max(1, BLOCK_BYTES // (8 * packed.size))
    b = np.empty(auxmol.nao)
    for first, last in _shell_blocks(ao_loc, largest):
        pairs = (0, mol.nbas, 0, mol.nbas, mol.nbas + first, mol.nbas + last)
        block = both.intor(integral, aosym="s2ij", shls_slice=pairs)
        b[ao_loc[first] : ao_loc[last]] = packed @ block.reshape(packed.size, -1)
    return b if to_spherical is None else b @ to_spherical


def contract_auxiliary(
    mol: gto.Mole, auxmol: gto.Mole, c: Float64[np.ndarray, " naux"]
) -> Float64[np.ndarray, "nao nao"]:
    """Return J_μν = Σ_P (μν|P) c_P in hartree, the Coulomb potential of ρ̃ between orbitals.

    Integrals that cannot reach `NEGLIGIBLE` by the Schwarz inequality, |(μν|P)| ≤ (μν|μν)^½ (P|P)^½, are left out.
    """
    auxmol, to_spherical = _like_orbitals(mol, auxmol)
    if to_spherical is not None:
        c = to_spherical @ c
    # PySCF's four-index contraction does this with a one-function shell in the place of the fourth index.
    both = mol + auxmol
    fourth = np.array([[0, 0, 1, 1, 0, 0, 0, 0]], dtype=np.int32)
    both._bas = np.vstack([both._bas, fourth])
    screening = _screening(mol, auxmol, c)
    every = (0, mol.nbas, 0, mol.nbas, mol.nbas, both.nbas - 1, both.nbas - 1, both.nbas)
    return jk.get_jk(  # type: ignore[return-value] - one matrix for one density
        both, c[None, :], "ijkl,lk->ij", "int3c2e", aosym="s2ij", hermi=1, shls_slice=every, vhfopt=screening
    )


def _screening(mol: gto.Mole, auxmol: gto.Mole, c: Float64[np.ndarray, " naux"]) -> _vhf._VHFOpt:
    """Bounds of the orbital pairs and of the auxiliary shells, as PySCF's density fitting sets them up."""
    screening = _vhf._VHFOpt(mol, "int3c2e", "CVHFnr3c2e_vj_pass2_prescreen", direct_scf_tol=NEGLIGIBLE)
    screening.init_cvhf_direct(mol, "int2e", "CVHFnr_int2e_q_cond")
    shells = [slice(*ends) for ends in zip(auxmol.ao_loc[:-1], auxmol.ao_loc[1:], strict=True)]
    own = np.sqrt(np.abs(auxmol.intor("int2c2e", hermi=1).diagonal()))
    screening.q_cond = np.hstack([screening.q_cond.ravel(), [own[shell].max() for shell in shells]])
    screening.dm_cond = np.array([np.abs(c[shell]).max() for shell in shells])
    return screening


def _like_orbitals(
    mol: gto.Mole, auxmol: gto.Mole
) -> tuple[gto.Mole, Float64[np.ndarray, "cartesian spherical"] | None]:
    """Give the auxiliary functions the kind of the orbitals, since the integrals mix no kinds, and the way back."""
    if not mol.cart:
        return auxmol, None
    cartesian = auxmol.copy()
    cartesian.cart = True
    return cartesian, np.asarray(cartesian.cart2sph_coeff(normalized="sp"))


def _shell_blocks(ao_loc: np.ndarray, largest: int) -> list[tuple[int, int]]:
    """Cut the shells into runs of at most `largest` functions, though never less than one shell."""
    blocks, first = [], 0
    while first < len(ao_loc) - 1:
        last = max(first + 1, int(np.searchsorted(ao_loc, ao_loc[first] + largest, side="right")) - 1)
        blocks.append((first, last))
        first = last
    return blocks
