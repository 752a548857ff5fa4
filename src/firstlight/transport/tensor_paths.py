"""Trees of lines and rays solved by tensor operations, many at a time: the kernels' mathematics for other devices.

On a path every sum over what lies below or above a vertex is a cumulative sum of sorted entries. For the formulas see
`tree_passes` and `line_trees`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from firstlight.transport.tree_passes import NO_MASS, SHORT

ENTRIES_AT_ONCE = 1 << 21  # entries of an array, by which trees are gathered into chunks


def density(below: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """ŵ^{1-p} at points with length `below` under them."""
    return (1 + below) ** (1 - p)


def edge_weight(below: Float[Tensor, "..."], length: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """β of edges, without cancellation; see `tree_passes.edge_weight`."""
    if p == 1:
        return length
    z = length / (1 + below)
    last = 1 - (p + 1) * z / 4 * (1 - (p + 2) * z / 5)
    series = 1 + (1 - p) * z / 2 * (1 - p * z / 3 * last)
    logarithm = torch.log1p(z)
    closed = (logarithm if p == 2 else torch.expm1((2 - p) * logarithm) / (2 - p)) / z
    return length * density(below, p) * torch.where(z < SHORT, series, closed)


def steepness(difference: Float[Tensor, "..."], weight: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Derivative of β |D|^p by D; 0 where D is 0 up to rounding."""
    size = difference.abs()
    return torch.where(size < NO_MASS, 0, difference.sign() * p * size ** (p - 1) * weight)


class LineTrees:
    """The trees of a batch of lines, an entry per line and point, from left to right.

    Parameters
    ----------
    coordinate : signed distances from the root.
    mass : mass of each point.
    hanging : length that hangs on each point besides what lies farther out on its line.
    p : order of the distance.

    Attributes
    ----------
    values : S_p^p of each line.
    total_mass, total_length : of each line, with what hangs on it.
    """

    def __init__(
        self,
        coordinate: Float[Tensor, "lines points"],
        mass: Float[Tensor, "lines points"],
        hanging: Float[Tensor, "lines points"] | None,
        p: float,
    ) -> None:
        at, self.order = torch.sort(coordinate, dim=1)
        at = at.to(mass.dtype)
        self.right, self.p = at >= 0, p
        inner_right = torch.nn.functional.pad(at[:, :-1], (1, 0)).clamp(min=0)
        inner_left = torch.nn.functional.pad(at[:, 1:], (0, 1)).clamp(max=0)
        self.length = torch.where(self.right, at - inner_right, inner_left - at)
        self.below = torch.where(self.right, at[:, -1:] - at, at - at[:, :1])
        self.total_mass = mass.sum(dim=1)
        self.total_length = at[:, -1].clamp(min=0) - at[:, 0].clamp(max=0)
        if hanging is not None:
            self.below += self._outwards(hanging.gather(1, self.order))
            self.total_length += hanging.sum(dim=1)
        self.difference = self._outwards(mass.gather(1, self.order))
        self.weight = edge_weight(self.below, self.length, p)
        self.raised = self.difference.abs() ** p
        self.values = (self.raised * self.weight).sum(dim=1)

    def derivatives(
        self, potential: Float[Tensor, "lines 1"] | float = 0.0, stretch: Float[Tensor, "lines 1"] | float = 0.0
    ) -> tuple[Float[Tensor, "lines points"], Float[Tensor, "lines points"], Float[Tensor, "lines points"]]:
        """Derivatives of S_p^p by mass, coordinate and hanging length, given the first and last at the root."""
        far = density(self.below + self.length, self.p)
        gain = self.raised * (far - density(self.below, self.p))
        potential = potential + self._inwards(steepness(self.difference, self.weight, self.p))
        stretch = stretch + self._inwards(gain)
        tension = self.raised * far + stretch - gain
        pad = torch.nn.functional.pad
        beyond_right = pad(tension[:, 1:], (0, 1))
        beyond_left = pad((tension * ~self.right)[:, :-1], (1, 0))
        slope = torch.where(self.right, tension - beyond_right, beyond_left - tension)
        return self._unsorted(potential), self._unsorted(slope), self._unsorted(stretch)

    def _unsorted(self, parts: Float[Tensor, "lines points"]) -> Float[Tensor, "lines points"]:
        """Put entries back into the order of the points."""
        return torch.zeros_like(parts).scatter_(1, self.order, parts)

    def _outwards(self, parts: Float[Tensor, "lines points"]) -> Float[Tensor, "lines points"]:
        """Sum from each vertex to the end of its side."""
        return torch.where(self.right, reverse_cumsum(parts), (parts * ~self.right).cumsum(dim=1))

    def _inwards(self, parts: Float[Tensor, "lines points"]) -> Float[Tensor, "lines points"]:
        """Sum from the root to each vertex."""
        return torch.where(self.right, (parts * self.right).cumsum(dim=1), reverse_cumsum(parts * ~self.right))


