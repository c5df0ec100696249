"""Runs."""

from __future__ import annotations

from tests.hermes_actors.testing.cases.lines import (
    BEGIN,
    CUT,
    DONE,
    NEW,
    OK,
    ROW,
    TOLD,
    Case,
    Cases,
)

CASES: Cases = {
    "every_run_ends_once": (
        Case("ended", (BEGIN, OK, DONE)),
        Case("ended by the next process", (BEGIN, NEW, CUT.replace("user_stop", "crash"), TOLD)),
        Case("no end", (BEGIN,), ("I3: run 'r' started and never ended (entry 1)",)),
        Case(
            "no end, and the process is gone",
            (BEGIN, NEW),
            ("I3: run 'r' started and never ended (entry 1)",),
        ),
        Case(
            "two ends",
            (BEGIN, OK, CUT, DONE),
            ("I3: run 'r' has two 'run.ended' (entries 2, 3)",),
        ),
        Case(
            "two beginnings",
            (BEGIN, BEGIN, OK, DONE),
            ("I3: run 'r' has two 'run.started' (entries 1, 2)",),
        ),
        Case("from nowhere", (OK, DONE), ("I3: run 'r' ended but never started (entry 1)",)),
    ),
    "one_terminal_hook": (
        Case("completed", (BEGIN, OK, DONE)),
        Case("stopped", (BEGIN, CUT, TOLD)),
        Case(
            "halted is told as stopped", (BEGIN, "run.ended run=r state=halted reason=budget", TOLD)
        ),
        Case("told by the next process", (BEGIN, CUT, NEW, TOLD)),
        Case("another hook on the way", (BEGIN, "hook.fired run=r hook=pre_llm_call", OK, DONE)),
        Case(
            "no hook",
            (BEGIN, CUT),
            ("I3: run 'r' ended 'stopped' and no terminal hook was fired (entry 2)",),
        ),
        Case(
            "two hooks",
            (BEGIN, CUT, TOLD, TOLD),
            ("I3: run 'r' fired a second terminal hook, 'agent_loop_stopped' (entries 3, 4)",),
        ),
        Case(
            "the wrong hook",
            (BEGIN, CUT, DONE),
            ("I3: run 'r' ended 'stopped' but fired 'agent_loop_completed' (entries 2, 3)",),
        ),
        Case(
            "too early",
            (BEGIN, TOLD, CUT),
            ("I3: run 'r' fired 'agent_loop_stopped' before its end was recorded (entry 2)",),
        ),
    ),
    "children_first": (
        Case(
            "gone in time",
            (BEGIN, "child.started run=r child=a", "child.ended run=r child=a", OK, DONE),
        ),
        Case(
            "died with its process",
            (BEGIN, "child.started run=r child=a", NEW, CUT.replace("user_stop", "crash"), TOLD),
        ),
        Case(
            "outlives its run",
            (BEGIN, "child.started run=r child=a", OK, DONE, "child.ended run=r child=a"),
            ("I3: run 'r' ended while its child 'a' lived (entries 2, 3)",),
        ),
        Case(
            "never ends",
            (BEGIN, OK, DONE, "child.started run=r child=a"),
            ("I3: child 'a' of run 'r' never ended (entry 4)",),
        ),
    ),
    "silence_after_the_end": (
        Case(
            "all that a run does, while it runs",
            (
                BEGIN,
                "hook.fired run=r hook=pre_llm_call",
                "model.called run=r",
                "model.closed run=r",
                "typing.sent run=r",
                "tool.started run=r call=x tool=t",
                "tool.ended run=r call=x outcome=ok",
                "platform.sent chat=c run=r",
                CUT,
                TOLD,
            ),
        ),
        Case("the delivery of its row", (BEGIN, ROW, OK, DONE, "platform.sent chat=c outbox=1")),
        Case("another run", (BEGIN, OK, DONE, "typing.sent run=q")),
        *(
            Case(
                f"{act.split()[0]} after the end",
                (BEGIN, CUT, TOLD, act),
                (f"I4: run 'r' had ended, and then came {act.split()[0]} (entries 2, 4)",),
            )
            for act in (
                "child.started run=r child=a",
                "model.called run=r",
                "model.closed run=r",
                "platform.sent chat=c run=r",
                "remote.called run=r call=x client=phone",
                "tool.ended run=r call=x outcome=ok",
                "tool.started run=r call=x tool=t",
                "typing.sent run=r",
            )
        ),
        Case(
            "a hook after the end",
            (BEGIN, CUT, TOLD, "hook.fired run=r hook=pre_llm_call"),
            ("I4: run 'r' had ended, and then came hook.fired 'pre_llm_call' (entries 2, 4)",),
        ),
    ),
    "turns_are_serial": (
        Case(
            "one after the other",
            (
                BEGIN,
                OK,
                DONE,
                BEGIN.replace("=r ", "=q "),
                OK.replace("=r ", "=q "),
                DONE.replace("=r ", "=q "),
            ),
        ),
        Case(
            "two sessions side by side",
            (
                BEGIN,
                "run.started run=q session=t agent=main",
                OK,
                DONE,
                OK.replace("=r ", "=q "),
                DONE.replace("=r ", "=q "),
            ),
        ),
        Case(
            "two at once",
            (BEGIN, BEGIN.replace("=r ", "=q "), OK, OK.replace("=r ", "=q ")),
            ("I7: session 's' started run 'q' during 'r' (entries 1, 2)",),
        ),
        Case(
            "a late end of the first does not end the second",
            (
                BEGIN,
                BEGIN.replace("=r ", "=q "),
                OK,
                BEGIN.replace("=r ", "=p "),
            ),
            (
                "I7: session 's' started run 'q' during 'r' (entries 1, 2)",
                "I7: session 's' started run 'p' during 'q' (entries 2, 4)",
            ),
        ),
    ),
}
