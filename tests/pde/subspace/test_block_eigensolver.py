import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, subspace_angles

from firstlight.pde.subspace.block_eigensolver import BlockIteration, orthonormal_block

RNG = np.random.default_rng(0)
ROTATION = np.linalg.qr(RNG.normal(size=(80, 80)))[0]
SPECTRUM = np.arange(1.0, 81) ** 1.5
A = (ROTATION * SPECTRUM) @ ROTATION.T
FACTOR = RNG.normal(size=(80, 80))
B = FACTOR @ FACTOR.T + 80 * np.eye(80)


def iteration(X, mass=None):
    return BlockIteration(lambda V: A @ V, None if mass is None else lambda V: mass @ V, None, X)


def test_steps_never_raise_a_ritz_value_and_end_at_the_eigenvalues():
    block = iteration(RNG.normal(size=(80, 5)))
    history = [block.values]
    for _ in range(60):
        block.run(lambda values: np.full(5, 1e-9), block.iterations + 1)
        history.append(block.values)
    assert (np.diff(history, axis=0) <= 1e-9 * SPECTRUM[-1]).all()
    np.testing.assert_allclose(history[-1][:3], SPECTRUM[:3], rtol=1e-8)


def test_vectors_are_orthonormal_in_the_mass_matrix():
    block = iteration(RNG.normal(size=(80, 4)), B)
    assert block.run(lambda values: np.array([1e-7, 1e-7, 1e-7, np.inf]), 300)
    np.testing.assert_allclose(block.X.T @ B @ block.X, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(block.values[:3], eigh(A, B, eigvals_only=True)[:3], rtol=1e-8)


def test_nothing_is_done_from_the_solution():
    block = iteration(ROTATION[:, :4])
    assert block.run(lambda values: np.full(4, 1e-9), 10)
    assert block.iterations == 0


def test_widening_keeps_what_was_found_and_orders_all():
    block = iteration(ROTATION[:, [0, 2]])
    block.widen(ROTATION[:, [1]])
    np.testing.assert_allclose(block.values, SPECTRUM[:3])
    block.keep(2)
    assert subspace_angles(block.X, ROTATION[:, :2]).max() < 1e-6


@given(st.integers(0, 1000), st.integers(1, 6), st.floats(1e-14, 1.0))
@settings(max_examples=30)
def test_columns_are_made_orthonormal_and_what_depends_on_others_is_dropped(seed, count, size):
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.normal(size=(40, 3)))[0]
    V = X @ rng.normal(size=(3, count)) + size * rng.normal(size=(40, count))
    made, _ = orthonormal_block(np.column_stack([V, V[:, :1], np.zeros(40)]), None, X)
    assert made.shape[1] <= count
    everything = np.column_stack([X, made])
    np.testing.assert_allclose(everything.T @ everything, np.eye(everything.shape[1]), atol=1e-9)