class ConcurrentLines:
    """Trees of lines that all meet at the root; `values` holds S_p^p of each tree."""

    def __init__(
        self, coordinate: Float[Tensor, "trees lines points"], mass: Float[Tensor, "trees lines points"], p: float
    ) -> None:
        self._shape = mass.shape
        self._lines = LineTrees(coordinate.flatten(0, 1), mass.flatten(0, 1), None, p)
        self.values = self._lines.values.view(self._shape[:2]).sum(dim=1)

    def derivatives(self) -> tuple[Float[Tensor, "trees lines points"], Float[Tensor, "trees lines points"]]:
        """Return the derivatives of S_p^p by masses and coordinates."""
        potential, slope, _ = self._lines.derivatives()
        return potential.view(self._shape), slope.view(self._shape)


class ChainedLines:
    """Trees in which each line starts at the joint of the line before; `values` holds S_p^p of each tree."""

    def __init__(
        self,
        coordinate: Float[Tensor, "trees lines points"],
        mass: Float[Tensor, "trees lines points"],
        joints: Float[Tensor, "trees lines_less_one"],
        p: float,
    ) -> None:
        n_trees, n_lines, n_points = mass.shape
        hanging_mass, hanging_length = mass.new_zeros(n_trees), mass.new_zeros(n_trees)
        joints = torch.nn.functional.pad(joints, (0, 1))  # nothing hangs on the last line, at its start
        lines = []
        for k in reversed(range(n_lines)):
            # The joint is one point more, with everything below it.
            places = torch.cat([coordinate[:, k], joints[:, k, None].to(coordinate)], dim=1)
            weighed = torch.cat([mass[:, k], hanging_mass[:, None]], dim=1)
            hanging = torch.nn.functional.pad(hanging_length[:, None], (n_points, 0))
            lines.append(LineTrees(places, weighed, hanging, p))
            hanging_mass, hanging_length = lines[-1].total_mass, lines[-1].total_length
        self._lines = lines[::-1]
        self.values = torch.stack([line.values for line in lines]).sum(dim=0)

    def derivatives(self) -> tuple[Float[Tensor, "trees lines points"], Float[Tensor, "trees lines points"]]:
        """Return the derivatives of S_p^p by masses and coordinates."""
        potential, stretch = (torch.zeros_like(self.values)[:, None] for _ in range(2))
        potentials, slopes = [], []
        for line in self._lines:
            by_mass, by_coordinate, by_hanging = line.derivatives(potential, stretch)
            potentials.append(by_mass[:, :-1])
            slopes.append(by_coordinate[:, :-1])
            potential, stretch = by_mass[:, -1:], by_hanging[:, -1:]
        return torch.stack(potentials, dim=1), torch.stack(slopes, dim=1)


class RayTrees:
    """The rays of a batch of trees, which share the angles of their points.

    Parameters
    ----------
    angle : distance of each point from the root.
    mass : mass of each point on each ray.
    p : order of the distance.

    Attributes
    ----------
    values : S_p^p of each tree.
    """

    def __init__(
        self, angle: Float[Tensor, "trees points"], mass: Float[Tensor, "trees rays points"], p: float
    ) -> None:
        at, order = torch.sort(angle, dim=1)
        at = at.to(mass.dtype)
        self.order, self.p = order, p
        self.length = torch.diff(at, dim=1, prepend=torch.zeros_like(at[:, :1]))
        self.below = at[:, -1:] - at
        self.weight = edge_weight(self.below, self.length, p)
        self.difference = reverse_cumsum(mass.gather(2, order[:, None].expand(mass.shape)))
        self.raised = (self.difference.abs() ** p).sum(dim=1)
        self.values = (self.raised * self.weight).sum(dim=1)

    def derivatives(self) -> tuple[Float[Tensor, "trees rays points"], Float[Tensor, "trees points"]]:
        """Derivatives of S_p^p by mass and by the common angle."""
        here, far = density(self.below, self.p), density(self.below + self.length, self.p)
        slope = here * (self.raised - torch.nn.functional.pad(self.raised[:, 1:], (0, 1)))
        # Moving the farthest point lengthens what is below every edge.
        slope[:, -1] += (self.raised * (far - here)).sum(dim=1)
        potential = steepness(self.difference, self.weight[:, None], self.p).cumsum(dim=2)
        order: Int[Tensor, "trees rays points"] = self.order[:, None].expand(potential.shape)
        return (
            torch.zeros_like(potential).scatter_(2, order, potential),
            torch.zeros_like(slope).scatter_(1, self.order, slope),
        )


def reverse_cumsum(parts: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Sums over the last axis from each entry to the end."""
    return parts.flip(-1).cumsum(dim=-1).flip(-1)
