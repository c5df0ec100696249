"""Makes a stored history smaller: one question to the model, one transaction, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from hermes_actors.actors.lines import line_of, message_of
from hermes_actors.actors.turn import Turn
from hermes_actors.errors import StoreRefused
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import Compacted, CompactionRefused
from hermes_actors.pure.compaction import SYSTEM, Plan, Refused, accept, digest, plan, prompt
from hermes_actors.pure.compaction.prompt import summary_tokens
from hermes_actors.store import messages, revisions
from hermes_actors.store.messages import Message as Line
from hermes_actors.store.messages import NewMessage as NewLine
from hermes_actors.values import Message, ModelRequest, UserMessage


async def compact(turn: Turn, focus: str = "") -> Compacted | CompactionRefused:
    """Summarise the middle of the session. Cut anywhere, the history stays as it was."""
    lines = await turn.house.store.read(messages.transcript(turn.order.session_id))
    known = [(line, message) for line in lines if (message := message_of(line)) is not None]
    planned = plan([message for _, message in known])
    if planned is None:
        return CompactionRefused("There is nothing that could be summarised.")
    smaller = accept(planned, await _summary(turn, planned, focus))
    if isinstance(smaller, Refused):
        return CompactionRefused(smaller.why)
    return await _swap(turn, lines, known, smaller)


async def _summary(turn: Turn, planned: Plan, focus: str) -> str:
    agent = turn.order.agent
    request = ModelRequest(
        run=turn.run_id,
        model=agent.model_name,
        messages=(UserMessage(prompt(planned, focus)),),
        system=SYSTEM,
        max_output_tokens=summary_tokens(planned),
    )
    turn.house.journal.note("model.called", run=turn.run_id)
    with trio.move_on_after(turn.house.limits.compaction_deadline):
        try:
            reply = await agent.model.respond(request, lambda delta: turn.progressed())
        except ModelFailed as no:
            turn.house.journal.note("compaction.unaided", run=turn.run_id, reason=no.kind)
        else:
            return reply.text
    return digest(planned)


async def _swap(
    turn: Turn,
    lines: Sequence[Line],
    known: Sequence[tuple[Line, Message]],
    smaller: Sequence[Message],
) -> Compacted | CompactionRefused:
    stays = {id(message): line.id for line, message in known}
    replacement: list[NewLine | int] = [
        stays.get(id(message)) or line_of(message) for message in smaller
    ]
    write = revisions.compact(
        turn.order.session_id, seen=lines[-1].id, replacement=replacement, now=turn.house.now()
    )
    try:
        await turn.house.store.write(write)
    except StoreRefused as no:
        return CompactionRefused(str(no))
    return Compacted(tuple(smaller))
