"""What must hold, whatever happened: checked on the event log alone.

Each invariant is made of small functions from a log to the violations in it. They know nothing of
the code that wrote the log, so the same check runs after a test, after a simulation and on the log
of a gateway in production. They read a log from its beginning; where the end is still to come, say
`complete=False`, and what is merely unfinished is no violation.

A log may span several processes. After `gateway.started` nothing that lived only in memory is
owed any more, but everything that was promised durably still is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from hermes_actors.journal import Entry
from hermes_actors.testing.rules import actors, messages, remote, runs, store
from hermes_actors.testing.rules.violation import Violation as Violation
from hermes_actors.testing.rules.violation import broken
from hermes_actors.testing.vocabulary import BY_NAME, COUNTS, LISTS, TERMINAL_REASONS, Kind

Rule = Callable[[Sequence[Entry], bool], Iterator[Violation]]


class Invariant(msgspec.Struct, frozen=True):
    """A promise, and the functions that find where it was broken."""

    id: str
    promise: str
    rules: tuple[Rule, ...]


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "I1",
        "Every accepted message comes to exactly one end: answered, stopped, rejected or dead.",
        (messages.every_message_ends_once,),
    ),
    Invariant(
        "I2",
        "A message gets at most one visible reply, and at most one repeat that is marked as such.",
        (messages.one_visible_reply,),
    ),
    Invariant(
        "I3",
        "Every run ends once and fires one terminal hook, the right one, after all its children "
        "are gone.",
        (runs.every_run_ends_once, runs.one_terminal_hook, runs.children_first),
    ),
    Invariant(
        "I4",
        "After the end of a run nothing of it happens: no model call, tool, send, typing or hook.",
        (runs.silence_after_the_end,),
    ),
    Invariant(
        "I5",
        "Every remote call ends once, by its own client or without it, and a client that is there "
        "hears of a cancellation once.",
        (
            remote.every_remote_call_ends_once,
            remote.the_client_is_told,
            remote.an_answered_call_is_not_cancelled,
        ),
    ),
    Invariant(
        "I6",
        "A committed transcript is valid for the next model call.",
        (store.transcripts_are_valid,),
    ),
    Invariant(
        "I7",
        "A session has one run at a time and answers in order; a chat is sent rows in the order of "
        "their commits.",
        (runs.turns_are_serial, messages.replies_in_order, messages.sends_in_commit_order),
    ),
    Invariant(
        "I8",
        "Tasks, threads, files and processes are back to their number at the start; every actor "
        "has ended.",
        (actors.back_to_the_baseline, actors.every_life_ends),
    ),
    Invariant(
        "I9",
        "A mailbox never holds more than its capacity, refuses only when full, and never refuses "
        "control.",
        (actors.mailboxes_are_bounded,),
    ),
    Invariant(
        "one-activation",
        "An address has at most one life at a time.",
        (actors.one_activation_per_address,),
    ),
    Invariant(
        "commit-first",
        "Nothing is acked, and no row is sent, before it is committed.",
        (store.no_ack_before_commit, messages.nothing_said_before_its_commit),
    ),
)
"""Every invariant there is, besides `vocabulary`: that entries have the ids they should have."""


def check(entries: Iterable[Entry], *, complete: bool = True) -> list[Violation]:
    """All violations in a log, in the order of `INVARIANTS`; an empty list is what you want.

    `complete=False` for a log that is still being written. Entries without the ids that their
    kind needs are violations of `vocabulary`, and the other invariants do not see them.
    """
    whole = list(entries)
    misspelt = {id(entry): problem for entry in whole if (problem := misspelling(entry))}
    violations = [
        broken("vocabulary", misspelt[id(entry)], entry) for entry in whole if id(entry) in misspelt
    ]
    readable = [entry for entry in whole if id(entry) not in misspelt]
    for invariant in INVARIANTS:
        for rule in invariant.rules:
            violations.extend(rule(readable, complete))
    return violations


def assert_invariants(entries: Iterable[Entry], *, complete: bool = True) -> None:
    """Raise `AssertionError` that lists every violation, if there is one."""
    violations = check(entries, complete=complete)
    if violations:
        raise AssertionError("\n".join(["invariants are broken:", *map(str, violations)]))


def misspelling(entry: Entry) -> str | None:
    """What is wrong with the form of this entry; None for a good one, or one of another kind."""
    kind = BY_NAME.get(entry.kind)
    if kind is None:
        return None
    missing = [name for name in kind.ids if entry.data.get(name) is None]
    if missing:
        return f"'{entry.kind}' has no {', '.join(missing)}"
    return _wrong_id(kind, entry) or _wrong_word(kind, entry)


def _wrong_id(kind: Kind, entry: Entry) -> str | None:
    for name in (*kind.ids, *kind.also):
        value = entry.data.get(name)
        if value is not None and not isinstance(value, _type_of(name)):
            return f"'{entry.kind}' has a {name} that is {value!r}"
    return None


def _type_of(name: str) -> tuple[type[object], ...]:
    if name in COUNTS:
        return (int,)
    return (list, tuple) if name in LISTS else (str, int)


def _wrong_word(kind: Kind, entry: Entry) -> str | None:
    for name, words in kind.words.items():
        if entry[name] not in words:
            return (
                f"'{entry.kind}' says {name} '{entry[name]}', which is none of {', '.join(words)}"
            )
    if entry.kind == "run.ended" and entry["reason"] not in TERMINAL_REASONS[entry["state"]]:
        return f"a run cannot end '{entry['state']}' for the reason '{entry['reason']}'"
    return None
