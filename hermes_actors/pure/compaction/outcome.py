"""Whether a summary is taken: only if the history is smaller with it than without.

A summary enters as words on the person's side with marks around it, so that sides still alternate
and nobody takes it for a request. If the latest request itself was summarised, it is quoted in full
behind the summary: the model must never lose sight of what it was asked.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from hermes_actors.pure.compaction.plan import SUMMARY_CLOSE, SUMMARY_OPEN, Plan
from hermes_actors.pure.compaction.prompt import clipped
from hermes_actors.pure.compaction.size import estimate
from hermes_actors.pure.think import scrub
from hermes_actors.values import AssistantMessage, Message, UserMessage

LONGEST_DIGEST = 8000
LONGEST_REQUEST = 4000
_STILL_OPEN = "[the latest request, which is still being worked on]"


class Refused(msgspec.Struct, frozen=True):
    """The history stays as it was."""

    why: Literal["empty", "not_smaller"]


def accept(plan: Plan, summary: str) -> tuple[Message, ...] | Refused:
    """The history with the summary in the place of the middle, or why not."""
    words = scrub(summary).strip()
    if not words:
        return Refused("empty")
    new = (*plan.head, *_beginning(plan, _block(plan, words)))
    return new if estimate(new) < plan.tokens else Refused("not_smaller")


def digest(plan: Plan) -> str:
    """A summary without a model, for when none answers: what was asked, said and called."""
    asked = [f"- {_line(each)}" for each in plan.middle if isinstance(each, UserMessage)]
    said = [
        f"- {_line(each)}"
        for each in plan.middle
        if isinstance(each, AssistantMessage) and each.text.strip()
    ]
    used = Counter(
        call.name
        for each in plan.middle
        if isinstance(each, AssistantMessage)
        for call in each.tool_calls
    )
    parts = ["Asked:", *asked[-20:], "Answered:", *said[-20:]]
    if used:
        parts.append("Tools: " + ", ".join(f"{name} ×{times}" for name, times in used.items()))
    return clipped("\n".join(parts), LONGEST_DIGEST)


def _beginning(plan: Plan, block: str) -> tuple[Message, ...]:
    """The tail with the summary before it; two messages of a person become one."""
    first, rest = plan.tail[:1], plan.tail[1:]
    if first and isinstance(first[0], UserMessage):
        return UserMessage(f"{block}\n\n{first[0].text}"), *rest
    return UserMessage(block), *first, *rest


def _block(plan: Plan, words: str) -> str:
    block = f"{SUMMARY_OPEN}\n{words}\n{SUMMARY_CLOSE}"
    if any(isinstance(each, UserMessage) for each in plan.tail):
        return block
    requests = [each.text for each in plan.middle if isinstance(each, UserMessage)]
    request = _without_summary(requests[-1]) if requests else ""
    return f"{block}\n\n{_STILL_OPEN}\n{clipped(request, LONGEST_REQUEST)}" if request else block


def _without_summary(text: str) -> str:
    if not text.startswith(SUMMARY_OPEN):
        return text
    rest = text.rpartition(SUMMARY_CLOSE)[2].strip()
    return rest.removeprefix(_STILL_OPEN).strip()


def _line(message: Message) -> str:
    return " ".join(_without_summary(message.text).split())[:200]
