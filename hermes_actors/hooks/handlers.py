"""A handler as we know it: checked once, when it is registered, and then only called.

A mistake in a signature would otherwise show itself in the middle of a stop, months later. So a
handler that asks for something its hook does not have is refused while its author is watching.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from hermes_actors.hooks.events import EVENTS, TELEMETRY_SCHEMA_VERSION
from hermes_actors.hooks.kinds import Event
from hermes_actors.hooks.refusal import RegistrationRefused, nearest

ENVELOPE = {"telemetry_schema_version": TELEMETRY_SCHEMA_VERSION}
_ANY_KIND_OF_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Handler(msgspec.Struct, frozen=True, eq=False):
    """One function on one hook. `wants` names its keyword arguments; None means all of them."""

    hook: str
    function: Callable[..., Any]
    owner: str
    label: str
    is_async: bool
    wants: frozenset[str] | None

    @classmethod
    def of(cls, hook: str, function: Callable[..., Any], owner: str) -> Handler:
        """Check a function against a hook; raises `RegistrationRefused` with the nearest name."""
        if hook not in EVENTS:
            raise RegistrationRefused(f"there is no hook '{hook}'{nearest(hook, EVENTS)}")
        name = _name(function)
        return cls(
            hook=hook,
            function=function,
            owner=owner,
            label=f"{owner}/{name}",
            is_async=_is_async(function, name),
            wants=_wanted(hook, function, name),
        )

    def arguments(self, event: Event) -> dict[str, Any]:
        """A fresh copy of what it wants: whatever it does to that stays with it."""
        fields = [name for name in event.__struct_fields__ if self._wants(name)]
        copied = {name: msgspec.to_builtins(getattr(event, name)) for name in fields}
        return copied | {name: value for name, value in ENVELOPE.items() if self._wants(name)}

    def _wants(self, name: str) -> bool:
        return self.wants is None or name in self.wants


def _name(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _is_async(function: Callable[..., Any], name: str) -> bool:
    inner = function.func if isinstance(function, functools.partial) else function
    faces = [inner, getattr(inner, "__call__", None)]  # noqa: B004  the method is inspected
    if any(inspect.isgeneratorfunction(face) or inspect.isasyncgenfunction(face) for face in faces):
        raise RegistrationRefused(f"handler '{name}' is a generator; it must return, not yield")
    return any(map(inspect.iscoroutinefunction, faces))


def _wanted(hook: str, function: Callable[..., Any], name: str) -> frozenset[str] | None:
    parameters = _parameters(function, name)
    settled = function.keywords if isinstance(function, functools.partial) else {}
    named = [p for p in parameters if p.kind not in _ANY_KIND_OF_REST and p.name not in settled]
    offered = {*EVENTS[hook].__struct_fields__, *ENVELOPE}
    for parameter in named:
        _check(hook, name, parameter, offered)
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in named)


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except TypeError:
        raise RegistrationRefused(f"a handler is a function, not {name}") from None
    except ValueError:
        raise RegistrationRefused(
            f"handler '{name}' does not say which arguments it takes; wrap it in a function"
        ) from None


def _check(hook: str, name: str, parameter: inspect.Parameter, offered: set[str]) -> None:
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise RegistrationRefused(
            f"handler '{name}' of '{hook}' takes '{parameter.name}' by position only; "
            "hooks pass keyword arguments"
        )
    if parameter.name not in offered:
        raise RegistrationRefused(
            f"handler '{name}' takes '{parameter.name}', which the hook '{hook}' does not have"
            + nearest(parameter.name, offered)
        )
