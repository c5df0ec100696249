"""What no single key can tell: keys that contradict or need each other.

A check reads a whole `Config` and yields problems. It runs only if nothing was wrong with the
tables it speaks about: the consequences of a mistake are not worth a second line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from hermes_actors.config.adapters import BUILT_IN_PROVIDER, REMOTE_TOOLSETS, ChatSettings
from hermes_actors.config.problems import Problem
from hermes_actors.config.schema import Config, ModelSettings, RouteMatch, chosen
from hermes_actors.config.values import spell

Check = Callable[[Config], Iterator[Problem]]

# Service managers kill a process 90 s after asking it to stop; stay clear of that.
_PATIENCE_OF_SERVICE_MANAGERS = 75.0


def contradictions(config: Config, found: Sequence[Problem]) -> Iterator[Problem]:
    """Problems between keys, except in tables in which `found` has problems already."""
    for tables, check in _CHECKS.items():
        if not any(problem.key.startswith(tables) for problem in found):
            yield from check(config)


def doubts(config: Config) -> Iterator[Problem]:
    """What works, but is probably not meant."""
    longest = config.gateway.drain_timeout + config.gateway.stop_grace
    if longest > _PATIENCE_OF_SERVICE_MANAGERS:
        reason = f"with stop_grace a stop may take {spell(longest)}; many service managers kill"
        yield Problem("gateway.drain_timeout", f"{reason} after 90s, unless told otherwise")
    for place, rule in enumerate(config.routes[:-1]):
        if rule.match == RouteMatch():
            yield Problem(f"routes[{place}]", "matches everything: the routes after it never apply")
    if config.adapters.remote_tools.enabled and not _lent_tools_are_used(config):
        reason = "no agent may use what clients lend; add 'remote-tools' to tools.toolsets"
        yield Problem("adapters.remote_tools.enabled", reason)
    for name, chat in msgspec.structs.asdict(config.adapters).items():
        if isinstance(chat, ChatSettings) and chat.enabled:
            yield from _audience(name, chat)


def _audience(name: str, chat: ChatSettings) -> Iterator[Problem]:
    if chat.allow_everyone:
        yield Problem(f"adapters.{name}.allow_everyone", "anybody may use the agent's tools")
    elif chat.strangers == "ignore" and not chat.allowed_users:
        reason = "is 'ignore' and allowed_users is empty: nobody can talk to the agent"
        yield Problem(f"adapters.{name}.strangers", reason)


def _lent_tools_are_used(config: Config) -> bool:
    named = {*config.tools.toolsets}.union(*(config.toolsets_of(each) for each in config.agents))
    return not named.isdisjoint(REMOTE_TOOLSETS)


def _model(config: Config) -> Iterator[Problem]:
    yield from _reachable(config.model, "model")
    for place, choice in enumerate(config.model.fallbacks):
        yield from _reachable(chosen(config.model, choice), f"model.fallbacks[{place}]")


def _agent_models(config: Config) -> Iterator[Problem]:
    for name, agent in config.agents.items():
        if agent.model.provider or agent.model.base_url:
            yield from _reachable(config.model_of(name), f"agents.{name}.model")


def _reachable(model: ModelSettings, at: str) -> Iterator[Problem]:
    if model.provider == BUILT_IN_PROVIDER:
        return
    if model.name is None:
        yield Problem(f"{at}.name", f"is missing: provider '{model.provider}' has many models")
    if model.api_key is None and model.base_url is None:
        reason = f"is missing: provider '{model.provider}' wants a key"
        yield Problem(f"{at}.api_key", f'{reason}; write api_key = "env:NAME"')


def _guardrails(config: Config) -> Iterator[Problem]:
    rails = config.tool_loop_guardrails
    warn = msgspec.structs.asdict(rails.warn_after)
    stop = msgspec.structs.asdict(rails.hard_stop_after)
    for name, limit in stop.items():
        if limit < warn[name]:
            reason = f"is {limit}, below warn_after.{name} = {warn[name]}: no warning would be seen"
            yield Problem(f"tool_loop_guardrails.hard_stop_after.{name}", reason)


def _hook_budgets(config: Config) -> Iterator[Problem]:
    each, together = config.plugins.hook_timeout, config.plugins.hooks_timeout
    if together < each:
        reason = f"is {spell(together)}, below hook_timeout = {spell(each)}"
        yield Problem("plugins.hooks_timeout", reason)


def _terminal(config: Config) -> Iterator[Problem]:
    usual, longest = config.tools.terminal_timeout, config.tools.terminal_longest_timeout
    if longest < usual:
        reason = f"is {spell(longest)}, below terminal_timeout = {spell(usual)}"
        yield Problem("tools.terminal_longest_timeout", reason)


def _mcp(config: Config) -> Iterator[Problem]:
    for name, server in config.tools.mcp.items():
        if server.enabled and (server.command is None) == (server.url is None):
            yield Problem(f"tools.mcp.{name}", "needs either 'command' or 'url', and not both")


def _telegram(config: Config) -> Iterator[Problem]:
    bot = config.adapters.telegram
    if bot and bot.enabled and bot.webhook_url and not bot.webhook_secret:
        reason = "is missing: a webhook without a secret would take messages from anybody"
        yield Problem("adapters.telegram.webhook_secret", reason)


def _timezone(config: Config) -> Iterator[Problem]:
    name = config.gateway.timezone
    if name == "local":
        return
    import zoneinfo  # here: most people never set this, and it is slow to import

    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        reason = "is not a known time zone; write 'local' or a name such as 'Europe/Berlin'"
        yield Problem("gateway.timezone", reason)


_CHECKS: dict[tuple[str, ...], Check] = {
    ("model",): _model,
    ("model", "agents"): _agent_models,
    ("tool_loop_guardrails",): _guardrails,
    ("plugins",): _hook_budgets,
    ("tools.terminal",): _terminal,
    ("tools.mcp",): _mcp,
    ("adapters.telegram",): _telegram,
    ("gateway.timezone",): _timezone,
}
