"""Runs that nobody lives for any more: ended in the store, and their hook fired once.

A process that was killed, or a session that crashed, leaves a run without a terminal row. It is
ended as stopped, for the reason `crash`. Calls that had begun are told to the model as "effect
unknown", or, if a second one changes nothing, as one that may be repeated. Whether the hook has
fired is a fact in the store, so it fires once, whoever recovers.
"""

from __future__ import annotations

from typing import cast

from hermes_actors.actors.house import House
from hermes_actors.actors.lines import history_of
from hermes_actors.actors.sealing import new_lines, sealed_history
from hermes_actors.hooks.events import (
    AgentLoopCompleted,
    AgentLoopStopped,
    CancelledCall,
    invalidation_reason,
)
from hermes_actors.hooks.kinds import Observation
from hermes_actors.pure.endings import Reason, ending
from hermes_actors.pure.stop_report import reason_in_words, stop_report
from hermes_actors.pure.transcript import MAY_REPEAT, UNKNOWN_EFFECT
from hermes_actors.store import bindings, recovery, runs
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.recovery import Orphan
from hermes_actors.store.runs import Run
from hermes_actors.store.states import RunState, ToolState

CRASH = ending("crash")


async def bury_orphans(house: House) -> int:
    """End every run that an earlier process left, and fire every hook that is owed; how many.

    For boot, before any session lives.
    """
    left = await house.store.read(recovery.orphans())
    for orphan in left:
        await _bury(house, orphan)
    for run in await house.store.read(runs.owing_hook()):
        await _fire_owed(house, run, ())
    return len(left)


async def bury_orphans_of(house: House, session_key: str) -> int:
    """The same for one conversation whose session has crashed."""
    binding = await house.store.read(bindings.find(session_key))
    if binding is None:
        return 0
    left = await house.store.read(recovery.orphans(binding.session_id))
    for orphan in left:
        await _bury(house, orphan)
    return len(left)


async def _bury(house: House, orphan: Orphan) -> None:
    run = orphan.run
    recovered = await house.store.write(
        recovery.end_orphan(run.id, now=house.now(), sealed=_sealed(orphan))
    )
    house.journal.note("run.ended", run=run.id, state=CRASH.state, reason=CRASH.reason)
    for key in recovered.dead:
        house.journal.note("inbound.ended", key=key, state="dead")
    cut = tuple(CancelledCall(call.call_id, call.name) for call in orphan.open_calls)
    await _fire_owed(house, run, cut)


def _sealed(orphan: Orphan) -> tuple[NewMessage, ...]:
    stored = history_of(orphan.said)
    unknown = {
        call.call_id: MAY_REPEAT if call.idempotent else UNKNOWN_EFFECT
        for call in orphan.open_calls
        if call.state is ToolState.STARTED
    }
    history = sealed_history(stored, stop_report(CRASH).text, results=unknown)
    return new_lines(history, len(stored), partial=True)


async def _fire_owed(house: House, run: Run, cut: tuple[CancelledCall, ...]) -> None:
    if await house.store.write(runs.take_hook_duty(run.id)):
        await house.bus.fire(_hook_of(run, cut))


def _hook_of(run: Run, cut: tuple[CancelledCall, ...]) -> Observation:
    lasted = round(((run.ended_at or run.started_at) - run.started_at) * 1000)
    if run.state is RunState.COMPLETED:
        return AgentLoopCompleted(
            session_key=run.session_key,
            platform=run.platform,
            agent_id=run.agent_id,
            run_id=run.id,
            duration_ms=lasted,
        )
    ended = run.state is not RunState.RUNNING and run.reason is not None
    how = ending(cast("Reason", run.reason)) if ended else CRASH
    return AgentLoopStopped(
        session_key=run.session_key,
        platform=run.platform,
        reason=reason_in_words(how),
        invalidation_reason=invalidation_reason(how.reason),
        agent_id=run.agent_id,
        run_id=run.id,
        kind=how.state,
        cause=how.reason,
        phase="tools" if cut else run.phase,  # calls that were open tell more than the last note
        duration_ms=lasted,
        tool_calls=cut,
    )
