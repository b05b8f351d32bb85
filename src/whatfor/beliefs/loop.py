"""Loop: what is known about a future that goes on without end."""

from __future__ import annotations

from typing import Any, NamedTuple

from whatfor.labels import NEVER_ENDS, NO_RECORDED_END

#: What n trials never showed has a probability of at most 3/n, at 95 % confidence.
RULE_OF_THREE = 3.0
#: With a larger bound, the record is too short to rule out a way out.
MAX_BOUND = 0.5
#: A probability to go on without a recorded end is stated from here on.
MIN_ENDLESS = 0.5


class LoopRecord(NamedTuple):
    """The recorded steps of a loop since a way out of it was last seen."""

    steps: int
    bound: float  # on the probability of a way out, in each step of the loop, at 95 % confidence
    repeats: int  # steps of the whole record that repeated a pair, if all led where it had led before; else 0
    ended: bool = True  # whether any recorded step ended an episode; else going on may be the task

    @property
    def settles_little(self) -> bool:
        """Whether a way out may well have been missed."""
        return not self.repeats and self.bound > MAX_BOUND


class Loop(NamedTuple):
    """Whether a future goes on without end, by what is recorded or by a known table of transitions."""

    never: float = 0.0  # the probability of it, by what was learned or by the table
    exploiting: float = 0.0  # the same by the best actions alone; 0 if it is not known
    record: LoopRecord | None = None  # of the first of these that is stated; None: neither is
    known: bool = False  # whether ``never`` is exact, by a known table of transitions

    @property
    def name(self) -> str:
        """What going on is called among endings.

        >>> Loop(1.0).name, Loop(1.0, known=True).name
        ('no recorded end', 'never ends')
        """
        return NEVER_ENDS if self.known else NO_RECORDED_END

    @property
    def is_the_task(self) -> bool:
        """Whether answers state it, and no recorded episode ended: then there is no end to know about."""
        return self.stated and self.record is not None and not self.record.ended

    @property
    def stated(self) -> bool:
        """Whether answers state it."""
        return max(self.never, self.exploiting) >= MIN_ENDLESS

    def to_json(self) -> dict[str, Any]:
        """The loop as plain data."""
        return self._asdict() | {"record": None if self.record is None else self.record._asdict()}


#: No loop, or none that is known.
NO_LOOP = Loop()
