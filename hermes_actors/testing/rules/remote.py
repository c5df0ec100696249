"""Remote calls: one end each, and a client that still listens is told of a cancellation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hermes_actors.journal import Entry
from hermes_actors.testing.rules.violation import NEW_PROCESS, Violation, broken


def every_remote_call_ends_once(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I5, for the call."""
    called: dict[str, Entry] = {}
    ended: dict[str, Entry] = {}
    forgiven: set[str] = set()
    for entry in log:
        if entry.kind == NEW_PROCESS:
            forgiven |= called.keys()
        elif entry.kind == "remote.called":
            if entry["call"] in called:
                yield broken(
                    "I5", f"call '{entry['call']}' was made twice", called[entry["call"]], entry
                )
            called.setdefault(entry["call"], entry)
        elif entry.kind == "remote.ended":
            yield from _wrong_end(called.get(entry["call"]), ended.get(entry["call"]), entry)
            ended.setdefault(entry["call"], entry)
    if complete:
        for call, made in called.items():
            if call not in ended and call not in forgiven:
                yield broken("I5", f"call '{call}' never ended", made)


def _wrong_end(called: Entry | None, ended: Entry | None, entry: Entry) -> Iterator[Violation]:
    call, by = entry["call"], entry.data.get("by")
    if called is None:
        yield broken("I5", f"call '{call}' ended but was never made", entry)
    elif ended is not None:
        yield broken(
            "I5", f"call '{call}' ended twice: '{ended['how']}', '{entry['how']}'", ended, entry
        )
    elif by is not None and by != called["client"]:
        yield broken(
            "I5",
            f"call '{call}' belongs to client '{called['client']}' but '{by}' ended it",
            called,
            entry,
        )


def the_client_is_told(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I5, for the client. The frame may follow the end, so only a complete log can lack one."""
    called: dict[str, Entry] = {}
    cancelled: dict[str, Entry] = {}
    owed: dict[str, set[str]] = defaultdict(set)
    for entry in log:
        if entry.kind == NEW_PROCESS:
            owed.clear()
        elif entry.kind == "remote.called":
            called.setdefault(entry["call"], entry)
            owed[entry["client"]].add(entry["call"])
        elif entry.kind == "client.gone":
            owed.pop(entry["client"], None)
        elif entry.kind == "remote.ended" and entry["how"] == "cancelled":
            cancelled.setdefault(entry["call"], entry)
        elif entry.kind == "remote.cancel_frame":
            yield from _wrong_frame(called.get(entry["call"]), entry)
            owed[entry["client"]].discard(entry["call"])
    if complete:
        untold = set().union(*owed.values())
        for call, end in cancelled.items():
            if call in untold:
                yield broken("I5", f"call '{call}' was cancelled and its client not told", end)


def _wrong_frame(called: Entry | None, frame: Entry) -> Iterator[Violation]:
    if called is not None and called["client"] != frame["client"]:
        yield broken(
            "I5",
            f"call '{frame['call']}' belongs to client '{called['client']}' "
            f"but '{frame['client']}' was told of its cancellation",
            called,
            frame,
        )


def an_answered_call_is_not_cancelled(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I5, for the truth: a frame goes out only for a call that ended cancelled, or is about to."""
    ended: dict[str, Entry] = {}
    framed: dict[str, Entry] = {}
    for entry in log:
        if entry.kind == "remote.ended":
            ended.setdefault(entry["call"], entry)
        elif entry.kind == "remote.cancel_frame":
            if entry["call"] in framed:
                yield broken(
                    "I5",
                    f"the client was told twice that call '{entry['call']}' is cancelled",
                    framed[entry["call"]],
                    entry,
                )
            framed.setdefault(entry["call"], entry)
    for call, frame in framed.items():
        if call in ended and ended[call]["how"] != "cancelled":
            yield broken(
                "I5",
                f"call '{call}' ended '{ended[call]['how']}' "
                "but its client was told that it is cancelled",
                ended[call],
                frame,
            )
