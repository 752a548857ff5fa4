"""One line in a PySCF script: SCF starts from a predicted density.

``apply`` puts a layer over a mean-field object, as ``density_fit()`` does, that answers ``get_init_guess``. Everything
else stays what it was, so the converged energy is that of the object; only the way there is shorter.
"""

import time
import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pyscf import dft, gto, lib
from pyscf.lib import logger
from pyscf.scf import dhf, ghf, hf, rohf, uhf
from pyscf.x2c import x2c

from firstlight.chem.scf.fock import density_to_dm, semilocal_proxy
from firstlight.chem.scf.mean_fields import is_kohn_sham
from firstlight.chem.scf.molecules import check_molecule
from firstlight.chem.scf.prediction import DensitySource, check_electrons
from firstlight.errors import InvalidInput

# What PySCF calls guesses; any other name would be minao, without a word.
PYSCF_GUESSES = ("minao", "atom", "1e", "hcore", "huckel", "mod_huckel", "sap", "vsap", "chk", "chkfile")
POLISHED_TO = 1e-4  # hartree; below it a coarse grid and density fitting have nothing more to say


class GuessFallback(UserWarning):
    """The predicted density was not used; the text says why, and which guess ran."""


@dataclass(frozen=True)
class GuessRecord:
    """Which guess an SCF calculation began with.

    Attributes
    ----------
    used : ``"density"``, or the name of PySCF's guess that ran instead.
    reason : why it ran instead; empty for ``"density"``.
    uncertainty : expected relative Coulomb error of the density (0 where it is exact).
    proxy : functional of the first Fock matrix.
    polish_cycles : cheap cycles between density and guess.
    seconds : wall time of the guess.
    """

    used: str
    reason: str = ""
    uncertainty: float = 0.0
    proxy: str = ""
    polish_cycles: int = 0
    seconds: float = 0.0


def apply(mf: Any, source: DensitySource | None = None, *, polish: bool = False) -> Any:
    """Let a mean-field object begin its SCF from a predicted density.

    If it has run already, ``kernel()`` begins anew from that density, and not from its orbitals as PySCF would.

    Parameters
    ----------
    mf : an object of RKS, UKS, ROKS, RHF, UHF or ROHF, with or without ``density_fit()``, ``newton()`` and symmetry.
        It is left as it is.
    source : of densities; the shipped `DensityPredictor` unless given.
    polish : run a few SCF cycles with density fitting on the coarsest grid before the guess is given. It pays where
        cycles are expensive: hybrids without density fitting.

    Returns
    -------
    The same calculation with another start. After ``kernel()`` its attribute ``guess`` is a `GuessRecord`. The guess
    takes the place of the one that ``mf.init_guess`` named; another name set later is obeyed. Each molecule gets its
    own prediction: a scanner does not begin a point from the density of the last one, so energies do not depend on the
    path.

    Raises
    ------
    InvalidInput
        If `mf` is of another kind, a restricted closed shell has an odd number of electrons, occupations were set by
        hand, or `check_molecule` refuses the molecule.

    Warns
    -----
    GuessFallback
        When the guess is made, if the source doubts its density; PySCF's own guess runs instead.

    Examples
    --------
    >>> from pyscf import dft, gto
    >>> from firstlight.chem.scf.prediction import FittedDensity
    >>> mol = gto.M(atom="O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", basis="def2-svp", verbose=0)
    >>> plain = dft.RKS(mol, xc="pbe").density_fit().run()
    >>> known = FittedDensity(mol, plain.make_rdm1())
    >>> quick = apply(dft.RKS(mol, xc="pbe").density_fit(), known).run()
    >>> bool(abs(quick.e_tot - plain.e_tot) < 1e-8), quick.cycles < plain.cycles, quick.guess.used
    (True, True, 'density')
    """
    source = shipped_predictor() if source is None else source
    check_mean_field(mf)
    check_molecule(mf.mol, source.elements)
    if is_applied(mf):
        mf = undo(mf)
    return lib.set_class(_DensityGuess(mf, source, polish), (_DensityGuess, mf.__class__))


def is_applied(mf: Any) -> bool:
    """Whether a mean-field object came from `apply`."""
    return isinstance(mf, _DensityGuess)


def undo(mf: Any) -> Any:
    """Return the mean-field object without the layer that `apply` put over it, with its results."""
    plain = lib.view(mf, lib.drop_class(mf.__class__, _DensityGuess))
    for name in _DensityGuess._keys:
        plain.__dict__.pop(name, None)
    return plain


