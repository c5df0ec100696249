"""The end of a run, written in one transaction from what is really stored.

A cancelled asker cannot know whether its last write was still carried out. The store can: its
operations run one after another, so when this one runs, everything before it has either happened
or never will. So the open calls are taken from the lines themselves and not from anybody's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hermes_actors.actors.lines import history_of, line_of
from hermes_actors.pure.transcript import OPENAI_RESPONSES, seal, validate
from hermes_actors.pure.transcript.seal import marked
from hermes_actors.store import messages, runs
from hermes_actors.store.messages import NewMessage as NewLine
from hermes_actors.store.operation import writes
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.runs import Ended, RunEnd
from hermes_actors.store.sql import Sql
from hermes_actors.store.states import RunState
from hermes_actors.values import AssistantMessage, Message


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends and what it says last.

    `partial` is what the model had said when it was cut and is not stored yet; `words` are the
    answer, or what is said in its place.
    """

    run_id: str
    state: RunState
    reason: str
    words: str
    partial: str = ""
    reasoning: str = ""
    detail: str | None = None
    results: Mapping[str, str] = {}
    reply: NewReply | None = None


class Sealed(msgspec.Struct, frozen=True):
    """What the end has touched, and what a model would object to in the lines of this run."""

    ended: Ended
    problems: tuple[str, ...]


@writes
def close_run(sql: Sql, closing: Closing, *, now: float) -> Sealed:
    """End a run for good; refused as 'conflict' when somebody else has ended it."""
    stored = history_of(messages.of_run.within(sql, closing.run_id))
    sealed = sealed_history(
        stored,
        closing.words,
        partial=closing.partial,
        reasoning=closing.reasoning,
        results=closing.results,
    )
    cut = closing.state is not RunState.COMPLETED
    end = RunEnd(
        run_id=closing.run_id,
        state=closing.state,
        reason=closing.reason,
        detail=closing.detail,
        sealed=new_lines(sealed, len(stored), partial=cut),
        replies=() if closing.reply is None else (closing.reply,),
    )
    return Sealed(runs.end.within(sql, end, now=now), problems_of(sealed))


def problems_of(history: Sequence[Message]) -> tuple[str, ...]:
    """What no repair before a call should have to invent: calls without results, and the reverse.

    Odd ids, broken arguments and the order of parallel results are the model's own words and
    facts; they are stored as they are and mended on the way to each call.
    """
    found = validate(history, OPENAI_RESPONSES)
    return tuple(f"{each.fault} {each.detail}".strip() for each in found if each.fault in _PAIRING)


_PAIRING = frozenset({"unanswered_call", "orphan_result", "repeated_call_id"})


def sealed_history(
    stored: Sequence[Message],
    words: str,
    *,
    partial: str = "",
    reasoning: str = "",
    results: Mapping[str, str] | None = None,
) -> list[Message]:
    """Open calls answered, then one line of the agent that holds its last words."""
    answered = [*seal(stored, results=results)]
    if len(answered) > len(stored) and isinstance(answered[-1], AssistantMessage):
        answered.pop()  # the mark that `seal` puts last: our own last line says more
    cut = marked(partial) if partial.strip() else ""
    whole = "\n\n".join(filter(None, (cut, words)))
    return [*answered, AssistantMessage(whole, (), reasoning)] if whole else answered


def new_lines(history: Sequence[Message], stored: int, *, partial: bool) -> tuple[NewLine, ...]:
    """What is not stored yet, as lines; `partial` marks the words of an agent that was cut."""
    return tuple(
        line_of(each, partial=partial and isinstance(each, AssistantMessage))
        for each in history[stored:]
    )
