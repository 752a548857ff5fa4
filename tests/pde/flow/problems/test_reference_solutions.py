"""Right-hand side and solver of every problem against each other, orders of convergence, and what is conserved."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight.errors import InvalidInput
from firstlight.pde.flow.problems import (
    PROBLEMS,
    Burgers,
    DiffusionReaction,
    Kolmogorov,
    KuramotoSivashinsky,
    Lorenz,
    ShallowWater,
)

SMALL = [
    Lorenz(spin_up=1.0),
    Burgers(points=64, dt=2e-4),
    DiffusionReaction(points=16, rtol=1e-9),
    ShallowWater(points=16, courant=0.02),
    KuramotoSivashinsky(points=32),
    Kolmogorov(points=16, spin_up=1.0),
]


def distance(found, true):
    return np.linalg.norm(found - true) / np.linalg.norm(true)


@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name)
def test_solution_moves_with_the_right_hand_side(problem):
    u = problem.initial_states(2, np.random.default_rng(1))
    middle, h = problem.times[len(problem.times) // 2], 0.02 * np.diff(problem.times)[0]
    far_back, back, now, ahead, far_ahead = problem.solve(u, middle + h * np.arange(-2, 3)).swapaxes(0, 1)
    slope = (far_back - 8 * back + 8 * ahead - far_ahead) / (12 * h)
    assert distance(slope, problem.right_hand_side(now)) < 1e-4


@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name)
def test_grid_channels_and_frames_are_those_of_the_states(problem):
    u = problem.initial_states(2, np.random.default_rng(0))
    assert u.shape == (2, len(problem.channels), *map(len, problem.grid.values()))
    assert problem.solve(u, problem.times[:3]).shape == (2, 3, *u.shape[1:])
    assert PROBLEMS[problem.name] is type(problem)


def test_lorenz_agrees_with_scipy():
    problem = Lorenz(spin_up=1.0)
    u = problem.initial_states(1, np.random.default_rng(0))
    scipy = solve_ivp(
        lambda _, y: [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]],
        (0, 2),
        u[0],
        t_eval=problem.times,
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    assert distance(problem.solve(u)[0], scipy.y.T) < 1e-7


@pytest.mark.parametrize(
    ("problem", "steps", "time"),
    [
        (Burgers(points=64), (1 / 50, 1 / 100), 0.6),
        (KuramotoSivashinsky(), (0.025, 0.0125), 1.0),
        (Kolmogorov(points=32, spin_up=4.0), (0.08, 0.04), 0.8),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_exponential_steps_are_of_fourth_order(problem, steps, time):
    u = problem.initial_states(2, np.random.default_rng(0))
    end = np.array([time])
    true = replace(problem, dt=steps[1] / 8).solve(u, end)
    coarse, fine = (distance(replace(problem, dt=dt).solve(u, end), true) for dt in steps)
    assert 3.3 < np.log2(coarse / fine) < 4.6  # stiff terms hold the order a little under 4 at these steps


def test_burgers_is_resolved_in_space():
    problem = Burgers(points=128)
    u = problem.initial_states(4, np.random.default_rng(0))
    finer = 2 * np.fft.irfft(np.fft.rfft(u), 256)
    end = np.array([1.0])
    assert distance(problem.solve(u, end), Burgers(points=256).solve(finer, end)[..., ::2]) < 1e-8


def test_burgers_agrees_with_the_formula_of_cole_and_hopf():
    nu, t, points = 0.02, 0.5, 128
    problem = Burgers(points=points, viscosity=nu)
    x = problem.grid["x"]
    u = 0.4 * np.sin(2 * np.pi * x)
    # u = -2ν φ_x / φ, where φ obeys the heat equation and begins as exp(-∫u / 2ν).
    phi = np.fft.rfft(np.exp(0.4 * (np.cos(2 * np.pi * x) - 1) / (4 * np.pi * nu)))
    waves = 2 * np.pi * np.arange(points // 2 + 1)
    phi = phi * np.exp(-nu * waves**2 * t)
    exact = -2 * nu * np.fft.irfft(1j * waves * phi, points) / np.fft.irfft(phi, points)
    assert distance(problem.solve(u[None, None], np.array([t]))[0, 0, 0], exact) < 1e-9


def test_burgers_keeps_its_mean():
    problem = Burgers(points=64)
    u = 0.3 + problem.initial_states(3, np.random.default_rng(0))
    assert np.ptp(problem.solve(u).mean(axis=-1), axis=1).max() < 1e-13


def test_kolmogorov_keeps_the_laminar_flow_when_it_is_stable():
    # sin(ky) drives the velocity (Re / k²) sin(ky), whose vorticity is -(Re / k) cos(ky); stable at Re = 1.
    problem = Kolmogorov(points=32, reynolds=1.0)
    y = problem.grid["y"]
    laminar = np.broadcast_to(-(1 / 4) * np.cos(4 * y), (1, 1, 32, 32)).copy()
    assert np.abs(problem.right_hand_side(laminar)).max() < 1e-12
    disturbed = laminar + 0.01 * problem.initial_states(1, np.random.default_rng(0))
    assert distance(problem.solve(disturbed, np.array([4.0]))[:, 0], laminar) < 2e-2


def test_kolmogorov_velocity_has_the_vorticity_and_no_divergence():
    problem = Kolmogorov(points=32, spin_up=1.0)
    u = problem.initial_states(1, np.random.default_rng(0))
    velocity = np.fft.fft2(problem.velocity(u))[0]
    k = np.fft.fftfreq(32, 1 / 32)
    kx, ky = k[:, None], k[None, :]
    assert np.abs(np.fft.ifft2(1j * kx * velocity[1] - 1j * ky * velocity[0]).real - u[0, 0]).max() < 1e-9
    assert np.abs(np.fft.ifft2(kx * velocity[0] + ky * velocity[1])).max() < 1e-9


def test_diffusion_moves_no_substance_and_decays_as_the_cosine_does():
    n = 32
    problem = DiffusionReaction(points=n, k=0.0)
    x = problem.grid["x"]
    mode = np.cos(np.pi * (x + 1) / 2 * 3)  # no flux at the walls
    u = np.zeros((1, 2, n, n))
    u[0, 1] = 1e-6 * mode[:, None]
    rate = -5e-3 * (2 * n / 2 * np.sin(3 * np.pi / (2 * n))) ** 2  # of the second difference
    np.testing.assert_allclose(problem.right_hand_side(u)[0, 1], (rate - 1) * u[0, 1], atol=1e-20)
    noise = problem.initial_states(1, np.random.default_rng(0))
    reaction = replace(problem, diffusion=(0.0, 0.0)).right_hand_side(noise)
    assert np.abs((problem.right_hand_side(noise) - reaction).sum(axis=(2, 3))).max() < 1e-11


def test_diffusion_reaction_converges_with_its_tolerance():
    problem = DiffusionReaction(points=16)
    u = problem.initial_states(1, np.random.default_rng(0))
    assert distance(problem.solve(u), replace(problem, rtol=1e-10).solve(u)) < 1e-5


def test_shallow_water_keeps_mass_and_a_lake_at_rest():
    problem = ShallowWater(points=32)
    u = problem.solve(problem.initial_states(2, np.random.default_rng(0)))
    mass = u[:, :, 0].sum(axis=(2, 3))
    assert np.abs(mass / mass[:, :1] - 1).max() < 1e-13
    lake = np.zeros((1, 3, 16, 16))
    lake[:, 0] = 1.7
    assert np.abs(ShallowWater(points=16).right_hand_side(lake)).max() == 0


def test_shallow_water_treats_both_directions_alike():
    problem = ShallowWater(points=16)
    u = problem.initial_states(1, np.random.default_rng(0))
    u[0, 1:] = np.random.default_rng(1).normal(size=(2, 16, 16))
    turned = problem.right_hand_side(u.swapaxes(2, 3)[:, [0, 2, 1]])
    np.testing.assert_allclose(turned.swapaxes(2, 3)[:, [0, 2, 1]], problem.right_hand_side(u), atol=1e-12)


def test_shallow_water_meets_the_exact_dam_break():
    """Stoker's solution on a line: a rarefaction, a plateau, a shock; error falls with the grid as first order does."""
    h_left, h_right, t = 2.0, 1.0, 0.6
    errors = [np.abs(dam_break(n, t) - stoker(n, h_left, h_right, t)).mean() for n in (64, 128)]
    assert errors[1] < 0.01
    assert 0.7 < np.log2(errors[0] / errors[1]) < 1.3


