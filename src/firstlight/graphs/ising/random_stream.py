"""Random numbers inside compiled loops: xoshiro256++ (Blackman & Vigna 2021), a few instructions each.

A stream is its state, four 64-bit words that each draw changes. It depends on no library, so that a seed gives the same
spins wherever and whenever it is used.
"""

import numpy as np
from jaxtyping import UInt64

from firstlight.compiled import compiled


def random_stream(seed: np.random.SeedSequence | int) -> UInt64[np.ndarray, " 4"]:
    """Return the state of a stream; streams of spawned seeds are independent."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return sequence.generate_state(4, np.uint64)


@compiled
def next_word(state: UInt64[np.ndarray, " 4"]) -> int:
    """Draw 64 random bits."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    total = a + d
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
    c ^= a
    d ^= b
    state[1] = b ^ c
    state[0] = a ^ d
    state[2] = c ^ (b << np.uint64(17))
    state[3] = (d << np.uint64(45)) | (d >> np.uint64(19))
    return word


@compiled
def next_uniform(state: UInt64[np.ndarray, " 4"]) -> float:
    """Draw evenly from [0, 1), in steps of 2⁻⁵³."""
    return (next_word(state) >> np.uint64(11)) * 2.0**-53
