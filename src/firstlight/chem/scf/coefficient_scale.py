"""Coefficients in numbers of unit size, by a change of variables that keeps every shell a shell.

For the shells of one l of one element, c = mean + W y. The mean over atoms is taken for l = 0 only, since anything else
would single out a direction. W mixes shells, not their components, so y turns as c does. It is chosen such that the y
of the training atoms are uncorrelated, of mean square 1, and ordered by what they contribute to the Coulomb energy of
an atom: with G = L Lᵀ the Coulomb matrix of the shells and V σ² Vᵀ the covariance of Lᵀ(c − mean), it is W = L⁻ᵀ V σ.
Neighbouring exponents overlap so much that the c themselves are large and nearly cancel; the y do not.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn

from firstlight.chem.scf.atom_metric import atom_coulomb
from firstlight.chem.scf.auxiliary_basis import e3nn_order, shells
from firstlight.errors import InvalidInput

SMALLEST = 1e-3  # of the largest σ of an l; below it a variable is noise, of few atoms or of single precision


class CoefficientScale(nn.Module):
    """The means and matrices W of all elements, learned from labels.

    Parameters
    ----------
    elements : symbols.
    auxbasis : name of the auxiliary basis.
    """

    def __init__(self, elements: Sequence[str], auxbasis: str) -> None:
        super().__init__()
        self.elements, self.auxbasis = tuple(elements), auxbasis
        self.sizes = [len(e3nn_order(element, auxbasis)) for element in elements]
        for element, size in zip(elements, self.sizes, strict=True):
            self.register_buffer(f"mean_{element}", torch.zeros(size))
            self.register_buffer(f"scale_{element}", torch.eye(size)[:, np.argsort(e3nn_order(element, auxbasis))].T)

    def learn(self, samples: Mapping[str, Float64[np.ndarray, "atoms functions"]]) -> None:
        """Set means and matrices from the coefficients of many atoms.

        Parameters
        ----------
        samples : by element, coefficients in PySCF's order, one atom per row.

        Raises
        ------
        InvalidInput
            If an element has no atoms among them.
        """
        for element in self.elements:
            if not len(samples.get(element, ())):
                raise InvalidInput(f"no label holds {element}; leave it out of the model's elements or label more")
            mean, scale = _mean_and_scale(element, self.auxbasis, samples[element])
            self.get_buffer(f"mean_{element}").copy_(torch.from_numpy(mean))
            self.get_buffer(f"scale_{element}").copy_(torch.from_numpy(scale))

    def of_element(self, number: int) -> tuple[Float[Tensor, " functions"], Float[Tensor, "functions functions"]]:
        """Return mean (PySCF's order) and W (from e3nn's order to PySCF's) of an element, in double precision."""
        element = self.elements[number]
        return self.get_buffer(f"mean_{element}").double(), self.get_buffer(f"scale_{element}").double()

    def coefficients(
        self, outputs: Sequence[Float64[Tensor, "heads _ _"]], species: Int64[Tensor, " atoms"]
    ) -> Float64[Tensor, "heads naux"]:
        """Return the coefficients of a molecule, in PySCF's order, from the outputs of the network by element."""
        found = []
        for number, y in enumerate(outputs):
            mean, scale = self.of_element(number)
            found.append(mean + y @ scale.T)
        return self.flat(found, species)

    def mean_coefficients(self, species: Int64[Tensor, " atoms"]) -> Float64[Tensor, " naux"]:
        """Return the superposition of mean atoms, in PySCF's order."""
        return torch.cat([self.of_element(int(number))[0] for number in species])

    def flat(
        self, by_element: Sequence[Float[Tensor, "heads _ _"]], species: Int64[Tensor, " atoms"]
    ) -> Float[Tensor, "heads naux"]:
        """Put what stands by element into the order of the atoms."""
        sizes = torch.tensor(self.sizes, device=species.device)[species]
        starts = sizes.cumsum(0) - sizes
        flat = by_element[0].new_empty(len(by_element[0]), int(sizes.sum()))
        for number, (values, size) in enumerate(zip(by_element, self.sizes, strict=True)):
            places = starts[species == number, None] + torch.arange(size, device=species.device)
            flat[:, places.flatten()] = values.flatten(1)
        return flat


def _mean_and_scale(
    element: str, auxbasis: str, samples: Float64[np.ndarray, "atoms functions"]
) -> tuple[Float64[np.ndarray, " functions"], Float64[np.ndarray, "functions functions"]]:
    coulomb = atom_coulomb(element, auxbasis)
    order = e3nn_order(element, auxbasis)  # shells of one l stand together, each over its components
    mean, scale = np.zeros(len(order)), np.zeros((len(order), len(order)))
    begin = 0
    momenta = sorted(shells(element, auxbasis))
    for l in sorted(set(momenta)):  # noqa: E741 - the field's letter
        count, components = momenta.count(l), 2 * l + 1
        places = order[begin : begin + count * components].reshape(count, components)
        if l == 0:
            mean[places[:, 0]] = samples[:, places[:, 0]].mean(axis=0)
        c = (samples - mean)[:, places]
        covariance = np.einsum("aim,ajm->ij", c, c) / len(c) / components
        root = scipy.linalg.cholesky(coulomb[np.ix_(places[:, 0], places[:, 0])], lower=True)
        variances, vectors = scipy.linalg.eigh(root.T @ covariance @ root)
        sigma = np.sqrt(np.maximum(variances[::-1], SMALLEST**2 * max(variances[-1], 1e-12)))
        mixing = scipy.linalg.solve_triangular(root.T, vectors[:, ::-1] * sigma)
        rows, columns = places, begin + np.arange(count * components).reshape(count, components)
        for m in range(components):
            scale[np.ix_(rows[:, m], columns[:, m])] = mixing
        begin += count * components
    return mean, scale
