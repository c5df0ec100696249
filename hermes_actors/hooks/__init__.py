"""Hooks: what happens in the gateway, told to (and decided by) code that we did not write."""

from hermes_actors.hooks.answers import ALLOW, Decision
from hermes_actors.hooks.bus import HandlerHealth, HookBus
from hermes_actors.hooks.contributions import PluginAdapter, PluginCommand, PluginTool
from hermes_actors.hooks.events import EVENTS, TELEMETRY_SCHEMA_VERSION
from hermes_actors.hooks.kinds import Event, HookKind
from hermes_actors.hooks.loading import load_plugins
from hermes_actors.hooks.plugins import Catalogue, PluginContext
from hermes_actors.hooks.refusal import RegistrationRefused

__all__ = [
    "ALLOW",
    "EVENTS",
    "TELEMETRY_SCHEMA_VERSION",
    "Catalogue",
    "Decision",
    "Event",
    "HandlerHealth",
    "HookBus",
    "HookKind",
    "PluginAdapter",
    "PluginCommand",
    "PluginContext",
    "PluginTool",
    "RegistrationRefused",
    "load_plugins",
]
