"""From the settings of a model to somebody who answers."""

from __future__ import annotations

import random
from collections.abc import Callable

import httpx  # noqa: ASYNC127  see http_client.py

from adapters.http_client import Lanes
from adapters.models.anthropic.client import messages
from adapters.models.demo.client import DemoModel
from adapters.models.guarded import Guard, Route
from adapters.models.openai_chat.client import chat_completions
from adapters.models.openai_responses.client import responses
from adapters.models.options import Options
from adapters.models.resilient import Resilient
from adapters.models.retrying import Policy
from adapters.models.stream import Patience
from adapters.models.trouble import Interpreter
from hermes_actors.config.schema import ModelSettings, chosen
from hermes_actors.errors import ConfigError
from hermes_actors.ports import ModelClient
from hermes_actors.redact import Redactor

_PROVIDERS = {
    "openai": chat_completions,
    "openai_responses": responses,
    "anthropic": messages,
}


class Shared:
    """What all models of a process share: connections, breakers, and what must not be shown."""

    def __init__(
        self,
        *,
        lanes: Lanes | None = None,
        redactor: Redactor | None = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self.lanes = lanes or Lanes()
        self.redactor = redactor or Redactor()
        self.dice = dice
        self._guards: dict[tuple[str, str | None, str | None], Guard] = {}

    def guard(self, provider: str, base_url: str | None, api_key: str | None) -> Guard:
        """The breaker of this key at this address."""
        return self._guards.setdefault((provider, base_url, api_key), Guard())

    async def aclose(self) -> None:
        """Close connections that nobody uses."""
        await self.lanes.aclose()


def make_model(settings: ModelSettings, shared: Shared | None = None) -> ModelClient:
    """A model with its fallbacks, retries and deadlines. Hand the same `shared` to all of them.

    The request's own `model` wins over `settings.name`; a fallback always uses its own name.
    `ConfigError` for what the network would refuse in any case.
    """
    shared = shared or Shared()
    chain = [settings, *(chosen(settings, each) for each in settings.fallbacks)]
    routes = [_route(each, shared, fixed=place > 0) for place, each in enumerate(chain)]
    policy = Policy(
        tries=settings.tries,
        total=settings.request_timeout,
        longest_wait=settings.longest_retry_wait,
    )
    return Resilient(routes, policy, shared.dice)


def _route(settings: ModelSettings, shared: Shared, *, fixed: bool) -> Route:
    provider, name = settings.provider, settings.name or ""
    who = f"{provider}/{name}" if name else provider
    key = _checked(settings.api_key.reveal()) if settings.api_key else None
    if key:
        shared.redactor.learn(key)
    client = _client(settings, key, shared, Interpreter(who, shared.redactor))
    return Route(who, client, shared.guard(provider, settings.base_url, key), name, fixed)


def _client(
    settings: ModelSettings, key: str | None, shared: Shared, interpreter: Interpreter
) -> ModelClient:
    if settings.provider == "demo":
        return DemoModel()
    if settings.provider not in _PROVIDERS:
        known = ", ".join(("demo", *_PROVIDERS))
        raise ConfigError([f"model.provider: '{settings.provider}' is not known; use {known}"])
    try:
        return _PROVIDERS[settings.provider](
            shared.lanes,
            base_url=settings.base_url,
            api_key=key,
            options=Options(
                max_tokens=settings.max_tokens,
                temperature=settings.temperature,
                reasoning_effort=settings.reasoning_effort,
            ),
            patience=Patience(settings.connect_timeout, settings.idle_timeout),
            interpreter=interpreter,
        )
    except httpx.InvalidURL as error:
        raise ConfigError(
            [f"model.base_url: '{settings.base_url}' is no address: {error}"]
        ) from None


def _checked(key: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        problem = "model.api_key: holds a space, a line break or a letter that no key has"
        raise ConfigError([f"{problem}; copy the key again"])
    return key
