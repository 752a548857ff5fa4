"""
Caffeine in fewer cycles
========================

A self-consistent field begins from a guess. PySCF's own is made of atoms; here it is made of a predicted density. The
energy is the same, and the calculation checks that itself.
"""

from typing import Any

from matplotlib import pyplot as plt
from pyscf import dft

from firstlight.chem.scf import apply, certify, dipole_moment, from_smiles
from firstlight.chem.scf.guess import shipped_predictor

# %%
# A molecule, in any way that PySCF knows. Nothing of caffeine's size was in training.

mol = from_smiles("CN1C=NC2=C1C(=O)N(C(=O)N2C)C").mole("def2-svp")
print(f"{mol.natm} atoms, {mol.nelectron} electrons, {mol.nao} orbitals")

# %%
# A calculation that writes down its energy after every cycle. A coarse grid keeps the example short.


def calculation():
    """Return PBE/def2-SVP with density fitting, not yet run."""
    mf: Any = dft.RKS(mol, xc="pbe").density_fit()
    mf.grids.level = 0
    return mf


def follow(mf) -> list[float]:
    """Run a calculation and return the energy after every cycle."""
    energies: list[float] = []
    mf.callback = lambda state: energies.append(state["e_tot"])
    mf.kernel()
    return energies


# %%
# From PySCF's guess, and from the predicted density: one word around the object.

plain = calculation()
ours = apply(calculation())
before, after = follow(plain), follow(ours)
print(f"{plain.cycles} cycles to {plain.e_tot:.9f} hartree from minao")
print(f"{ours.cycles} cycles to {ours.e_tot:.9f} hartree from a {ours.guess.used}")

# %%
# How do we know? The certificate runs the calculation again from PySCF's guess, and compares where they end.

certificate = certify(ours)
print(certificate.verdict)
assert certificate.holds

# %%
# What is left to go, cycle by cycle.

figure, ax = plt.subplots()
for energies, name, colour in ((before, "minao", "#CC79A7"), (after, "predicted density", "#0072B2")):
    left = [abs(energy - plain.e_tot) for energy in energies[:-1]]
    ax.semilogy(range(1, len(left) + 1), left, "o-", color=colour, label=name)
ax.set(xlabel="cycle", ylabel="distance from the converged energy (hartree)")
ax.legend(frameon=False)
plt.show()

# %%
# The density is worth something before any cycle: here is its dipole moment beside that of the calculation.

density = shipped_predictor().predict(mol)
predicted = dipole_moment(mol, density.coefficients, density.auxbasis)
converged = ours.dip_moment(verbose=0)
print(f"{(predicted @ predicted) ** 0.5:.2f} D predicted, {(converged @ converged) ** 0.5:.2f} D converged")
