"""How loud each transition is. What is not listed is `info`."""

from __future__ import annotations

import logging

LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")}

_ERRORS = frozenset(
    {
        "actor.crashed",
        "child.abandoned",
        "child.stuck",
        "gateway.failed",
        "supervisor.escalated",
    }
)
_WARNINGS = frozenset(
    {
        "actor.cleanup_cut",
        "actor.restarted",
        "child.crashed_while_ending",
        "config.warning",
        "gateway.cut",
        "hook.failed",
        "hook.failed_closed",
        "hook.not_run",
        "hook.switched_off",
        "journal.reader_dropped",
        "letter.dead",
        "mailbox.refused",
        "plugin.failed",
        "store.not_folded",
        "store.refusing",
        "work.refused",
    }
)
_DEBUG = frozenset(
    {
        "activation.ended",
        "activation.started",
        "actor.ended",
        "actor.started",
        "census",
        "hook.fired",
        "mailbox.depth",
        "mailbox.opened",
        "store.acked",
        "store.committed",
        "transcript.committed",
    }
)


def level_of(kind: str) -> int:
    """The level at which an entry of this kind is logged."""
    if kind in _DEBUG:
        return logging.DEBUG
    if kind in _ERRORS:
        return logging.ERROR
    return logging.WARNING if kind in _WARNINGS else logging.INFO
