"""The mean-field object that fits a molecule and a functional, by PySCF's own constructors."""

from importlib.util import find_spec
from typing import Any

from pyscf import dft, gto, scf
from pyscf.dft import libxc
from pyscf.dft.rks import KohnShamDFT

from firstlight.errors import InvalidInput


def is_kohn_sham(mf: Any) -> bool:
    """Whether a mean-field object has a functional and a grid."""
    return isinstance(mf, KohnShamDFT)


def mean_field(mol: gto.Mole, xc: str, *, density_fit: bool = True) -> Any:
    """Return RKS, UKS, RHF or UHF: restricted where all electrons are paired.

    Parameters
    ----------
    mol : the molecule.
    xc : functional as PySCF names it, or ``"hf"``.
    density_fit : with ``.density_fit()``.

    Raises
    ------
    InvalidInput
        If PySCF does not know the functional or its dispersion correction, or lacks the package that computes it.
    """
    if xc.lower() == "hf":
        mf = scf.UHF(mol) if mol.spin else scf.RHF(mol)
    else:
        try:
            libxc.parse_xc(xc)
        except (KeyError, ValueError) as error:
            raise InvalidInput(f"PySCF knows no functional {xc!r}: {error}") from error
        mf = dft.UKS(mol, xc=xc) if mol.spin else dft.RKS(mol, xc=xc)
        _check_dispersion(mf)
    return mf.density_fit() if density_fit else mf


def _check_dispersion(mf: Any) -> None:
    """Refuse at once what would end the calculation after its last cycle."""
    try:
        wanted = mf.do_disp()
        installed = not wanted or find_spec("pyscf.dispersion")
    except (ValueError, NotImplementedError) as error:
        raise InvalidInput(f"PySCF knows no such dispersion correction: {error}") from error
    if not installed:
        raise InvalidInput(f"{mf.xc} has a dispersion correction; run: pip install pyscf-dispersion")
