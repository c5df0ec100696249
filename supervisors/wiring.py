"""From a checked configuration to the services of a gateway: agents, sessions, the router."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import trio

from adapters.models import Shared, make_model
from hermes_actors.actors.commands import Desk
from hermes_actors.actors.commands.asked import Office
from hermes_actors.actors.driver import drive
from hermes_actors.actors.feed import Feeds
from hermes_actors.actors.house import Agent, House, Limits
from hermes_actors.actors.plugin_tools import PluginTools
from hermes_actors.actors.router import Router, always
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import Session
from hermes_actors.actors.signals import Wake
from hermes_actors.actors.taking import Manners
from hermes_actors.config import Config, Loaded
from hermes_actors.errors import ConfigError, Refusal
from hermes_actors.hooks import HookBus
from hermes_actors.hooks.plugins import Catalogue
from hermes_actors.journal import Journal
from hermes_actors.pure.agent_loop import STEER_NOTE, LoopLimits
from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.pure.commands import CommandTable, plugin_command
from hermes_actors.pure.compaction import threshold
from hermes_actors.pure.guardrails import GuardrailLimits
from hermes_actors.pure.resets import ResetPolicy
from hermes_actors.pure.routing import Route
from hermes_actors.pure.session_keys import Grouping
from hermes_actors.pure.tool_rules import DEFAULT_RULES, ToolRule
from hermes_actors.pure.transcript import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, Dialect
from hermes_actors.redact import Redactor
from hermes_actors.runtime import Registry, Spawner, System
from hermes_actors.store import Store
from hermes_actors.values import Capabilities

NO_LATER_DELIVERY = frozenset({"api_server", "cron"})
"""Surfaces whose channel is gone when the answer is: what ends later has nowhere to go."""
_DIALECTS: dict[str, Dialect] = {"anthropic": ANTHROPIC, "openai_responses": OPENAI_RESPONSES}


class Prepared(msgspec.Struct, frozen=True):
    """Everything that can be known, and refused, before anything starts."""

    loaded: Loaded
    bus: HookBus
    catalogue: Catalogue
    journal: Journal


class UnknownAgent(Refusal):
    """A message names an agent that this gateway does not have."""


class Agents:
    """Every agent of the configuration, made once."""

    def __init__(self, loaded: Loaded, catalogue: Catalogue, redactor: Redactor) -> None:
        self._config, self._catalogue = loaded.config, catalogue
        self._home = loaded.home
        self._shared = Shared(redactor=redactor)
        self._threads = trio.CapacityLimiter(self._config.limits.tool_workers * 4)
        names = {self._config.default_agent: None, **dict.fromkeys(self._config.agents)}
        self.all = {name: self._make(name) for name in names}

    def find(self, name: str) -> Agent:
        """The agent of this name; `UnknownAgent` if there is none."""
        if name not in self.all:
            raise UnknownAgent(f"there is no agent '{name}'; there are: {', '.join(self.all)}")
        return self.all[name]

    async def close(self) -> None:
        """Let go of connections to providers that nobody uses any more."""
        await self._shared.aclose()

    def _make(self, name: str) -> Agent:
        model = self._config.model_of(name)
        context = model.context_length
        return Agent(
            id=name,
            model=make_model(model, self._shared),
            model_name=model.name or model.provider,
            tools=PluginTools(self._catalogue.tools, self._config.toolsets_of(name), self._threads),
            system=self._soul(name),
            loop=_loop_limits(self._config, None if context is None else threshold(context)),
            rules={**DEFAULT_RULES, **_plugin_rules(self._catalogue)},
            dialect=_DIALECTS.get(model.provider, OPENAI_CHAT),
        )

    def _soul(self, name: str) -> str:
        profile = self._config.agents.get(name)
        path = profile.soul if profile else None
        if path is None:
            return STEER_NOTE
        try:
            return f"{Path(path).read_text(encoding='utf-8').strip()}\n\n{STEER_NOTE}"
        except (OSError, UnicodeDecodeError) as failure:
            raise ConfigError([f"agents.{name}.soul: {path} cannot be read: {failure}"]) from None


def wire(
    prepared: Prepared,
    agents: Agents,
    store: Store,
    system: System,
    spawner: Spawner,
) -> Services:
    """Put the services together. Nothing runs yet."""
    config = prepared.loaded.config
    house = House(
        store=store,
        bus=prepared.bus,
        journal=system.journal,
        agent=agents.find,
        surface=_surface,
        feeds=Feeds(),
        limits=_limits(config),
    )
    manners = _manners(config)
    sessions: Registry[Wake] = Registry(
        lambda key: Session(key, house, drive, manners=manners),
        spawner,
        system,
        idle=config.session.idle_unload,
    )
    table = _commands(prepared.catalogue)
    desk = Desk(
        Office(
            house=house,
            sessions=sessions,
            table=table,
            plugins=prepared.catalogue.commands,
            manners=manners,
        )
    )
    router = Router(
        house,
        sessions,
        table,
        desk,
        routes=[_route(rule) for rule in config.routes],
        default_agent=config.default_agent,
        grouping=manners.grouping,
        room=config.session.mailbox_size,
        busy=always(config.session.busy),
        word=desk.word,
    )
    return Services(house, sessions, router, tuple(agents.all))


def _commands(catalogue: Catalogue) -> CommandTable:
    brought = (
        plugin_command(each.name, each.description, each.args_hint)
        for each in catalogue.commands.values()
    )
    return CommandTable([*COMMANDS, *brought])


def _manners(config: Config) -> Manners:
    session, reset = config.session, config.session.reset
    return Manners(
        grouping=Grouping(session.group_sessions_per_user, session.thread_sessions_per_user),
        reset=ResetPolicy(reset.mode, reset.at_hour, reset.idle_minutes),
        notify=reset.notify,
        offset=_offset(config.gateway.timezone),
    )


def _offset(zone: str) -> Callable[[float], float]:
    """Seconds east of UTC at a moment, in the configured time zone."""
    place = None if zone == "local" else zoneinfo.ZoneInfo(zone)

    def east(moment: float) -> float:
        there = datetime.fromtimestamp(moment, UTC).astimezone(place)
        distance = there.utcoffset()
        return 0.0 if distance is None else distance.total_seconds()

    return east


def _surface(platform: str) -> Capabilities:
    return Capabilities(supports_async_delivery=platform not in NO_LATER_DELIVERY)


def _limits(config: Config) -> Limits:
    limits = config.limits
    return Limits(
        turn_deadline=limits.turn_deadline,
        idle_deadline=limits.idle_deadline,
        tool_workers=limits.tool_workers,
        tool_batch_deadline=limits.tool_batch_deadline,
    )


def _loop_limits(config: Config, compact_at: int | None) -> LoopLimits:
    rails = config.tool_loop_guardrails
    return LoopLimits(
        max_iterations=config.limits.max_iterations,
        tokens_per_run=config.limits.tokens_per_run,
        compact_at=compact_at,
        guardrails=msgspec.convert(msgspec.to_builtins(rails), GuardrailLimits),
    )


def _plugin_rules(catalogue: Catalogue) -> dict[str, ToolRule]:
    return {
        tool.name: ToolRule(idempotent=True, company="any")
        for tool in catalogue.tools.values()
        if tool.idempotent
    }


def _route(rule: object) -> Route:
    built: dict[str, object] = msgspec.to_builtins(rule)
    match = built.pop("match", {})
    assert isinstance(match, dict)
    return Route(agent=str(built["agent"]), **match)
