"""`/why`: the causes of a run and what came of it, told from what is stored and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from hermes_actors.actors.commands.asked import Asked
from hermes_actors.actors.commands.background import is_of
from hermes_actors.actors.house import House
from hermes_actors.actors.taking import work_of
from hermes_actors.store import inbox, outbox, runs, tool_calls
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.outbox import Reply
from hermes_actors.store.runs import Run
from hermes_actors.store.tool_calls import StoredCall

_BEGINNING = 60
_MOST_CALLS = 20


async def why(asked: Asked) -> str:
    """The story of the run that is named, else of the one in progress, else of the last one."""
    run = await _meant(asked)
    if run is None:
        return f"There is no run '{asked.argument}' here." if asked.argument else "Nothing ran yet."
    return await story(asked.house, run)


async def story(house: House, run: Run) -> str:
    """Message, run, calls, end and reply, one line each."""
    messages = await house.store.read(inbox.of_run(run.id))
    calls = await house.store.read(tool_calls.of_run(run.id))
    replies = await house.store.read(outbox.of_run(run.id))
    return "\n".join(_lines(run, messages, calls, replies))


async def _meant(asked: Asked) -> Run | None:
    store = asked.house.store
    if asked.argument:
        run = await store.read(runs.find(asked.argument))
        return run if run is not None and is_of(asked.key, run.session_key) else None
    session = await asked.session()
    latest = [] if session is None else await store.read(runs.of_session(session.id, limit=1))
    return latest[0] if latest else None


def _lines(
    run: Run,
    messages: Sequence[InboxMessage],
    calls: Sequence[StoredCall],
    replies: Sequence[Reply],
) -> Iterator[str]:
    for message in messages:
        words = " ".join(work_of(message).text.split())[:_BEGINNING]
        yield f"{_at(message.received_at)} message {message.key}: “{words}” ({message.state})"
    yield f"{_at(run.started_at)} run {run.id} began, agent {run.agent_id}"
    for call in calls[:_MOST_CALLS]:
        yield f"{_at(call.intended_at)} call {call.name} ({call.call_id}): {_fate(call)}"
    if len(calls) > _MOST_CALLS:
        yield f"… and {len(calls) - _MOST_CALLS} more calls"
    if run.ended_at is None:
        yield "It has not ended yet."
        return
    seconds = run.ended_at - run.started_at
    detail = f": {run.detail}" if run.detail else ""
    yield f"{_at(run.ended_at)} {run.state}, {run.reason}{detail}, after {seconds:.1f} s"
    for reply in replies:
        yield f"{_at(reply.created_at)} reply to chat {reply.chat_id}: {reply.state}"


def _fate(call: StoredCall) -> str:
    return call.state if call.outcome is None else call.outcome


def _at(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(moment))
