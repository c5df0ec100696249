"""The state of one run, and the three things that can come next: ask, make room, or end.

Every question to the model passes `ask`, so no way round can forget a limit: first the tokens, then
the number of calls, then the length of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from hermes_actors.pure.agent_loop import words
from hermes_actors.pure.agent_loop.conversation import Conversation
from hermes_actors.pure.agent_loop.events import AskModel, Compact, Effect, End, Origin, Say, Warn
from hermes_actors.pure.agent_loop.limits import LoopLimits
from hermes_actors.pure.compaction.size import estimate
from hermes_actors.pure.endings import Reason, ending
from hermes_actors.pure.prices import added
from hermes_actors.values import AssistantMessage, Message, Usage


class Phase(Enum):
    """Where a run is."""

    READY = "ready"
    THINKING = "thinking"
    ACTING = "acting"
    COMPACTING = "compacting"
    WRAPPING = "wrapping up"
    ENDED = "ended"


class Ask(msgspec.Struct, frozen=True):
    """How the model is asked: with a note, with more room for its answer, or somewhere else."""

    note: str = ""
    boost: int = 0
    fallback: bool = False


class Run:
    """One run between its first question and its end."""

    def __init__(self, history: Sequence[Message], limits: LoopLimits) -> None:
        self.phase = Phase.READY
        self.limits = limits
        self.talk = Conversation(history)
        self.usage = Usage()
        self.iterations = self.compactions = self.wrap_ups = 0
        self.steers: list[str] = []
        self.overflowed = False
        self._may_compact = True
        self._wanted = Ask()
        self._measured = 0, 0

    @property
    def tokens(self) -> int:
        """All that the model has read and written in this run."""
        return self.usage.input + self.usage.output

    @property
    def can_compact(self) -> bool:
        """Is there still hope to make the history smaller?"""
        return self._may_compact and self.compactions < self.limits.compactions

    def count(self, usage: Usage) -> None:
        """Remember what an answer has cost; its prompt is the best measure of the history."""
        self.usage = added(self.usage, usage)
        if usage.input:
            self._measured = usage.input, len(self.talk.history)

    def ask(self, wanted: Ask) -> list[Effect]:
        """The next question, or what a limit puts in its place."""
        limit = self.limits.tokens_per_run
        if limit is not None and self.tokens >= limit:
            return self.finish(
                "budget", words.BUDGET.format(used=self.tokens, limit=limit), "limit"
            )
        if self.iterations >= self.limits.max_iterations:
            return self.wrap_up()
        if self.can_compact and self._too_long():
            return self.compact(wanted)
        self.iterations += 1
        self.phase = Phase.THINKING
        room = self.limits.boosted(wanted.boost)
        return [AskModel(self.talk.shown(wanted.note), True, room, wanted.fallback)]

    def wrap_up(self) -> list[Effect]:
        """One last question, without tools."""
        self.phase = Phase.WRAPPING
        self.wrap_ups += 1
        return [AskModel(self.talk.shown(words.WRAP_UP), tools=False)]

    def compact(self, wanted: Ask, *, overflowed: bool = False) -> list[Effect]:
        """Make room first; what was wanted comes after."""
        self.phase, self._wanted, self.overflowed = Phase.COMPACTING, wanted, overflowed
        return [Compact(tuple(self.talk.history))]

    def compacted(self, history: Sequence[Message]) -> list[Effect]:
        """There is room again."""
        self.compactions += 1
        self.talk.history, self._measured = list(history), (0, 0)
        return self.ask(self._wanted)

    def not_compacted(self, why: str) -> list[Effect]:
        """There is no room to be had: go on without, unless the model has already refused."""
        self._may_compact = False
        warning = Warn(
            "compaction_refused", f"The history could not be made smaller. {why}".strip()
        )
        if self.overflowed:
            return [warning, *self.finish("provider", words.CONTEXT_FULL, "provider")]
        return [warning, *self.ask(self._wanted)]

    def finish(self, reason: Reason, said: str, origin: Origin) -> list[Effect]:
        """End with words of our own, behind whatever the model has said."""
        text = "\n\n".join(filter(None, (self.talk.whole(), said)))
        kept = self.talk.keep(AssistantMessage(text))
        return [kept, Say(said, origin), self.end(reason, text)]

    def end(self, reason: Reason, text: str) -> End:
        """It is over."""
        self.phase = Phase.ENDED
        return End(ending(reason), text, tuple(self.steers))

    def _too_long(self) -> bool:
        """Is the next prompt too long? Its length is what the provider counted for the last one,
        plus an estimate of what came since."""
        if self.limits.compact_at is None:
            return False
        tokens, messages = self._measured
        return tokens + estimate(self.talk.history[messages:]) >= self.limits.compact_at
