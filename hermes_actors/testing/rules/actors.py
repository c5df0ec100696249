"""Actors: one life per address, bounded mailboxes, and nothing left over at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_actors.journal import Entry
from hermes_actors.testing.rules.violation import NEW_PROCESS, Violation, broken

COUNTED = ("tasks", "threads", "fds", "processes")


def back_to_the_baseline(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I8, by counting. Fewer than at the start is fine; more has leaked."""
    start: dict[str, Entry] = {}
    for entry in log:
        if entry.kind == NEW_PROCESS:
            start.clear()
        elif entry.kind == "census" and entry["moment"] == "start":
            start[entry.data.get("of", "")] = entry
        elif entry.kind == "census":
            began = start.pop(entry.data.get("of", ""), None)
            if began is not None:
                yield from _grown(began, entry)
    if complete:
        for of, entry in start.items():
            yield broken("I8", f"what is alive was counted at the start of '{of}' only", entry)


def _grown(start: Entry, end: Entry) -> Iterator[Violation]:
    for what in COUNTED:
        if end[what] > start[what]:
            alive = f", alive: {end['alive']}" if what == "tasks" and "alive" in end.data else ""
            yield broken("I8", f"{what} grew from {start[what]} to {end[what]}{alive}", start, end)


def every_life_ends(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I8, by name: an actor that began has ended when all is over."""
    alive: dict[str, Entry] = {}
    for entry in log:
        if entry.kind == NEW_PROCESS:
            alive.clear()
        elif entry.kind == "actor.started":
            alive[entry["actor"]] = entry
        elif entry.kind == "actor.ended":
            alive.pop(entry["actor"], None)
    if complete:
        for actor, entry in alive.items():
            yield broken("I8", f"actor '{actor}' started and never ended", entry)


def mailboxes_are_bounded(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I9. Where a capacity is not recorded there is nothing to compare with."""
    capacity: dict[str, Entry] = {}
    for entry in log:
        actor = entry.data.get("actor", "")
        if entry.kind == NEW_PROCESS:
            capacity.clear()
        elif entry.kind == "mailbox.opened":
            capacity[actor] = entry
        elif entry.kind == "mailbox.refused" and entry["lane"] != "work":
            yield broken("I9", f"'{actor}' refused on its {entry['lane']} lane", entry)
        elif entry.kind in ("mailbox.depth", "mailbox.refused") and actor in capacity:
            yield from _out_of_bounds(capacity[actor], entry)


def _out_of_bounds(opened: Entry, entry: Entry) -> Iterator[Violation]:
    actor, limit, depth = entry["actor"], opened["capacity"], entry.data.get("depth")
    if depth is None:
        return
    if entry.kind == "mailbox.depth" and depth > limit:
        yield broken("I9", f"{depth} messages waited for '{actor}', {limit} may", opened, entry)
    elif entry.kind == "mailbox.refused" and depth < limit:
        yield broken("I9", f"'{actor}' refused at {depth} of {limit} messages", opened, entry)


def one_activation_per_address(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """one-activation. A life that a supervisor replaces has ended before the next begins."""
    alive: dict[tuple[str, str], Entry] = {}
    for entry in log:
        who, _, what = entry.kind.partition(".")
        if entry.kind == NEW_PROCESS:
            alive.clear()
        elif who in ("actor", "activation") and what in ("started", "ended"):
            name = entry["actor"] if who == "actor" else entry["address"]
            if what == "ended":
                alive.pop((who, name), None)
            elif (who, name) in alive:
                yield broken(
                    "one-activation", f"'{name}' has two lives at once", alive[who, name], entry
                )
            else:
                alive[who, name] = entry
