"""Plugins: a function `register(ctx)` that says what it wants to bring along.

A plugin counts whole or not at all: what it registered before it raised is forgotten. What it may
bring along is hooks, tools, commands and adapters; each name is taken once, and those of built-in
ones are taken from the start.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from hermes_actors.hooks.bus import HookBus
from hermes_actors.hooks.contributions import (
    Contribution,
    PluginAdapter,
    PluginCommand,
    PluginTool,
    checked_adapter,
    checked_command,
    checked_tool,
)
from hermes_actors.hooks.handlers import Handler
from hermes_actors.hooks.refusal import RegistrationRefused

OURSELVES = "hermes-actors"

F = TypeVar("F", bound=Callable[..., Any])
Register = Callable[["PluginContext"], object]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Catalogue:
    """What all plugins have brought along, by name. Names are taken once.

    `reserved_*` are the names of built-in tools, commands and adapters, which no plugin can take.
    """

    def __init__(
        self,
        bus: HookBus,
        *,
        reserved_tools: Iterable[str] = (),
        reserved_commands: Iterable[str] = (),
        reserved_adapters: Iterable[str] = (),
    ) -> None:
        self.tools: dict[str, PluginTool] = {}
        self.commands: dict[str, PluginCommand] = {}
        self.adapters: dict[str, PluginAdapter] = {}
        self._bus = bus
        self._owners: dict[tuple[str, str], str] = {
            **{("tool", name): OURSELVES for name in reserved_tools},
            **{("command", name): OURSELVES for name in reserved_commands},
            **{("adapter", name): OURSELVES for name in reserved_adapters},
        }

    def install(
        self, owner: str, register: Register, settings: Mapping[str, Any] = NOTHING
    ) -> None:
        """Let a plugin register; if anything is raised on the way, it has registered nothing."""
        context = PluginContext(owner, self._owners, settings)
        try:
            leftover = register(context)
        finally:
            context.close()
        _refuse_unrun(leftover)
        self._adopt(context)

    def _adopt(self, context: PluginContext) -> None:
        for (kind, name), spec in context.specs.items():
            self._owners[kind, name] = spec.owner
            match spec:
                case PluginTool():
                    self.tools[name] = spec
                case PluginCommand():
                    self.commands[name] = spec
                case PluginAdapter():
                    self.adapters[name] = spec
        for handler in context.handlers:
            self._bus.add(handler)


class PluginContext:
    """What `register(ctx)` gets. Each method takes a function, or is used as a decorator.

    `owner` is the plugin's name and `settings` its table of the configuration. Mistakes raise
    `RegistrationRefused` at the line that makes them. When `register` has returned, the context
    is closed.
    """

    def __init__(
        self, owner: str, owners: Mapping[tuple[str, str], str], settings: Mapping[str, Any]
    ) -> None:
        self.owner, self.settings = owner, settings
        self.handlers: list[Handler] = []
        self.specs: dict[tuple[str, str], Contribution] = {}
        self._owners, self._closed = owners, False

    def hook(self, name: str, handler: Callable[..., Any] | None = None) -> Callable[[F], F]:
        """Call `handler(**kwargs)`, sync or async, whenever the hook fires."""

        def take(function: F) -> F:
            self._check_open()
            self.handlers.append(Handler.of(name, function, self.owner))
            return function

        return _used_at_once(take, handler)

    def tool(
        self,
        name: str,
        handler: Callable[..., Any] | None = None,
        *,
        description: str = "",
        parameters: dict[str, Any] | None = None,
        toolset: str = "plugins",
        idempotent: bool = False,
    ) -> Callable[[F], F]:
        """Offer the model a tool. `parameters` is the JSON schema of its arguments."""

        def take(function: F) -> F:
            spec = checked_tool(
                name,
                self.owner,
                function,
                description=description,
                parameters=parameters,
                toolset=toolset,
                idempotent=idempotent,
            )
            self._claim("tool", spec)
            return function

        return _used_at_once(take, handler)

    def command(
        self,
        name: str,
        handler: Callable[..., Any] | None = None,
        *,
        description: str = "",
        args_hint: str = "",
    ) -> Callable[[F], F]:
        """Offer people a slash command."""

        def take(function: F) -> F:
            spec = checked_command(
                name, self.owner, function, description=description, args_hint=args_hint
            )
            self._claim("command", spec)
            return function

        return _used_at_once(take, handler)

    def adapter(
        self, name: str, factory: Callable[..., Any] | None = None, *, label: str = ""
    ) -> Callable[[F], F]:
        """Offer another way in and out; `factory` is called when it is configured."""

        def take(function: F) -> F:
            self._claim("adapter", checked_adapter(name, self.owner, function, label=label))
            return function

        return _used_at_once(take, factory)

    def close(self) -> None:
        """From now on registering raises: it would be too late, and silently lost."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RegistrationRefused(f"'{self.owner}' registers after 'register' has returned")

    def _claim(self, kind: str, spec: Contribution) -> None:
        self._check_open()
        key = kind, spec.name
        mine = self.specs.get(key)
        taken_by = mine.owner if mine is not None else self._owners.get(key)
        if taken_by is not None:
            raise RegistrationRefused(
                f"the {kind} '{spec.name}' of '{self.owner}' is already taken by '{taken_by}'"
            )
        self.specs[key] = spec


def _used_at_once(take: Callable[[F], F], function: Callable[..., Any] | None) -> Callable[[F], F]:
    if function is not None:
        cast("Callable[[Any], Any]", take)(function)
    return take


def _refuse_unrun(leftover: object) -> None:
    """What a call gives back instead of running: whatever it would register is not registered."""
    if inspect.iscoroutine(leftover):
        leftover.close()
    elif not (inspect.isgenerator(leftover) or inspect.isasyncgen(leftover)):
        return
    raise RegistrationRefused(
        "'register' must be a plain function: without 'async', without 'yield'"
    )
