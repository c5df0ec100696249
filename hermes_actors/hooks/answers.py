"""What a handler may answer, and what we make of it. No waiting here: values in, values out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_actors.hooks.kinds import Event, Policy, Selection, Transformation


class Garbage(ValueError):
    """A handler returned something that its hook does not understand."""


class Decision(msgspec.Struct, frozen=True):
    """The outcome of a policy hook.

    `action` is `allow`, or what the hook's table allows against it: `block` (with `message`),
    `approve` (a person must say yes first; `message`, `rule_key`), `skip` (with `message`),
    `rewrite` (with `text`). `by` names the handler; `failed_closed` says that it did not decide
    but failed, and that its failure is what stands in the way.
    """

    action: str = "allow"
    message: str = ""
    rule_key: str = ""
    text: str = ""
    by: str = ""
    failed_closed: bool = False

    @property
    def allowed(self) -> bool:
        """True when nobody objected."""
        return self.action == "allow"


ALLOW = Decision()


def read(event: Event, value: Any) -> Decision | str | None:
    """The answer in our own terms; None is no opinion. Raises `Garbage`, saying what was expected.

    A coroutine is garbage everywhere: it means an `async` handler hidden in a plain function,
    whose work would otherwise silently never be done.
    """
    if inspect.iscoroutine(value):
        value.close()
        raise Garbage("returned a coroutine; write the handler as 'async def'")
    if isinstance(event, Policy):
        return _decision(event, value)
    if isinstance(event, Transformation | Selection):
        return _text(event, value)
    return None


def _decision(event: Policy, value: Any) -> Decision | None:
    if value is None:
        return None
    decision = value if isinstance(value, Decision) else _from_mapping(event, value)
    if decision.allowed:
        return None
    if decision.action not in event.answers:
        raise Garbage(f"answered with an action that is not one of {_listed(event)}")
    if decision.action == "rewrite" and not decision.text:
        raise Garbage("answered 'rewrite' without a text")
    return decision


def _from_mapping(event: Policy, value: Any) -> Decision:
    if not isinstance(value, Mapping):
        raise Garbage(f"returned {type(value).__name__}; expected None or {{'action': …}}")
    # "reason" is how existing plugins spell the message of a skip.
    fields = {
        "action": value.get("action"),
        "message": value.get("message", value.get("reason", "")),
        "rule_key": value.get("rule_key", ""),
        "text": value.get("text", ""),
    }
    try:
        return msgspec.convert(fields, Decision)
    except msgspec.ValidationError as mistake:
        raise Garbage(f"answered {_listed(event)} wrongly: {mistake}") from None


def _listed(event: Policy) -> str:
    return ", ".join(f"'{action}'" for action in sorted({"allow", *event.answers}))


def _text(event: Transformation | Selection, value: Any) -> str | None:
    if isinstance(event, Transformation) and event.joins and isinstance(value, Mapping):
        value = value.get("context")
    if value is None or isinstance(value, str):
        return value or None
    raise Garbage(f"returned {type(value).__name__}; expected a text or None")
