"""Messages and replies: none lost, none doubled, each in its order, each after its commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_actors.journal import Entry
from hermes_actors.testing.rules.violation import Violation, broken


def every_message_ends_once(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I1. A message may be found rejected before it was accepted; then it only ends."""
    accepted: dict[str, Entry] = {}
    ended: dict[str, Entry] = {}
    for entry in log:
        if entry.kind == "inbound.accepted":
            yield from _once(accepted, entry, "was accepted twice, so it was two messages")
        elif entry.kind == "inbound.ended":
            yield from _once(ended, entry, "ended twice")
            if entry["key"] not in accepted and entry["state"] != "rejected":
                yield broken(
                    "I1",
                    f"message '{entry['key']}' ended '{entry['state']}' but was never accepted",
                    entry,
                )
    if complete:
        for key, entry in accepted.items():
            if key not in ended:
                yield broken("I1", f"message '{key}' was accepted and never ended", entry)


def _once(seen: dict[str, Entry], entry: Entry, complaint: str) -> Iterator[Violation]:
    key = entry["key"]
    if key in seen:
        yield broken("I1", f"message '{key}' {complaint}", seen[key], entry)
    else:
        seen[key] = entry


def one_visible_reply(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I2. One marked repeat is the price of a death inside a send; a second one has no excuse."""
    replies: dict[str, Entry] = {}
    repeats: dict[str, Entry] = {}
    for entry in log:
        if entry.kind != "reply.sent":
            continue
        key, seen = entry["key"], repeats if entry["repeat"] else replies
        if key in seen:
            what = "a second repeat" if entry["repeat"] else "a second reply, not marked as repeat"
            yield broken("I2", f"message '{key}' got {what}", seen[key], entry)
        seen.setdefault(key, entry)
        yield from _of_another_row(replies.get(key), entry)


def _of_another_row(first: Entry | None, entry: Entry) -> Iterator[Violation]:
    if entry["repeat"] and first is not None and first["outbox"] != entry["outbox"]:
        yield broken(
            "I2",
            f"the repeat for message '{entry['key']}' is row '{entry['outbox']}', "
            f"but its reply was row '{first['outbox']}'",
            first,
            entry,
        )


def replies_in_order(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I7, for a session: what was asked first is answered first. Control words have no run."""
    turn_of: dict[str, Entry] = {}
    latest: dict[str, tuple[int, Entry]] = {}
    for number, entry in enumerate(log):
        if entry.kind == "run.started" and "key" in entry.data:
            turn_of.setdefault(entry["key"], Entry(number, entry.at, entry.kind, entry.data))
        elif entry.kind == "reply.sent" and not entry["repeat"] and entry["key"] in turn_of:
            turn = turn_of[entry["key"]]
            session = turn["session"]
            before, reply = latest.get(session, (-1, entry))
            if turn.number < before:
                yield broken(
                    "I7",
                    f"session '{session}' answered '{reply['key']}' before '{entry['key']}', "
                    "though it had taken them the other way round",
                    reply,
                    entry,
                )
            else:
                latest[session] = turn.number, entry


def sends_in_commit_order(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I7, for a chat. Rows may be given up, so gaps are fine; overtaking is not."""
    place: dict[str, int] = {}
    latest: dict[str, tuple[int, Entry]] = {}
    delivered: set[str] = set()
    for number, entry in enumerate(log):
        if entry.kind == "outbox.committed":
            place.setdefault(str(entry["outbox"]), number)
        elif (row := delivered_row(entry)) in place and row not in delivered:
            delivered.add(row)
            before, other = latest.get(entry["chat"], (-1, entry))
            if place[row] < before:
                yield broken(
                    "I7",
                    f"chat '{entry['chat']}' was sent '{delivered_row(other)}' before '{row}', "
                    "which had been committed first",
                    other,
                    entry,
                )
            else:
                latest[entry["chat"]] = place[row], entry


def nothing_said_before_its_commit(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """commit-first, for words. What a run says while it runs has no committed row yet."""
    committed: set[str] = set()
    reported: set[str] = set()
    for entry in log:
        if entry.kind == "outbox.committed":
            committed.add(str(entry["outbox"]))
        elif (row := delivered_row(entry)) and row not in committed and row not in reported:
            reported.add(row)
            yield broken("commit-first", f"row '{row}' was sent before it was committed", entry)


def delivered_row(entry: Entry) -> str:
    """The outbox row that this entry delivers, or the empty string."""
    if entry.kind == "reply.sent":
        return str(entry["outbox"])
    if entry.kind == "platform.sent" and entry.data.get("run") is None:
        return str(entry.data.get("outbox") or "")
    return ""
