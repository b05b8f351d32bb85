"""Uniform numbers as data: the compiled loop and the Python loop read the same ones in the same order."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 17
PERIOD = 1 << 128  # of PCG64


class Tape:
    """A block of uniforms in [0, 1), drawn ahead from a generator, and where the reader stands in it.

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
        """Make sure that so many numbers can be read."""
        at = int(self.cursor[0])
        left = len(self.uniforms) - at
        if left < count:
            unread, room = self.uniforms[at:], max(BLOCK, count + count // 2)
            if len(self.uniforms) < room:  # else in the memory it has: fresh memory costs as much as the numbers
                self.uniforms = np.empty(room)
            self.uniforms[:left] = unread
            self.generator.random(out=self.uniforms[left:])
            self.cursor[0] = 0

    def state(self) -> dict[str, Any]:
        """The generator as it was before the numbers that nobody has read yet, as JSON can hold it."""
        unread = len(self.uniforms) - int(self.cursor[0])
        bits = np.random.PCG64()
        bits.state = cast(Any, self.generator.bit_generator.state)
        bits.advance(PERIOD - unread)  # one step of the generator a number, so this is backwards
        return cast(dict[str, Any], bits.state)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Tape:
        """A tape that goes on where ``state()`` was taken."""
        return cls(generator_from(state))


def generator_from(state: dict[str, Any]) -> np.random.Generator:
    """A NumPy generator in a saved state; only PCG64, NumPy's and Gymnasium's default."""
    if state.get("bit_generator") != "PCG64":
        raise ValueError(f"cannot go on from a generator of kind {state.get('bit_generator')!r}; only PCG64 is known")
    bits = np.random.PCG64()
    bits.state = cast(Any, state)
    return np.random.Generator(bits)
