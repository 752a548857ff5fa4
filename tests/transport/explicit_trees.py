"""What the tests compare with: measures laid on explicit trees, and solvers that know nothing of closed forms."""

import numpy as np
import ot
from scipy.integrate import quad
from scipy.sparse.csgraph import shortest_path

from firstlight.transport.tree_systems import tree_graph

ORDERS = (1, 1.1, 1.5, 2, 3, 10)


def two_clouds(n=9, m=7, d=3, seed=0):
    """Two weighted clouds of different size."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), 1.5 * rng.standard_normal((m, d)) + 0.4
    return X, Y, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


def on_sphere(X):
    """Divide rows by their norms."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def laid_out(trees, tree, X, Y, a, b, delta=2.0):
    """One tree over two clouds: parents, lengths, and the difference of the measures at its vertices."""
    points = np.concatenate([X, Y])
    parent, length = trees.to_tree(points, tree)
    shares = trees.shares(points, tree, delta)
    mass = np.zeros(len(parent))
    mass[1 : 1 + shares.size] = (shares * np.concatenate([a, -b])).ravel()
    return parent, length, mass


def earth_movers_distance(parent, length, mass):
    """Optimal transport with the metric of a tree as cost, by POT's network simplex."""
    metric = shortest_path(tree_graph(parent, length), directed=False)
    source, target = np.maximum(mass, 0), np.maximum(-mass, 0)
    rows, columns = np.flatnonzero(source), np.flatnonzero(target)
    source, target = source[rows], target[columns]
    return ot.emd2(source, target * source.sum() / target.sum(), metric[np.ix_(rows, columns)])


def by_definition(parent, length, mass, p):
    """S_p by the integral that defines it: what lies below a point is counted afresh on every edge, by its path up."""
    n = len(parent)
    below = np.eye(n, dtype=bool)  # below[v, u]: u is v or lies under it
    for vertex in range(n):
        above = parent[vertex]
        while above >= 0:
            below[above, vertex] = True
            above = parent[above]
    total = 0.0
    for vertex in np.flatnonzero(parent >= 0):
        difference = abs(mass[below[vertex]].sum())
        hanging = length[below[vertex]].sum() - length[vertex]
        weight, _ = quad(lambda s, w=hanging: (1 + w + s) ** (1 - p), 0, length[vertex], epsabs=0, epsrel=1e-13)
        total += difference**p * weight
    return total ** (1 / p)


def central_difference(function, array, direction, step=1e-6):
    """Derivative of a function of an array along a direction."""
    return (function(array + step * direction) - function(array - step * direction)) / (2 * step)
