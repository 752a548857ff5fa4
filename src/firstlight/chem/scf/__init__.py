"""Fewer SCF cycles in PySCF: the calculation starts from a predicted electron density.

For everyone who runs many single points with PySCF. The density is predicted in an auxiliary Gaussian basis, which no
orbital basis and no functional depends on, and makes the first Kohn–Sham matrix (Liu, Ni, Pu, Sun, Liu, Yan: *Towards a
(universally) transferable acceleration method for density functional theory*, ICLR 2026). SCF then converges to the
energy it always had; `certify` checks that against PySCF's own guess.

The last line of a script becomes ``apply(mf).kernel()``. Here the density is one that is known already, fitted, so that
the example shows the best that a prediction can do:

>>> from pyscf import dft, gto
>>> from firstlight.chem.scf import FittedDensity, apply, certify
>>> mol = gto.M(atom="O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", basis="def2-svp", verbose=0)
>>> small = dft.RKS(mol, xc="pbe").density_fit().run()
>>> density = FittedDensity(mol, small.make_rdm1())

It serves another basis and another functional:

>>> mf = apply(dft.RKS(mol.set(basis="def2-tzvp").build(), xc="b3lyp").density_fit(), density)
>>> energy = mf.kernel()
>>> mf.guess.used, mf.guess.proxy
('density', 'blyp')
>>> certificate = certify(mf)
>>> certificate.holds, certificate.cycles < certificate.peer_cycles
(True, True)
"""

from firstlight.chem.scf.certificate import GuessCertificate, certify
from firstlight.chem.scf.comparison import GuessRun, compare_guesses, density_error
from firstlight.chem.scf.density_fit import fit_density, relative_coulomb_error
from firstlight.chem.scf.fock import density_to_dm, density_to_fock, semilocal_proxy
from firstlight.chem.scf.guess import GuessFallback, GuessRecord, apply, undo
from firstlight.chem.scf.labels import Label, LabelRecipe, label, read_labels, write_labels
from firstlight.chem.scf.molecules import Geometry, from_smiles, read_xyz
from firstlight.chem.scf.prediction import DensitySource, FittedDensity, PredictedDensity
from firstlight.chem.scf.real_space import density_values, dipole_moment, write_cube

__all__ = [
    "DensitySource",
    "FittedDensity",
    "Geometry",
    "GuessCertificate",
    "GuessFallback",
    "GuessRecord",
    "GuessRun",
    "Label",
    "LabelRecipe",
    "PredictedDensity",
    "apply",
    "certify",
    "compare_guesses",
    "density_error",
    "density_to_dm",
    "density_to_fock",
    "density_values",
    "dipole_moment",
    "fit_density",
    "from_smiles",
    "label",
    "read_labels",
    "read_xyz",
    "relative_coulomb_error",
    "semilocal_proxy",
    "undo",
    "write_cube",
    "write_labels",
]