@cache
def shipped_predictor() -> DensitySource:
    """Return the predictor whose weights come with the package, loaded once."""
    from firstlight.chem.scf.density_model import DensityPredictor

    return DensityPredictor.from_pretrained()


def check_mean_field(mf: Any) -> None:
    """Refuse mean-field objects for which a total density does not make a guess.

    Raises
    ------
    InvalidInput
        Saying why.
    """
    if not isinstance(mf, hf.SCF) or hasattr(mf, "cell"):
        raise InvalidInput(f"expected a molecular mean-field object of PySCF, such as dft.RKS(mol); got {type(mf)}")
    if isinstance(mf, (ghf.GHF, dhf.DHF, x2c.SCF)):
        raise InvalidInput(f"{type(mf).__name__} is not supported; its orbitals have no spin: use RKS, UKS or ROKS")
    if "get_occ" in vars(mf):
        raise InvalidInput(
            "occupations were set by hand (frac_occ, mom_occ); a predicted density is the ground state's"
        )
    if not isinstance(mf, (uhf.UHF, rohf.ROHF)) and mf.mol.nelectron % 2:
        raise InvalidInput(f"{mf.mol.nelectron} electrons do not make a closed shell; use UKS or ROKS, or set spin")


class _DensityGuess(hf.SCF if TYPE_CHECKING else object):
    """The layer over a mean-field class."""

    __name_mixin__ = "DensityGuess"

    _keys: ClassVar[set[str]] = {"density_source", "density_polish", "guess", "guess_replaced"}

    def __init__(self, mf: Any, source: DensitySource, polish: bool) -> None:
        self.__dict__.update(mf.__dict__)
        self.density_source = source
        self.density_polish = polish
        self.guess_replaced = mf.init_guess
        self.guess: GuessRecord | None = None
        self._forget_orbitals()

    def dump_flags(self, verbose: Any = None) -> Any:
        super().dump_flags(verbose)
        logger.info(self, "in place of guess %s: a predicted density (%s)", self.guess_replaced, self.density_source)
        return self

    def reset(self, mol: gto.Mole | None = None) -> Any:
        if mol is not None:
            check_molecule(mol, self.density_source.elements)
            self._forget_orbitals()
        return super().reset(mol)

    def _forget_orbitals(self) -> None:
        self.mo_coeff = self.mo_occ = None  # kernel() and scanners would begin from them

    def get_init_guess(self, mol: Any = None, key: Any = None, **options: Any) -> Any:
        key = self.init_guess if key is None else key
        mol = self.mol if mol is None else mol
        if not isinstance(key, str):
            return super().get_init_guess(mol, key, **options)
        if key != self.guess_replaced and key not in PYSCF_GUESSES:
            raise InvalidInput(f"PySCF has no guess {key!r}; expected one of {', '.join(PYSCF_GUESSES)}")
        check_mean_field(self)  # it may have been converted to another kind
        began, doubt = time.perf_counter(), ""
        if key == self.guess_replaced:
            density = self.density_source.predict(mol)
            doubt = density.doubt
            if not doubt:
                check_electrons(mol, density)
                dm = density_to_dm(self, density.coefficients, density.auxbasis)
                cycles = 0
                if self.density_polish:
                    dm, cycles = _polished(self, dm)
                proxy = semilocal_proxy(getattr(self, "xc", "hf"))
                seconds = time.perf_counter() - began
                self.guess = GuessRecord("density", "", density.uncertainty, proxy, cycles, seconds)
                logger.info(self, "Initial guess from a predicted density.")
                return dm
            warnings.warn(f"the predicted density is not used: {doubt}; guess {key} instead", GuessFallback, 2)
        dm = super().get_init_guess(mol, key, **options)
        self.guess = GuessRecord(key, doubt or "it was asked for", seconds=time.perf_counter() - began)
        return dm


def _polished(mf: Any, dm: np.ndarray) -> tuple[np.ndarray, int]:
    """Run cheap cycles: density fitting, the coarsest grid, the functional itself."""
    cheap = undo(mf).copy()
    cheap.verbose, cheap.chkfile, cheap.callback = 0, None, None
    if not getattr(cheap, "with_df", None):
        cheap = cheap.density_fit()
    if is_kohn_sham(cheap):
        cheap.grids = dft.Grids(mf.mol).set(level=0, verbose=0)
    cheap.conv_tol, cheap.conv_check = POLISHED_TO, False
    cheap.kernel(dm0=dm)
    return cheap.make_rdm1(), int(cheap.cycles)
