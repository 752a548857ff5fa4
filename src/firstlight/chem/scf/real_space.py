"""A density of the auxiliary basis in space: its values, its dipole moment, and a file for molecular viewers."""

from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float64
from pyscf import gto
from pyscf.data.nist import AU2DEBYE
from pyscf.tools import cubegen

from firstlight.chem.scf.auxiliary_basis import JFIT, Basis, auxiliary_molecule, function_dipoles
from firstlight.errors import InvalidInput
from firstlight.files import written_whole

NEGLIGIBLE = 1e-10  # electrons per cubic bohr, of a function with coefficient 1


def density_values(
    auxmol: gto.Mole, c: Float64[np.ndarray, " naux"], points: Float64[np.ndarray, "points 3"], deriv: int = 0
) -> Float64[np.ndarray, "values points"]:
    """Evaluate ρ̃ and, with ``deriv=1``, its gradient.

    Every shell is evaluated where it reaches, so the cost grows with the size of the molecule alone.

    Parameters
    ----------
    auxmol : the molecule in its auxiliary basis.
    c : coefficients.
    points : in bohr.
    deriv : 0 for the density, 1 for the density and its gradient, as PySCF's numerical integration expects them.

    Returns
    -------
    ρ̃ (electrons per cubic bohr) in the first row, then ∂ρ̃/∂x, ∂ρ̃/∂y, ∂ρ̃/∂z.
    """
    evaluator = ("GTOval_sph", "GTOval_sph_deriv1")[deriv]
    values = np.zeros((1 + 3 * deriv, len(points)))
    ao_loc = auxmol.ao_loc_nr()
    for atom, (first, last) in enumerate(auxmol.aoslice_by_atom()[:, :2]):
        away = points - auxmol.atom_coord(atom)
        squared = np.einsum("gx,gx->g", away, away)
        for shell in range(first, last):
            near = np.flatnonzero(squared < -np.log(NEGLIGIBLE) / auxmol.bas_exp(shell).min())
            if near.size:
                functions = auxmol.eval_gto(evaluator, points[near], shls_slice=(shell, shell + 1))
                mine = c[ao_loc[shell] : ao_loc[shell + 1]]
                values[:, near] += functions.reshape(len(values), near.size, -1) @ mine
    return values


def dipole_moment(
    mol: gto.Mole, c: Float64[np.ndarray, " naux"], auxbasis: Basis = JFIT, unit: Literal["Debye", "AU"] = "Debye"
) -> Float64[np.ndarray, "3"]:
    """Return Σ_A Z_A R_A − ∫ r ρ̃(r) dr, the dipole moment of nuclei and density.

    Parameters
    ----------
    mol : the molecule; of a charged one the moment depends on the origin, which is that of the coordinates.
    c : coefficients.
    auxbasis : the basis of `c`.
    unit : ``"Debye"`` or ``"AU"`` (e·bohr), as ``mf.dip_moment`` names them.
    """
    electrons = function_dipoles(auxiliary_molecule(mol, auxbasis)) @ c
    moment = mol.atom_charges() @ mol.atom_coords() - electrons
    return moment * (AU2DEBYE if unit == "Debye" else 1.0)


def write_cube(
    path: str | Path,
    mol: gto.Mole,
    c: Float64[np.ndarray, " naux"],
    auxbasis: Basis = JFIT,
    points_per_axis: int = 80,
) -> None:
    """Write ρ̃ on a regular grid around the molecule, in Gaussian's cube format.

    Parameters
    ----------
    path : the file, which ends in ``.cube`` or ``.cub``.
    mol : the molecule.
    c, auxbasis : coefficients and their basis.
    points_per_axis : of the box, which reaches 3 bohr beyond the nuclei.

    Raises
    ------
    InvalidInput
        If the file cannot be written, or a box of fewer than 2 points an axis is asked for.
    """
    if points_per_axis < 2:
        raise InvalidInput(f"a grid needs at least 2 points per axis, got {points_per_axis}")
    cube = cubegen.Cube(mol, points_per_axis, points_per_axis, points_per_axis)
    rho = density_values(auxiliary_molecule(mol, auxbasis), c, cube.get_coords())[0]
    with written_whole(path) as partial:
        cube.write(rho.reshape(cube.nx, cube.ny, cube.nz), str(partial), comment="density, electrons per cubic bohr")
