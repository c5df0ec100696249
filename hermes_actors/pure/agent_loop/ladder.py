"""What to try, rung by rung, when the model answers nothing at all."""

from __future__ import annotations

import msgspec

from hermes_actors.pure.agent_loop.limits import LoopLimits
from hermes_actors.pure.agent_loop.words import ANSWER_NOW, THOUGHT_ONLY


class Rung(msgspec.Struct, frozen=True):
    """Ask once more, with a note or of another provider."""

    note: str = ""
    fallback: bool = False


class EmptyLadder:
    """Goes up with every empty answer and starts again at the bottom after a good one.

    One reminder after tools, two if there were thoughts, three plain tries, one with another
    provider; then there is no rung left.
    """

    def __init__(self, limits: LoopLimits) -> None:
        self._limits = limits
        self.reset()

    def reset(self) -> None:
        """The model has answered something."""
        self._reminded = self._asked_elsewhere = False
        self._thoughts = self._plain = 0

    def next(self, *, after_tools: bool, thought: bool) -> Rung | None:
        """The next rung; None: give up."""
        if after_tools and not self._reminded:
            self._reminded = True
            return Rung(ANSWER_NOW)
        if thought and self._thoughts < self._limits.thoughts_only:
            self._thoughts += 1
            return Rung(THOUGHT_ONLY)
        if self._plain < self._limits.empty_replies:
            self._plain += 1
            return Rung()
        if not self._asked_elsewhere:
            self._asked_elsewhere = True
            return Rung(fallback=True)
        return None
