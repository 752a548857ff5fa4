import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import MorseProblem


@pytest.mark.parametrize(("family", "parameters"), [("I", 6), ("II", 10), ("III", 22)])
def test_states_are_those_of_a_dense_solver(family, parameters):
    sample = MorseProblem(family).sample(0)
    assert sample.parameters.shape == (parameters,)
    step = 10 / 99
    hamiltonian = np.diag(sample.field[0]) + (2 * np.eye(100) - np.eye(100, k=1) - np.eye(100, k=-1)) / step**2
    values, vectors = np.linalg.eigh(hamiltonian)
    np.testing.assert_allclose(sample.eigenpairs[0], values[:10])
    np.testing.assert_allclose(np.abs(np.diag(vectors[:, :10].T @ sample.basis())), 1)


def test_the_potential_is_least_at_its_centre():
    for seed in range(5):
        sample = MorseProblem("I", cells=2001).sample(seed)
        centre, depth = sample.parameters[-2:]
        lowest = np.linspace(0, 10, 2001)[np.argmin(sample.field[0])]
        assert abs(lowest - centre) < 0.01
        assert sample.field.min() < 1e-3 * depth


def test_an_unknown_family_is_refused():
    with pytest.raises(InvalidInput, match="'IV'"):
        MorseProblem("IV")