def dam_break(n, t):
    u = np.zeros((1, 3, n, n))
    u[0, 0] = np.where(np.arange(n) < n // 2, 2.0, 1.0)[:, None]
    return ShallowWater(points=n).solve(u, np.array([t]))[0, 0, 0, :, n // 2]


def stoker(n, h_left, h_right, t):
    """Depth where one side of the dam was deeper; the plateau h solves the jump and the invariant for one velocity."""
    plateaus = np.linspace(h_right, h_left, 200_001)[1:-1]
    invariant = 2 * (np.sqrt(h_left) - np.sqrt(plateaus))
    jump = (plateaus - h_right) * np.sqrt((plateaus + h_right) / (2 * plateaus * h_right))
    place = np.abs(invariant - jump).argmin()
    h, v = plateaus[place], invariant[place]
    shock = h * v / (h - h_right)
    x = ShallowWater(points=n).grid["x"] / t
    fan = (2 * np.sqrt(h_left) - x) ** 2 / 9
    return np.select([x < -np.sqrt(h_left), x < v - np.sqrt(h), x < shock], [h_left, fan, h], h_right)


def test_shallow_water_converges_in_time():
    problem = ShallowWater(points=32)
    u = problem.initial_states(1, np.random.default_rng(0))
    assert distance(problem.solve(u), replace(problem, courant=0.02).solve(u)) < 5e-4


@pytest.mark.parametrize("times", [[0.0, 0.1, 0.1], [-0.1, 0.1], []])
def test_times_that_do_not_increase_are_refused(times):
    problem = Burgers(points=32)
    with pytest.raises(InvalidInput, match="increase"):
        problem.solve(problem.initial_states(1, np.random.default_rng(0)), np.array(times))


def test_states_of_another_grid_are_refused():
    with pytest.raises(InvalidInput, match=r"shape \(1, 64\)"):
        Burgers(points=64).solve(np.zeros((1, 1, 32)))
