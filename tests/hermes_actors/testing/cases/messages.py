"""Messages and replies."""

from __future__ import annotations

from tests.hermes_actors.testing.cases.lines import (
    ANSWERED,
    ASKED,
    BEGIN,
    DONE,
    NEW,
    OK,
    REPEAT,
    REPLY,
    ROW,
    Case,
    Cases,
)

CASES: Cases = {
    "every_message_ends_once": (
        Case("answered", (ASKED, ANSWERED)),
        Case("rejected before it was accepted", ("inbound.ended key=k state=rejected",)),
        Case("lost", (ASKED,), ("I1: message 'k' was accepted and never ended (entry 1)",)),
        Case(
            "accepted twice",
            (ASKED, ASKED, ANSWERED),
            ("I1: message 'k' was accepted twice, so it was two messages (entries 1, 2)",),
        ),
        Case(
            "ended twice",
            (ASKED, ANSWERED, "inbound.ended key=k state=stopped"),
            ("I1: message 'k' ended twice (entries 2, 3)",),
        ),
        Case(
            "never accepted",
            (ANSWERED,),
            ("I1: message 'k' ended 'answered' but was never accepted (entry 1)",),
        ),
        Case(
            "still owed after a restart",
            (ASKED, NEW),
            ("I1: message 'k' was accepted and never ended (entry 1)",),
        ),
        Case("answered after a restart", (ASKED, NEW, ANSWERED)),
    ),
    "one_visible_reply": (
        Case("one reply", (ROW, REPLY)),
        Case("one marked repeat", (ROW, REPLY, NEW, REPEAT)),
        Case("a repeat alone, when the first send left no trace", (ROW, NEW, REPEAT)),
        Case(
            "two replies",
            (ROW, REPLY, REPLY),
            ("I2: message 'k' got a second reply, not marked as repeat (entries 2, 3)",),
        ),
        Case(
            "two repeats",
            (ROW, REPLY, REPEAT, REPEAT),
            ("I2: message 'k' got a second repeat (entries 3, 4)",),
        ),
        Case(
            "a repeat of something else",
            (
                ROW,
                "outbox.committed chat=c outbox=2",
                REPLY,
                "reply.sent key=k outbox=2 chat=c repeat=true",
            ),
            (
                "I2: the repeat for message 'k' is row '2', but its reply was row '1' "
                "(entries 3, 4)",
            ),
        ),
    ),
    "replies_in_order": (
        Case(
            "in order",
            (
                "run.started run=r session=s agent=main key=a",
                OK,
                DONE,
                "run.started run=q session=s agent=main key=b",
                OK.replace("=r ", "=q "),
                DONE.replace("=r ", "=q "),
                ROW,
                "outbox.committed chat=c outbox=2",
                "reply.sent key=a outbox=1 chat=c repeat=false",
                "reply.sent key=b outbox=2 chat=c repeat=false",
            ),
        ),
        Case(
            "a control word overtakes",
            (
                "run.started run=r session=s agent=main key=a",
                OK,
                DONE,
                ROW,
                "outbox.committed chat=d outbox=2",
                "reply.sent key=stop outbox=2 chat=d repeat=false",
                "reply.sent key=a outbox=1 chat=c repeat=false",
            ),
        ),
        Case(
            "the other way round",
            (
                "run.started run=r session=s agent=main key=a",
                OK,
                DONE,
                "run.started run=q session=s agent=main key=b",
                OK.replace("=r ", "=q "),
                DONE.replace("=r ", "=q "),
                ROW,
                "outbox.committed chat=d outbox=2",
                "reply.sent key=b outbox=2 chat=d repeat=false",
                "reply.sent key=a outbox=1 chat=c repeat=false",
            ),
            (
                "I7: session 's' answered 'b' before 'a', though it had taken them "
                "the other way round "
                "(entries 9, 10)",
            ),
        ),
    ),
    "sends_in_commit_order": (
        Case(
            "in order, one given up",
            (
                ROW,
                "outbox.committed chat=c outbox=2",
                "outbox.committed chat=c outbox=3",
                "platform.sent chat=c outbox=1",
                "platform.sent chat=c outbox=3",
            ),
        ),
        Case(
            "another chat is faster",
            (
                ROW,
                "outbox.committed chat=d outbox=2",
                "platform.sent chat=d outbox=2",
                "platform.sent chat=c outbox=1",
            ),
        ),
        Case(
            "an edit of an earlier row",
            (
                ROW,
                "outbox.committed chat=c outbox=2",
                "platform.sent chat=c outbox=1",
                "platform.sent chat=c outbox=2",
                "platform.sent chat=c outbox=1",
            ),
        ),
        Case(
            "overtaken",
            (
                ROW,
                "outbox.committed chat=c outbox=2",
                "platform.sent chat=c outbox=2",
                "platform.sent chat=c outbox=1",
            ),
            (
                "I7: chat 'c' was sent '2' before '1', which had been committed first "
                "(entries 3, 4)",
            ),
        ),
    ),
    "nothing_said_before_its_commit": (
        Case("committed first", (ROW, "platform.sent chat=c outbox=1", REPLY)),
        Case(
            "a preview of a running run",
            (BEGIN, "platform.sent chat=c outbox=1 run=r", OK, DONE, ROW),
        ),
        Case("a note without a row", ("platform.sent chat=c",)),
        Case(
            "sent first",
            ("platform.sent chat=c outbox=1", REPLY, ROW),
            ("commit-first: row '1' was sent before it was committed (entry 1)",),
        ),
    ),
}
