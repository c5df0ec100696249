"""Remote calls."""

from __future__ import annotations

from tests.hermes_actors.testing.cases.lines import CALL, CANCELLED, FRAME, NEW, Case, Cases

CASES: Cases = {
    "every_remote_call_ends_once": (
        Case("a result", (CALL, "remote.ended call=x how=result by=phone")),
        Case("the process is gone", (CALL, NEW)),
        Case("no end", (CALL,), ("I5: call 'x' never ended (entry 1)",)),
        Case(
            "two ends",
            (CALL, "remote.ended call=x how=timeout", "remote.ended call=x how=result by=phone"),
            ("I5: call 'x' ended twice: 'timeout', 'result' (entries 2, 3)",),
        ),
        Case(
            "another client's answer",
            (CALL, "remote.ended call=x how=result by=thief"),
            ("I5: call 'x' belongs to client 'phone' but 'thief' ended it (entries 1, 2)",),
        ),
        Case(
            "called twice",
            (CALL, CALL, "remote.ended call=x how=result"),
            ("I5: call 'x' was made twice (entries 1, 2)",),
        ),
        Case(
            "never called",
            ("remote.ended call=x how=error",),
            ("I5: call 'x' ended but was never made (entry 1)",),
        ),
    ),
    "the_client_is_told": (
        Case("told after the end", (CALL, CANCELLED, FRAME)),
        Case("told before the end", (CALL, FRAME, CANCELLED)),
        Case("gone, so nobody to tell", (CALL, "client.gone client=phone", CANCELLED)),
        Case("its process is gone, and the next one ends it", (CALL, NEW, CANCELLED)),
        Case("another way to end needs no frame", (CALL, "remote.ended call=x how=timeout")),
        Case(
            "not told",
            (CALL, CANCELLED),
            ("I5: call 'x' was cancelled and its client not told (entry 2)",),
        ),
        Case(
            "another client is gone",
            (CALL, "client.gone client=tablet", CANCELLED),
            ("I5: call 'x' was cancelled and its client not told (entry 3)",),
        ),
        Case(
            "gone, back again, and called anew",
            ("client.gone client=phone", CALL, CANCELLED),
            ("I5: call 'x' was cancelled and its client not told (entry 3)",),
        ),
        Case(
            "the wrong client is told",
            (CALL, CANCELLED, "remote.cancel_frame call=x client=tablet"),
            (
                "I5: call 'x' belongs to client 'phone' but 'tablet' was told of its cancellation "
                "(entries 1, 3)",
                "I5: call 'x' was cancelled and its client not told (entry 2)",
            ),
        ),
    ),
    "an_answered_call_is_not_cancelled": (
        Case("cancelled and told", (CALL, CANCELLED, FRAME)),
        Case(
            "told twice",
            (CALL, CANCELLED, FRAME, FRAME),
            ("I5: the client was told twice that call 'x' is cancelled (entries 3, 4)",),
        ),
        Case(
            "answered, and told that it is cancelled",
            (CALL, "remote.ended call=x how=result by=phone", FRAME),
            (
                "I5: call 'x' ended 'result' but its client was told that it is cancelled "
                "(entries 2, 3)",
            ),
        ),
    ),
}
