"""A run and its events as clients of the API know them. Pure."""

from __future__ import annotations

from typing import Any

from adapters.http.chat_shapes import usage
from hermes_actors.happenings import (
    RunBegan,
    RunEnded,
    Seen,
    SegmentEnded,
    Thoughts,
    ToolBegan,
    ToolEnded,
    Words,
)
from hermes_actors.store.messages import Message
from hermes_actors.store.runs import Run

_STATUS = {"running": "running", "completed": "completed", "stopped": "cancelled"}


def status_of(state: str) -> str:
    """What clients call a state; whatever is no answer and no stop has failed."""
    return _STATUS.get(state, "failed")


def run_object(run: Run, said: list[Message], *, live: str = "") -> dict[str, Any]:
    """A run. `live` is what its session says of it while it lives: running or stopping."""
    answers = [line.content for line in said if line.role == "assistant" and line.content]
    status = status_of(run.state.value)
    return {
        "object": "hermes.run",
        "run_id": run.id,
        "status": live if status == "running" and live else status,
        "state": run.state.value,
        "reason": run.reason,
        "created_at": run.started_at,
        "updated_at": run.ended_at or run.started_at,
        "session_id": run.session_id,
        "session_key": run.session_key,
        "model": run.agent_id,
        "output": answers[-1] if answers and status != "running" else None,
    }


def event_of(what: Seen) -> dict[str, Any] | None:
    """A happening as an event; None for those that tell a client nothing."""
    told = _told(what)
    return None if told is None else {**told, "run_id": what.run}


def _told(what: Seen) -> dict[str, Any] | None:
    match what:
        case RunBegan(agent=agent):
            return {"event": "run.started", "model": agent}
        case Words(text=text, origin=origin):
            return {"event": "message.delta", "delta": text, "origin": origin}
        case Thoughts(text=text):
            return {"event": "reasoning.delta", "delta": text}
        case SegmentEnded():
            return {"event": "message.paragraph"}
        case ToolBegan(call=call, name=name, preview=preview):
            return {"event": "tool.started", "tool": name, "call_id": call, "preview": preview}
        case ToolEnded(call=call, name=name, outcome=outcome, seconds=seconds):
            return {
                "event": "tool.completed",
                "tool": name,
                "call_id": call,
                "duration": seconds,
                "outcome": outcome,
                "error": outcome != "ok",
            }
        case RunEnded():
            return _end(what)


def _end(end: RunEnded) -> dict[str, Any]:
    return {
        "event": f"run.{status_of(end.state)}",
        "state": end.state,
        "reason": end.reason,
        "output": end.text,
        "usage": usage(end),
    }
