"""Molecules and sources of densities for the tests."""

from functools import cache

from pyscf import dft, gto

from firstlight.chem.scf import FittedDensity, PredictedDensity

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
METHANOL = "C -0.05 0.66 0; O -0.05 -0.76 0; H -1.08 0.98 0; H 0.44 1.07 0.89; H 0.44 1.07 -0.89; H 0.86 -1.05 0"


def water(basis="def2-svp", **options) -> gto.Mole:
    return gto.M(atom=WATER, basis=basis, verbose=0, **options)


class ComputedDensity:
    """A source that converges PBE/def2-SVP for every molecule: slow and exact, where the network is quick."""

    elements = ("H", "C", "N", "O")

    def predict(self, mol: gto.Mole) -> PredictedDensity:
        atoms = tuple(
            (mol.atom_pure_symbol(a), tuple(mol.atom_coord(a))) for a in range(mol.natm) if mol.atom_charge(a)
        )
        return _computed(atoms, mol.charge, mol.spin).predict(mol)


class DoubtfulDensity(ComputedDensity):
    def predict(self, mol: gto.Mole) -> PredictedDensity:
        known = super().predict(mol)
        return PredictedDensity(known.coefficients, known.auxbasis, 0.7, "it is unlike anything that was learned")


@cache
def _computed(atoms, charge, spin) -> FittedDensity:
    mol = gto.M(atom=list(atoms), unit="Bohr", charge=charge, spin=spin, basis="def2-svp", verbose=0)
    mf = (dft.UKS if spin else dft.RKS)(mol, xc="pbe").density_fit()
    mf.grids.level = 1
    density = FittedDensity(mol, mf.run().make_rdm1())
    density.predict = lambda asked: density.density  # with ghosts there are more atoms, and the density is the same
    return density
