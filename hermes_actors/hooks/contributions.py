"""What plugins bring along besides hooks: tools, commands and adapters, as plain values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from hermes_actors.hooks.refusal import RegistrationRefused

_TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_OTHER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class PluginTool(msgspec.Struct, frozen=True):
    """A tool for the model. `handler(arguments)` returns its result; `parameters` is the JSON
    schema of the arguments; `idempotent` tools may be run again after a crash."""

    name: str
    owner: str
    handler: Callable[..., Any]
    description: str
    parameters: dict[str, Any]
    toolset: str
    idempotent: bool


class PluginCommand(msgspec.Struct, frozen=True):
    """A slash command for people. `handler(raw_args)` returns the text to show."""

    name: str
    owner: str
    handler: Callable[..., Any]
    description: str
    args_hint: str


class PluginAdapter(msgspec.Struct, frozen=True):
    """A way in and out. `factory` builds the adapter when the configuration asks for it."""

    name: str
    owner: str
    factory: Callable[..., Any]
    label: str


Contribution = PluginTool | PluginCommand | PluginAdapter


def checked_tool(
    name: str,
    owner: str,
    handler: Callable[..., Any],
    *,
    description: str,
    parameters: dict[str, Any] | None,
    toolset: str,
    idempotent: bool,
) -> PluginTool:
    """Check a tool; the description falls back to the first line of the handler's docstring."""
    _check("tool", name, _TOOL_NAME, handler)
    words = description or _first_line(handler)
    if not words:
        raise RegistrationRefused(f"tool '{name}' has no description: no model would know its use")
    schema = _schema(name, parameters)
    return PluginTool(name, owner, handler, words, schema, toolset, idempotent)


def checked_command(
    name: str, owner: str, handler: Callable[..., Any], *, description: str, args_hint: str
) -> PluginCommand:
    """Check a command; its name may be written with the slash or without."""
    bare = name.removeprefix("/")
    _check("command", bare, _OTHER_NAME, handler)
    return PluginCommand(bare, owner, handler, description or _first_line(handler), args_hint)


def checked_adapter(
    name: str, owner: str, factory: Callable[..., Any], *, label: str
) -> PluginAdapter:
    """Check an adapter; its name is the section of the configuration that belongs to it."""
    _check("adapter", name, _OTHER_NAME, factory)
    return PluginAdapter(name, owner, factory, label or name)


def _check(what: str, name: str, pattern: re.Pattern[str], function: object) -> None:
    if not pattern.fullmatch(name):
        raise RegistrationRefused(
            f"'{name}' cannot be the name of this {what}: use {pattern.pattern}"
        )
    if not callable(function):
        raise RegistrationRefused(
            f"the {what} '{name}' needs a function, not {type(function).__name__}"
        )


def _schema(tool: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    wanted = {"type": "object", "properties": {}} if parameters is None else parameters
    try:
        # Through JSON and back: what goes to a model is plain data, and the copy is ours alone.
        copy = msgspec.json.decode(msgspec.json.encode(wanted))
    except (TypeError, ValueError, RecursionError) as mistake:
        raise RegistrationRefused(f"the parameters of tool '{tool}': {mistake}") from None
    if not isinstance(copy, dict) or copy.get("type") != "object":
        raise RegistrationRefused(f'the parameters of tool \'{tool}\' need "type": "object"')
    return copy


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0]
