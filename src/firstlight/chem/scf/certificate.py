"""The check on a guess: the same calculation from PySCF's own guess must end at the same energy.

SCF may have several stationary points, and a start density can decide between them. A guess that ends elsewhere has
saved nothing, whatever its number of cycles, so the two energies are compared and both are shown.
"""

from dataclasses import dataclass
from typing import Any

from firstlight.chem.scf.guess import GuessRecord, is_applied, undo
from firstlight.errors import InvalidInput

SAME_ENERGY = 1e-8  # hartree


@dataclass(frozen=True)
class GuessCertificate:
    """A calculation beside the same one from PySCF's guess.

    Attributes
    ----------
    energy, peer_energy : total energies in hartree, from the predicted density and from PySCF's guess.
    cycles, peer_cycles : SCF cycles of the two.
    converged, peer_converged : whether they ended.
    tolerance : largest difference of energies that counts as none, in hartree.
    guess : what the calculation began with.
    """

    energy: float
    peer_energy: float
    cycles: int
    peer_cycles: int
    converged: bool
    peer_converged: bool
    tolerance: float
    guess: GuessRecord

    @property
    def holds(self) -> bool:
        """Whether both calculations converged to the same energy."""
        return self.converged and self.peer_converged and abs(self.energy - self.peer_energy) <= self.tolerance

    @property
    def verdict(self) -> str:
        """One line that says what was found."""
        if not self.converged:
            return "not converged from this guess"
        if not self.peer_converged:
            return "PySCF's guess does not converge; there is nothing to compare with"
        if self.guess.used != "density":
            return "PySCF's own guess ran in both; there is nothing to compare"
        difference = self.energy - self.peer_energy
        if self.holds:
            return f"the same energy from both guesses, to {abs(difference):.1e} hartree"
        side = "lower" if difference < 0 else "higher"
        return f"another state: {abs(difference):.3e} hartree {side} than from PySCF's guess; cycles do not compare"


def certify(mf: Any) -> GuessCertificate:
    """Run a finished calculation again from PySCF's own guess, and compare.

    Parameters
    ----------
    mf : an object that `apply` gave and that has run. It is left as it is.

    Raises
    ------
    InvalidInput
        If it is another object or has not run.
    """
    if not is_applied(mf) or mf.guess is None or not getattr(mf, "e_tot", 0):
        raise InvalidInput("expected a mean-field object from apply(mf), after its kernel()")
    peer = undo(mf).copy()
    peer.mo_coeff = peer.mo_occ = None  # else it begins from the result
    peer.chkfile = peer.callback = None
    peer.kernel()
    return GuessCertificate(
        energy=float(mf.e_tot),
        peer_energy=float(peer.e_tot),
        cycles=int(mf.cycles),
        peer_cycles=int(peer.cycles),
        converged=bool(mf.converged),
        peer_converged=bool(peer.converged),
        # Energies are converged to conv_tol, and the two runs may both end that far away.
        tolerance=max(SAME_ENERGY, 10 * float(mf.conv_tol)),
        guess=mf.guess,
    )
