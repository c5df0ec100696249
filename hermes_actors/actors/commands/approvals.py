"""`/approve` and `/deny`: answers to what the agent has asked, from the person who was asked.

The answer is stored first, under the checks of the store: it is theirs to give, in time, and about
exactly what was asked. Then whoever waits for it hears of it, by control.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hermes_actors.actors.commands.asked import Asked
from hermes_actors.actors.commands.background import companions
from hermes_actors.actors.signals import Decided
from hermes_actors.errors import StoreRefused
from hermes_actors.pure import approval_words
from hermes_actors.pure.approval_words import Verdict
from hermes_actors.store import approvals
from hermes_actors.store.approvals import Approval, Decision

NOTHING_ASKED = "Nothing waits for an answer here."


async def approve(asked: Asked) -> str:
    """Allow the oldest open question, or all of them."""
    verdict = approval_words.approve(asked.argument)
    if verdict is None:
        return "Write it like this: /approve, /approve all, /approve session, /approve always."
    return await answer(asked, verdict)


async def deny(asked: Asked) -> str:
    """Forbid the oldest open question, or all of them."""
    return await answer(asked, approval_words.deny(asked.argument))


async def answer(asked: Asked, verdict: Verdict) -> str:
    """Store the answer and wake whoever waits for it, here or in the background."""
    open_ones = [
        (key, question)
        for key in (asked.key, *companions(asked))
        for question in await _pending(asked, key)
    ]
    if not open_ones:
        return NOTHING_ASKED
    meant = open_ones if verdict.everything else open_ones[:1]
    told = [await _decide(asked, key, question, verdict) for key, question in meant]
    counted = Counter(told)
    return " ".join(line if times == 1 else f"{line} (×{times})" for line, times in counted.items())


async def _pending(asked: Asked, key: str) -> Sequence[Approval]:
    session = await asked.session(key)
    return () if session is None else await asked.house.store.read(approvals.pending(session.id))


async def _decide(asked: Asked, key: str, question: Approval, verdict: Verdict) -> str:
    yes = verdict.choice != "deny"
    decision = Decision(
        id=question.id,
        by=person(asked),
        approve=yes,
        epoch=question.epoch,
        args_digest=question.args_digest,
        scope="once" if verdict.choice == "deny" else verdict.choice,
        reason=verdict.reason or None,
    )
    try:
        await asked.house.store.write(approvals.decide(decision, now=asked.house.now()))
    except StoreRefused as no:
        return f"{question.tool}: {no}."
    asked.office.sessions.ref(key).signal(Decided(question.id))
    return f"{question.tool}: {'approved' if yes else 'denied'}."


def person(asked: Asked) -> str:
    """Who answers, as questions name their owner."""
    source = asked.source
    return source.user_id_alt or source.user_id or source.chat_id
