"""The journal's words: what each kind of entry means, and which ids it carries.

The invariants speak about these kinds and no others. An entry of a kind that is not listed here
is welcome in a log and is not looked at. Of a kind that is listed, every entry has the ids in
`ids`, may have those in `also`, and uses only the words in `words` where there are any. An id is a
text or a number; those in `COUNTS` are numbers, those in `LISTS` are lists.
"""

from __future__ import annotations

import msgspec

TERMINAL_REASONS: dict[str, tuple[str, ...]] = {
    "completed": ("ok",),
    "stopped": (
        "user_stop",
        "new_session",
        "superseded",
        "client_disconnected",
        "handoff",
        "shutdown",
        "supervisor",
        "crash",
    ),
    "halted": ("guardrail", "budget", "max_iterations", "denied"),
    "failed": ("provider", "store", "internal"),
    "expired": ("deadline", "idle"),
}
"""The ways a run can end, and for each the reasons there are."""

COUNTS = frozenset({"capacity", "depth", "fds", "processes", "tasks", "threads"})
LISTS = frozenset({"alive", "ops", "problems"})

COMPLETED_HOOK = "agent_loop_completed"
STOPPED_HOOK = "agent_loop_stopped"
TERMINAL_HOOKS = (COMPLETED_HOOK, STOPPED_HOOK)


class Kind(msgspec.Struct, frozen=True):
    """One kind of entry."""

    name: str
    meaning: str
    ids: tuple[str, ...]
    also: tuple[str, ...] = ()
    words: dict[str, tuple[str, ...]] = {}


VOCABULARY: tuple[Kind, ...] = (
    Kind(
        "gateway.started",
        "A new process begins; what an earlier one held in memory is gone.",
        (),
        also=("boot",),
    ),
    # Messages
    Kind(
        "inbound.accepted",
        "A message is committed under its platform's key.",
        ("key",),
        also=("session",),
    ),
    Kind(
        "inbound.ended",
        "A message has come to its end, and its sender can know it.",
        ("key", "state"),
        words={"state": ("answered", "stopped", "rejected", "dead")},
    ),
    Kind(
        "outbox.committed",
        "Words for a chat are durable and will be delivered.",
        ("chat", "outbox"),
    ),
    Kind(
        "reply.sent",
        "The answer to a message is visible; `repeat` says that it is marked as a repeat.",
        ("key", "outbox", "chat", "repeat"),
    ),
    Kind(
        "platform.sent",
        "A platform has taken words. `run` is given for what a run says while it runs, and left "
        "out for the delivery of its committed row.",
        ("chat",),
        also=("outbox", "run"),
    ),
    Kind("typing.sent", "A typing sign was shown for a run.", ("run",)),
    # Runs
    Kind(
        "run.started",
        "A session has taken a message in hand.",
        ("run", "session", "agent"),
        also=("key",),
    ),
    Kind(
        "run.ended",
        "A run has its one terminal state, committed with the sealed transcript.",
        ("run", "state", "reason"),
        words={"state": tuple(TERMINAL_REASONS)},
    ),
    Kind("hook.fired", "The observers of a hook are being told.", ("run", "hook")),
    Kind("child.started", "A task, process or sub-agent of a run begins.", ("run", "child")),
    Kind("child.ended", "It is gone.", ("run", "child")),
    Kind("model.called", "A model call leaves for the provider.", ("run",)),
    Kind("model.closed", "A model call was given up and its connection is closed.", ("run",)),
    Kind("tool.started", "A tool begins to act.", ("run", "call", "tool")),
    Kind("tool.ended", "A tool has returned, failed or been cut.", ("run", "call", "outcome")),
    Kind("transcript.committed", "A transcript was stored.", ("session", "problems")),
    # Remote calls
    Kind("remote.called", "A call was handed to a client.", ("run", "call", "client")),
    Kind(
        "remote.ended",
        "Nobody waits for the call any more; `by` names the client that answered.",
        ("call", "how"),
        also=("by",),
        words={"how": ("result", "error", "cancelled", "timeout", "owner_gone")},
    ),
    Kind("remote.cancel_frame", "A client was told that a call is cancelled.", ("call", "client")),
    Kind("client.gone", "A client's connection has ended.", ("client",)),
    # Actors
    Kind("actor.started", "A life of an actor is ready for work.", ("actor",)),
    Kind("actor.crashed", "A life ended in an error.", ("actor",), also=("error",)),
    Kind("actor.ended", "A life is over and cleaned up after.", ("actor",), also=("how", "reason")),
    Kind("actor.restarted", "A supervisor has begun a new life.", ("actor",)),
    Kind("activation.started", "An address has come to life.", ("address",)),
    Kind("activation.ended", "An address has left memory.", ("address",), also=("how",)),
    Kind("mailbox.opened", "A mailbox exists.", ("actor", "capacity")),
    Kind("mailbox.depth", "So many messages have waited at once.", ("actor", "depth")),
    Kind("mailbox.refused", "A sender was told no.", ("actor", "lane"), also=("depth",)),
    Kind("letter.dead", "An accepted message will never be handled.", ("actor",)),
    # Store and machine
    Kind("store.committed", "These operations are durable.", ("ops",)),
    Kind("store.acked", "Whoever asked for the operation was told that it is done.", ("op",)),
    Kind(
        "census",
        "What is alive, counted at the start and the end of something; `of` names it.",
        ("moment", "tasks", "threads", "fds", "processes"),
        also=("of", "alive"),
        words={"moment": ("start", "end")},
    ),
)

BY_NAME: dict[str, Kind] = {kind.name: kind for kind in VOCABULARY}
