"""Actors, mailboxes, and what is left over."""

from __future__ import annotations

from tests.hermes_actors.testing.cases.lines import COUNTED, NEW, Case, Cases

CASES: Cases = {
    "back_to_the_baseline": (
        Case("the same", (f"census moment=start {COUNTED}", f"census moment=end {COUNTED}")),
        Case(
            "fewer",
            (
                f"census moment=start {COUNTED}",
                "census moment=end tasks=1 threads=1 fds=2 processes=0",
            ),
        ),
        Case("the process is gone", (f"census moment=start {COUNTED}", NEW)),
        Case(
            "more",
            (
                f"census moment=start {COUNTED}",
                'census moment=end tasks=4 threads=2 fds=10 processes=1 alive=["main","pump"]',
            ),
            (
                "I8: tasks grew from 3 to 4, alive: ['main', 'pump'] (entries 1, 2)",
                "I8: threads grew from 1 to 2 (entries 1, 2)",
                "I8: fds grew from 9 to 10 (entries 1, 2)",
                "I8: processes grew from 0 to 1 (entries 1, 2)",
            ),
        ),
        Case(
            "counted once only",
            (f"census moment=start of=session {COUNTED}",),
            ("I8: what is alive was counted at the start of 'session' only (entry 1)",),
        ),
        Case(
            "two things, each with its own baseline",
            (
                f"census moment=start of=a {COUNTED}",
                "census moment=start of=b tasks=9 threads=1 fds=9 processes=0",
                "census moment=end of=b tasks=9 threads=1 fds=9 processes=0",
                f"census moment=end of=a {COUNTED}",
            ),
        ),
    ),
    "every_life_ends": (
        Case("ended", ("actor.started actor=a", "actor.ended actor=a")),
        Case("the process is gone", ("actor.started actor=a", NEW)),
        Case(
            "crashed, and started again",
            (
                "actor.started actor=a",
                "actor.crashed actor=a",
                "actor.ended actor=a",
                "actor.started actor=a",
                "actor.ended actor=a",
            ),
        ),
        Case(
            "left over",
            ("actor.started actor=a",),
            ("I8: actor 'a' started and never ended (entry 1)",),
        ),
    ),
    "mailboxes_are_bounded": (
        Case(
            "full to the brim",
            (
                "mailbox.opened actor=a capacity=2",
                "mailbox.refused actor=a lane=work depth=2",
                "mailbox.depth actor=a depth=2",
            ),
        ),
        Case("no capacity recorded", ("mailbox.depth actor=a depth=99",)),
        Case(
            "another process, another capacity",
            (
                "mailbox.opened actor=a capacity=2",
                NEW,
                "mailbox.depth actor=a depth=3",
            ),
        ),
        Case(
            "overfull",
            ("mailbox.opened actor=a capacity=2", "mailbox.depth actor=a depth=3"),
            ("I9: 3 messages waited for 'a', 2 may (entries 1, 2)",),
        ),
        Case(
            "refused with room left",
            ("mailbox.opened actor=a capacity=2", "mailbox.refused actor=a lane=work depth=1"),
            ("I9: 'a' refused at 1 of 2 messages (entries 1, 2)",),
        ),
        Case(
            "refused control",
            ("mailbox.refused actor=a lane=control",),
            ("I9: 'a' refused on its control lane (entry 1)",),
        ),
    ),
    "one_activation_per_address": (
        Case(
            "one after the other",
            (
                "activation.started address=a",
                "activation.ended address=a",
                "activation.started address=a",
                "activation.ended address=a",
            ),
        ),
        Case(
            "an actor and an address of one name",
            (
                "activation.started address=a",
                "actor.started actor=a",
                "actor.ended actor=a",
                "activation.ended address=a",
            ),
        ),
        Case(
            "the process is gone",
            ("activation.started address=a", NEW, "activation.started address=a"),
        ),
        Case(
            "two activations",
            ("activation.started address=a", "activation.started address=a"),
            ("one-activation: 'a' has two lives at once (entries 1, 2)",),
        ),
        Case(
            "two lives",
            ("actor.started actor=a", "actor.started actor=a", "actor.ended actor=a"),
            ("one-activation: 'a' has two lives at once (entries 1, 2)",),
        ),
    ),
}
