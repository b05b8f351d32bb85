"""Uniform random numbers as arrays: the compiled loop and the Python loop read the same numbers in the same order."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 17
PERIOD = 1 << 128  # of PCG64


class Tape:
    """A block of uniform numbers in [0, 1), drawn ahead from a generator, and a cursor.

    >>> tape = Tape(np.random.default_rng(0))
    >>> tape.need(3)
    >>> tape.uniforms[0] == np.random.default_rng(0).random()
    np.True_
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.uniforms: NDArray[np.float64] = np.empty(0)
        self.cursor: NDArray[np.int64] = np.zeros(1, np.int64)

    def need(self, count: int) -> None:
        """Make sure that ``count`` numbers can be read."""
        at = int(self.cursor[0])
        left = len(self.uniforms) - at
        if left < count:
            unread, room = self.uniforms[at:], max(BLOCK, count + count // 2)
            if len(self.uniforms) < room:  # otherwise reuse the memory: new memory costs as much time as the numbers
                self.uniforms = np.empty(room)
            self.uniforms[:left] = unread
            self.generator.random(out=self.uniforms[left:])
            self.cursor[0] = 0

    def state(self) -> dict[str, Any]:
        """The state of the generator before the unread numbers, for JSON."""
        unread = len(self.uniforms) - int(self.cursor[0])
        bits = np.random.PCG64()
        bits.state = cast(Any, self.generator.bit_generator.state)
        bits.advance(PERIOD - unread)  # each number is one step of the generator, so this goes back
        return cast(dict[str, Any], bits.state)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Tape:
        """A tape that continues from a ``state()``."""
        return cls(generator_from(state))


def generator_from(state: dict[str, Any]) -> np.random.Generator:
    """A NumPy generator in a saved state; only PCG64, NumPy's and Gymnasium's default."""
    if state.get("bit_generator") != "PCG64":
        raise ValueError(f"cannot restore a generator of kind {state.get('bit_generator')!r}; only PCG64 is supported")
    bits = np.random.PCG64()
    bits.state = cast(Any, state)
    return np.random.Generator(bits)
