"""What a run was to do, and what hooks are told of it when it is over."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hermes_actors.actors.house import Agent
from hermes_actors.hooks.events import (
    AgentLoopCompleted,
    AgentLoopStopped,
    CancelledCall,
    OnSessionEnd,
    invalidation_reason,
)
from hermes_actors.pure.endings import OK, Ending
from hermes_actors.values import Source


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is to answer, and for whom."""

    run_id: str
    session_id: str
    session_key: str
    agent: Agent
    source: Source
    text: str
    keys: tuple[str, ...] = ()
    is_first: bool = False


class RunIsOver(msgspec.Struct, frozen=True):
    """How a run ended. `calls` are those that were cut: id, name, and whether it was remote."""

    order: Order
    how: Ending
    reason: str
    phase: str
    duration_ms: int
    calls: Mapping[str, tuple[str, bool]]

    def of_loop(self) -> AgentLoopCompleted | AgentLoopStopped:
        """The terminal hook."""
        return self._completed() if self.how == OK else self._stopped()

    def of_session(self) -> OnSessionEnd:
        """What plugins of other gateways know as the end of a session's turn."""
        order = self.order
        return OnSessionEnd(
            session_id=order.session_id,
            completed=self.how == OK,
            interrupted=self.how.state == "stopped",
            model=order.agent.model_name,
            platform=order.source.platform,
            session_key=order.session_key,
            agent_id=order.agent.id,
            task_id=order.run_id,
            turn_id=order.run_id,
        )

    def _completed(self) -> AgentLoopCompleted:
        return AgentLoopCompleted(
            session_key=self.order.session_key,
            platform=self.order.source.platform,
            agent_id=self.order.agent.id,
            run_id=self.order.run_id,
            duration_ms=self.duration_ms,
        )

    def _stopped(self) -> AgentLoopStopped:
        return AgentLoopStopped(
            session_key=self.order.session_key,
            platform=self.order.source.platform,
            reason=self.reason,
            invalidation_reason=invalidation_reason(self.how.reason),
            agent_id=self.order.agent.id,
            run_id=self.order.run_id,
            kind=self.how.state,
            cause=self.how.reason,
            phase=self.phase,
            duration_ms=self.duration_ms,
            tool_calls=self._cut(remote=False),
            remote_calls=self._cut(remote=True),
        )

    def _cut(self, *, remote: bool) -> tuple[CancelledCall, ...]:
        return tuple(
            CancelledCall(call_id, name)
            for call_id, (name, is_remote) in self.calls.items()
            if is_remote is remote
        )
