"""Entries that many cases share, and the form of a case."""

from __future__ import annotations

from typing import NamedTuple

BEGIN = "run.started run=r session=s agent=main"
OK = "run.ended run=r state=completed reason=ok"
CUT = "run.ended run=r state=stopped reason=user_stop"
DONE = "hook.fired run=r hook=agent_loop_completed"
TOLD = "hook.fired run=r hook=agent_loop_stopped"
NEW = "gateway.started"
ASKED = "inbound.accepted key=k session=s"
ANSWERED = "inbound.ended key=k state=answered"
ROW = "outbox.committed chat=c outbox=1"
REPLY = "reply.sent key=k outbox=1 chat=c repeat=false"
REPEAT = "reply.sent key=k outbox=1 chat=c repeat=true"
CALL = "remote.called run=r call=x client=phone"
CANCELLED = "remote.ended call=x how=cancelled"
FRAME = "remote.cancel_frame call=x client=phone"
COUNTED = "tasks=3 threads=1 fds=9 processes=0"


class Case(NamedTuple):
    """One log. `says` is empty for a near miss."""

    title: str
    lines: tuple[str, ...]
    says: tuple[str, ...] = ()


Cases = dict[str, tuple[Case, ...]]
