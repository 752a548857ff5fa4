import numpy as np
import pytest
from scipy.linalg import eigh

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import FlattopProblem, RandomSeries, diffusion_matrix


def test_series_is_the_sum_of_its_waves_on_grids_and_at_points():
    series = RandomSeries.draw(2, np.random.default_rng(0))
    x, y = np.array([0.1, 0.7]), np.array([0.2, 0.5, 0.9])
    numbers = np.indices(series.amplitudes.shape)
    direct = [[np.sum(series.amplitudes * np.cos(numbers[0] * one + numbers[1] * other)) for other in y] for one in x]
    np.testing.assert_allclose(series.on_grid(x, y), direct)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(series.at(points), np.ravel(direct))


def test_series_in_three_dimensions_agrees_on_grid_and_at_points():
    series = RandomSeries.draw(3, np.random.default_rng(1))
    axes = [np.array([0.1, 0.4]), np.array([0.3]), np.array([0.2, 0.8, 0.9])]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(series.on_grid(*axes).ravel(), series.at(points))


@pytest.mark.parametrize("dim", [2, 3])
def test_constant_coefficients_give_the_known_eigenvalues(dim):
    n = 6
    a = np.arange(1.0, dim + 1)  # another coefficient along each axis
    faces = [np.full([n + (axis == other) for other in range(dim)], a[axis]) for axis in range(dim)]
    line = 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1))) ** 2
    known = sum(np.expand_dims(a[axis] * line, [other for other in range(dim) if other != axis]) for axis in range(dim))
    np.testing.assert_allclose(np.linalg.eigvalsh(diffusion_matrix(faces).toarray()), np.sort(np.ravel(known)))


@pytest.mark.parametrize("problem", [FlattopProblem(12), FlattopProblem(12, n_fields=2), FlattopProblem(6, 3)])
def test_subspace_is_that_of_the_lowest_eigenvectors(problem):
    sample = problem.sample(0)
    dense = sample.matrix.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    values, vectors = eigh(dense, subset_by_index=(0, 9))
    np.testing.assert_allclose(sample.eigenpairs[0], values)
    np.testing.assert_allclose(np.linalg.svd(vectors.T @ sample.basis(), compute_uv=False), 1)
    assert sample.field.shape == (problem.n_fields, *problem.grid)
    assert 1 <= sample.field.min() < sample.field.max() <= 50


def test_a_seed_is_one_coefficient_on_every_grid():
    coarse, fine = (FlattopProblem(cells, n_vectors=2).sample(3) for cells in (15, 31))
    np.testing.assert_allclose(fine.field[:, 1::2, 1::2], coarse.field)
    scaled = [sample.eigenpairs[0] * (cells + 1) ** 2 for sample, cells in ((coarse, 15), (fine, 31))]
    np.testing.assert_allclose(*scaled, rtol=0.1)


@pytest.mark.parametrize("options", [{"dim": 4}, {"n_fields": 3}, {"cells": 1}, {"cells": 2, "n_vectors": 4}])
def test_impossible_sizes_are_refused(options):
    with pytest.raises(InvalidInput):
        FlattopProblem(**options)
