"""Domains that several tests use."""

import numpy as np
from skfem import MeshTri

from firstlight.pde.schwarz.shapes import Shape


def square(size: float = 0.08) -> MeshTri:
    """The unit square, its boundary named by sides."""
    mesh = Shape({"outer": np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])}).mesh(size)
    sides = {
        "left": lambda x: np.isclose(x[0], 0),
        "right": lambda x: np.isclose(x[0], 1),
        "bottom": lambda x: np.isclose(x[1], 0),
        "top": lambda x: np.isclose(x[1], 1),
    }
    return mesh.with_boundaries(sides)


def ring(size: float = 0.1) -> MeshTri:
    """A disk of radius 1 with a hole of radius 0.4 that is not in its middle."""
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    circle = np.c_[np.cos(angles), np.sin(angles)]
    return Shape({"outer": circle, "hole": 0.4 * circle + [0.2, 0.1]}).mesh(size)


def linear(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A harmonic function that linear elements reproduce."""
    return 1 + 2 * x - 3 * y
