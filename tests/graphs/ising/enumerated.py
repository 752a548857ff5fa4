"""All states of a tiny model, one by one: exact averages, written out from the definition of the energy."""

import numpy as np


def all_states(n):
    return 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1


def exact_averages(matrix, temperature):
    """Averages of m², m⁴, E and all s_0 s_j over exp(-E/T), from a matrix of couplings."""
    spins = all_states(len(matrix))
    energy = np.zeros(len(spins))
    for i in range(len(matrix)):
        for j in range(i):
            energy -= matrix[i, j] * spins[:, i] * spins[:, j]
    weight = np.exp(-(energy - energy.min()) / temperature)
    weight /= weight.sum()
    return weight @ averaged(spins, energy)


def averaged(spins, energy):
    m = spins.mean(axis=1)
    return np.column_stack([m**2, m**4, energy, spins[:, :1] * spins[:, 1:]])


def deviations(sampled, exact):
    """In standard errors over 50 blocks; 0 where both are constant."""
    blocks = sampled[: len(sampled) // 50 * 50].reshape(50, -1, sampled.shape[1]).mean(axis=1)
    error = blocks.std(axis=0, ddof=1) / np.sqrt(50)
    return np.abs(sampled.mean(axis=0) - exact) / np.maximum(error, 1e-12)
