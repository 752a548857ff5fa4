"""The fractions behind floating-point numbers.

Programs that compute exactly want 1/3, not 0.333…; both functions return fractions that round to the given
float64 numbers bit by bit.
"""

from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter


@lru_cache(maxsize=2**16)
def simple_fraction(number: float) -> Fraction:
    """Return a fraction with a small denominator that rounds to `number`.

    Every float64 is itself a fraction, over a power of two; a simpler one is most likely what was meant.
    """
    exact = Fraction(number)
    for largest in (10**3, 10**6, 10**9, 10**12):
        simple = exact.limit_denominator(largest)
        if float(simple) == number:
            return simple
    return exact


@lru_cache(maxsize=2**12)
def exact_distribution(probabilities: tuple[float, ...]) -> tuple[Fraction, ...]:
    """Return fractions that sum to exactly one and round to the given probabilities.

    Where no such fractions exist, because the numbers miss one by more than their last bits, all are divided by
    their sum. Zero stays zero.
    """
    simple = tuple(simple_fraction(probability) for probability in probabilities)
    if _sum_to_one(simple):
        return simple
    # Over powers of two the sum stays cheap. What is missing to one is shared out in proportion to how far each
    # number may move before it rounds to its neighbour.
    exact = [Fraction(probability) for probability in probabilities]
    missing = 1 - sum(exact, start=Fraction(0))
    towards = inf if missing > 0 else -inf
    rooms = [abs(Fraction(nextafter(p, towards)) - Fraction(p)) / 2 if p > 0 else Fraction(0) for p in probabilities]
    if abs(missing) < sum(rooms):
        share = missing / sum(rooms)
        return tuple(value + share * room for value, room in zip(exact, rooms, strict=True))
    return tuple(value / (1 - missing) for value in exact)


def _sum_to_one(fractions: tuple[Fraction, ...]) -> bool:
    total = Fraction(0)
    for fraction in fractions:
        total += fraction
        # Denominators without common factors multiply up; no deal of cards gets here.
        if total.denominator > 10**18:
            return False
    return total == 1
