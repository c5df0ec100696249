"""What is kept."""

from __future__ import annotations

from tests.hermes_actors.testing.cases.lines import NEW, Case, Cases

CASES: Cases = {
    "transcripts_are_valid": (
        Case("valid", ("transcript.committed session=s problems=[]",)),
        Case(
            "an open call in it",
            ('transcript.committed session=s problems=["open-call","two-users"]',),
            (
                "I6: session 's' has a transcript that no model takes: open-call; two-users "
                "(entry 1)",
            ),
        ),
    ),
    "no_ack_before_commit": (
        Case(
            "committed first", ("store.committed ops=[1,2]", "store.acked op=1", "store.acked op=2")
        ),
        Case("committed and never acked", ("store.committed ops=[1]",)),
        Case(
            "committed under this number by an earlier process",
            ("store.committed ops=[1]", NEW, "store.acked op=1"),
            ("commit-first: operation '1' was acked before its commit (entry 3)",),
        ),
        Case(
            "acked first",
            ("store.acked op=1", "store.committed ops=[1]"),
            ("commit-first: operation '1' was acked before its commit (entry 1)",),
        ),
    ),
}
