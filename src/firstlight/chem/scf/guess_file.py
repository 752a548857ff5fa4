"""A guess as a PySCF checkpoint file, so that a script or another program can start from it."""

from pathlib import Path
from typing import Any

from pyscf.lib import chkfile

from firstlight.files import written_whole


def write_guess(path: str | Path, mf: Any) -> None:
    """Write the orbitals of a guess where ``mf.from_chk(path)`` and ``mf.init_guess = "chkfile"`` find them.

    Parameters
    ----------
    path : the file, HDF5.
    mf : an object that `firstlight.chem.scf.apply` gave.

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    dm = mf.get_init_guess()
    mo_coeff, mo_occ = getattr(dm, "mo_coeff", None), getattr(dm, "mo_occ", None)
    if mo_coeff is None:  # PySCF's guess ran instead, and has no orbitals: those of its density's own Fock matrix
        mo_energy, mo_coeff = mf.eig(mf.get_fock(dm=dm), mf.get_ovlp())
        mo_occ = mf.get_occ(mo_energy, mo_coeff)
    with written_whole(path) as partial:
        chkfile.save_mol(mf.mol, str(partial))
        chkfile.save(str(partial), "scf", {"mo_coeff": mo_coeff, "mo_occ": mo_occ})
