"""What a handler returns is read strictly, and what cannot be read is said plainly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hermes_actors.hooks import Decision
from hermes_actors.hooks.answers import Garbage, read
from hermes_actors.hooks.kinds import Event

from .doubles import CHOICE, DISPATCH, PROMPT, REPLY, STOPPED, TOOL


@pytest.mark.parametrize(
    ("event", "value", "meaning"),
    [
        (TOOL, None, None),
        (TOOL, {"action": "allow"}, None),
        (TOOL, {"action": "allow", "message": "I looked"}, None),
        (TOOL, {"action": "block", "message": "no"}, Decision(action="block", message="no")),
        (TOOL, {"action": "block"}, Decision(action="block")),
        (
            TOOL,
            {"action": "approve", "message": "sure?", "rule_key": "rm"},
            Decision(action="approve", message="sure?", rule_key="rm"),
        ),
        (TOOL, Decision(action="block"), Decision(action="block")),
        (TOOL, Decision(), None),
        (TOOL, {"action": "block", "unknown": 1}, Decision(action="block")),
        (DISPATCH, {"action": "skip", "reason": "s"}, Decision(action="skip", message="s")),
        (DISPATCH, {"action": "rewrite", "text": "t"}, Decision(action="rewrite", text="t")),
        (REPLY, "text", "text"),
        (REPLY, "", None),
        (REPLY, None, None),
        (PROMPT, {"context": "text"}, "text"),
        (PROMPT, {"context": ""}, None),
        (PROMPT, {}, None),
        (PROMPT, "text", "text"),
        (CHOICE, "coder", "coder"),
        (CHOICE, None, None),
        (STOPPED, object(), None),
    ],
)
def test_every_answer_that_a_hook_understands(event: Event, value: Any, meaning: object) -> None:
    assert read(event, value) == meaning


@pytest.mark.parametrize(
    ("event", "value", "complaint"),
    [
        (TOOL, True, "returned bool; expected None or {'action': …}"),
        (TOOL, "block", "returned str; expected None or {'action': …}"),
        (TOOL, {}, "answered 'allow', 'approve', 'block' wrongly: "),
        (TOOL, {"action": "skip"}, "answered with an action that is not one of 'allow', 'approve'"),
        (TOOL, {"action": "block", "message": 1}, "answered 'allow', 'approve', 'block' wrongly"),
        (TOOL, Decision(action="skip"), "answered with an action that is not one of"),
        (DISPATCH, {"action": "block"}, "answered with an action that is not one of 'allow'"),
        (DISPATCH, {"action": "rewrite"}, "answered 'rewrite' without a text"),
        (REPLY, 42, "returned int; expected a text or None"),
        (REPLY, {"context": "text"}, "returned dict; expected a text or None"),
        (REPLY, b"text", "returned bytes; expected a text or None"),
        (PROMPT, {"context": 42}, "returned int; expected a text or None"),
        (CHOICE, ["coder"], "returned list; expected a text or None"),
    ],
)
def test_every_answer_that_it_does_not(event: Event, value: Any, complaint: str) -> None:
    with pytest.raises(Garbage) as caught:
        read(event, value)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("event", [TOOL, REPLY, PROMPT, CHOICE, STOPPED])
def test_a_coroutine_is_no_answer_anywhere_and_is_closed(event: Event) -> None:
    async def forgotten() -> None: ...

    make: Callable[[], Any] = forgotten
    with pytest.raises(Garbage, match="write the handler as 'async def'"):
        read(event, make())  # that it was closed shows in the absence of a warning
