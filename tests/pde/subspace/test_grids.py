import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.grids import on_grid
from firstlight.pde.subspace.redundancy import box_eigenvectors

MODES = np.array([[1, 1], [2, 1], [1, 3]])


def test_smooth_functions_are_carried_to_a_finer_grid_at_fourth_order():
    errors = []
    for size in (15, 31):
        grid, fine = (size, size), (70, 50)
        carried = on_grid(box_eigenvectors(grid, MODES), grid, fine)
        exact = box_eigenvectors(fine, MODES) * np.sqrt(71 * 51) / (size + 1)
        errors.append(np.abs(carried - exact).max() / np.abs(exact).max())
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) > 3.5


def test_the_same_grid_changes_nothing():
    W = np.random.default_rng(0).normal(size=(4 * 5 * 6, 3))
    np.testing.assert_allclose(on_grid(W, (4, 5, 6), (4, 5, 6)), W, atol=1e-12)


@pytest.mark.parametrize("grids", [((4, 4), (8, 8)), ((3, 3), (8,)), ((9, 1), (8, 8))])
def test_grids_that_do_not_fit_are_refused(grids):
    with pytest.raises(InvalidInput, match="cannot be carried"):
        on_grid(np.ones((9, 2)), *grids)
