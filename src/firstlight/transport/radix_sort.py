"""Sorting by digits: the floor of every sliced distance is its sorts.

Single-precision keys and their places are packed into 64-bit words and sorted digit by digit, which takes linear time
and reads memory in order. Double-precision keys are sorted as their single-precision roundings first; then neighbours
that the rounding made equal are put right.
"""

import numpy as np
from jaxtyping import Float32, Float64, Int32, UInt64

from firstlight.compiled import compiled

FEW = 1500  # fewer keys are sorted by four digits of 8 bits, whose counts cost less; more by three of 11
LONGEST_TIE = 32  # neighbours equal in single precision that insertion may put right; above, compare


@compiled
def argsort_floats(
    keys: Float32[np.ndarray, " n"] | Float64[np.ndarray, " n"],
    words: UInt64[np.ndarray, " n"],
    spare: UInt64[np.ndarray, " n"],
    order: Int32[np.ndarray, " n"],
) -> None:
    """Fill `order` with the places that sort finite keys.

    Parameters
    ----------
    keys : the numbers to sort; not changed.
    words, spare : room to work in.
    order : receives the places.
    """
    n = len(keys)
    # Rounding is monotone, so it never turns an order round; it only makes neighbours equal.
    pattern = keys.astype(np.float32).view(np.uint32)
    n_digits, bits_each = (4, 8) if n < FEW else (3, 11)
    mask = np.uint64((1 << bits_each) - 1)
    counts = np.zeros((n_digits, 1 << bits_each), np.int32)
    for k in range(n):
        # Positive floats sort like their bits, negative ones against them.
        bits = np.uint64(pattern[k] ^ (np.uint32(0xFFFFFFFF) if pattern[k] >> 31 else np.uint32(0x80000000)))
        words[k] = (bits << np.uint64(32)) | np.uint64(k)
        for digit in range(n_digits):
            counts[digit, (bits >> np.uint64(digit * bits_each)) & mask] += 1
    source, target = words, spare
    for digit in range(n_digits):
        total = 0
        for value in range(counts.shape[1]):
            counts[digit, value], total = total, total + counts[digit, value]
        shift = np.uint64(32 + digit * bits_each)
        for k in range(n):
            value = (source[k] >> shift) & mask
            target[counts[digit, value]] = source[k]
            counts[digit, value] += 1
        source, target = target, source
    for k in range(n):
        order[k] = source[k] & np.uint64(0xFFFFFFFF)
    if keys.itemsize > 4:
        _settle_ties(keys, order)


@compiled
def _settle_ties(keys: Float64[np.ndarray, " n"], order: Int32[np.ndarray, " n"]) -> None:
    """Finish an order in which only neighbours that are nearly equal may be out of place, by insertion."""
    for k in range(1, len(order)):
        place = order[k]
        hole = k
        while hole > 0 and keys[order[hole - 1]] > keys[place]:
            order[hole] = order[hole - 1]
            hole -= 1
            if k - hole > LONGEST_TIE:
                order[:] = np.argsort(keys)
                return
        order[hole] = place
