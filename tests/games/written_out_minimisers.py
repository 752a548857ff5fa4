"""The minimisers once more, written as their papers' formulas in plain NumPy, for comparison."""

import numpy as np
from scipy.optimize import brentq


def simplex(point, radius=1.0):
    """Project onto radius·Δ by sorting (Held, Wolfe, Crowder 1974)."""
    falling = np.sort(point)[::-1]
    levels = (np.cumsum(falling) - radius) / np.arange(1, len(point) + 1)
    return np.maximum(point - levels[falling > levels][-1], 0.0)


def domain(point, radius):
    """Project onto {u ≥ 0, ‖u‖₁ ≥ radius}."""
    positive = np.maximum(point, 0.0)
    return positive if positive.sum() >= radius else simplex(point, radius)


def normalised(theta):
    return theta / theta.sum() if theta.sum() > 0 else np.full(len(theta), 1 / len(theta))


def regrets(loss, strategy):
    return loss @ strategy - loss


def smooth(losses, *, eta, R, predicts=True):
    """RM+ (R = 0 without prediction), PRM+ (R = 0) and SPRM+."""
    n = losses.shape[1]
    theta_hat, F = np.full(n, R / n), np.zeros(n)
    for loss in losses:
        x = normalised(domain(theta_hat + eta * F * predicts, R))
        yield x
        F = regrets(loss, x)
        theta_hat = domain(theta_hat + eta * F, R)


def corrected(losses, *, eta, R):
    """SOGRM+."""
    n = losses.shape[1]
    theta_hat, F = np.full(n, R / n), np.zeros(n)
    for loss in losses:
        theta = domain(theta_hat + eta * F, R)
        x = normalised(theta)
        yield x
        F, previous = regrets(loss, x), F
        theta_hat = theta - eta * previous + eta * F


def raised(point, norm):
    """[point + γ]₊ with the smallest γ ≥ 0 that makes its 2-norm at least `norm`."""
    if np.linalg.norm(np.maximum(point, 0.0)) >= norm:
        return np.maximum(point, 0.0)
    gamma = brentq(
        lambda g: np.linalg.norm(np.maximum(point + g, 0.0)) - norm,
        -point.max(),
        norm - point.min(),
        xtol=1e-15 * norm,
        rtol=8.9e-16,
    )
    return np.maximum(point + gamma, 0.0)


def rising(losses):
    """IREG-PRM+ as we read it."""
    theta_hat = F = np.zeros(losses.shape[1])
    for loss in losses:
        x = normalised(raised(theta_hat + F, np.linalg.norm(theta_hat)))
        yield x
        F = regrets(loss, x)
        theta_hat = raised(theta_hat + F, np.linalg.norm(theta_hat))


def descent(losses, *, eta):
    """OGDA."""
    z = np.full(losses.shape[1], 1 / losses.shape[1])
    previous = np.zeros_like(z)
    for loss in losses:
        yield simplex(z - eta * previous)
        z, previous = simplex(z - eta * loss), loss


def weights(losses, *, eta):
    """OMWU."""
    for t in range(len(losses)):
        predicted = losses[:t].sum(axis=0) + (losses[t - 1] if t else 0.0)
        w = np.exp(-eta * (predicted - np.min(predicted))) * np.ones(losses.shape[1])
        yield w / w.sum()


def stabilised(losses):
    """DS-OptMD; its centre minimises two weighted squared distances and a linear term, so is one projection."""
    n = losses.shape[1]
    centre = z = np.full(n, 1 / n)
    previous, variation = np.zeros(n), 0.0
    for loss in losses:
        now = np.sqrt(1 + variation)
        yield simplex(z - previous / now)
        variation += np.sum((loss - previous) ** 2)
        later = np.sqrt(1 + variation)
        z = simplex((now * z + (later - now) * centre - loss) / later)
        previous = loss


def monotone(A, rounds, next_radius, radius):
    """MI-SPRM+ in self-play on A; yields both strategies and R of each round.

    `next_radius` maps R, the number of growths so far and the criterion to the next R.
    """
    sides = [{"theta_hat": np.full(n, radius / n), "theta": np.full(n, radius / n), "F": np.zeros(n)} for n in A.shape]
    growths = 0
    for _ in range(rounds):
        for side in sides:
            side["before"], side["theta"] = side["theta"], domain(side["theta_hat"] + side["F"], radius)
        x, y = (normalised(side["theta"]) for side in sides)
        yield x, y, radius
        criterion = 0.0
        for side, loss, strategy in zip(sides, (A @ y, -A.T @ x), (x, y), strict=True):
            F = regrets(loss, strategy)
            criterion += np.sum((F - side["F"]) ** 2)
            criterion -= np.sum((side["theta_hat"] - side["before"]) ** 2) / 4
            criterion -= np.sum((side["theta_hat"] - side["theta"]) ** 2) / 4
            side["F"], side["theta_hat"] = F, domain(side["theta_hat"] + F, radius)
        if criterion > 0:
            growths += 1
            radius = next_radius(radius, growths, criterion)
