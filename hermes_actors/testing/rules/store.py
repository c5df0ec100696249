"""What is kept: transcripts that a model will accept, and no word of success before the commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_actors.journal import Entry
from hermes_actors.testing.rules.violation import NEW_PROCESS, Violation, broken


def transcripts_are_valid(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I6. Whoever commits a transcript records what its validation found."""
    for entry in log:
        if entry.kind == "transcript.committed" and entry["problems"]:
            yield broken(
                "I6",
                f"session '{entry['session']}' has a transcript that no model takes: "
                f"{'; '.join(map(str, entry['problems']))}",
                entry,
            )


def no_ack_before_commit(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """commit-first, for the store: told is kept."""
    committed: set[object] = set()
    for entry in log:
        if entry.kind == NEW_PROCESS:
            committed.clear()  # operations are numbered anew
        elif entry.kind == "store.committed":
            committed.update(entry["ops"])
        elif entry.kind == "store.acked" and entry["op"] not in committed:
            yield broken(
                "commit-first", f"operation '{entry['op']}' was acked before its commit", entry
            )
