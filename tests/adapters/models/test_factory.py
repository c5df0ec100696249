"""From settings to a model: addresses, keys, names and what is shared."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from adapters.models import Shared, make_model
from adapters.models.options import address
from hermes_actors.config.schema import ModelChoice, ModelSettings
from hermes_actors.config.secrets import Secret
from hermes_actors.errors import ConfigError
from hermes_actors.redact import Redactor
from hermes_actors.values import Delta, UserMessage
from tests.adapters.models.talk import ask


async def test_without_any_settings_the_demo_answers(autojump_clock: MockClock) -> None:
    seen: list[Delta] = []
    reply = await make_model(ModelSettings()).respond(ask(UserMessage("hi"), model=""), seen.append)
    assert "demo model" in reply.text
    assert reply.model == "demo"
    assert seen


@pytest.mark.parametrize(
    ("base_url", "full"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
    ],
)
def test_an_address_may_be_given_in_any_length(base_url: str, full: str) -> None:
    assert address(base_url, "v1", "chat/completions") == full


def test_one_key_at_one_address_has_one_breaker_whoever_uses_it() -> None:
    shared = Shared()
    one = shared.guard("openai", None, "key")
    assert shared.guard("openai", None, "key") is one
    assert shared.guard("openai", None, "other") is not one
    assert shared.guard("openai", "http://else/v1", "key") is not one


def test_every_key_is_taught_to_the_redactor() -> None:
    redactor = Redactor()
    settings = ModelSettings(
        provider="openai",
        name="m",
        api_key=Secret("first-secret-key"),
        fallbacks=(
            ModelChoice(provider="anthropic", name="c", api_key=Secret("second-secret-key")),
        ),
    )
    make_model(settings, Shared(redactor=redactor))
    assert redactor.text("first-secret-key and second-secret-key") == "*** and ***"


@pytest.mark.parametrize("key", ["has space", "has\nbreak", "schlüssel", "tab\t"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    settings = ModelSettings(provider="openai", name="m", api_key=Secret(key))
    with pytest.raises(ConfigError, match=r"model\.api_key") as refused:
        make_model(settings)
    assert key not in str(refused.value)


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'opnai' is not known; use demo, openai"):
        make_model(ModelSettings(provider="opnai", name="m"))


@pytest.mark.parametrize(
    "base_url", ["http://h:abc/v1", "http:///v1", "http://[broken/v1", "http://h:99999"]
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    settings = ModelSettings(provider="openai", name="m", base_url=base_url)
    with pytest.raises(ConfigError, match=r"model\.base_url"):
        make_model(settings)
