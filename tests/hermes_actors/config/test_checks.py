"""Keys that contradict each other are problems; keys that are probably not meant are warnings."""

from __future__ import annotations

import pytest

from tests.hermes_actors.config.files import told, warned

TELEGRAM = '[adapters.telegram]\ntoken = "env:KEY"\n'
OPENAI = '[model]\nprovider = "openai"\nname = "m"\napi_key = "env:KEY"\n'


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('model.provider = "demo"', []),
        (
            'model.provider = "openai"',
            [
                "model.name: is missing: provider 'openai' has many models",
                "model.api_key: is missing: provider 'openai' wants a key;"
                ' write api_key = "env:NAME"',
            ],
        ),
        ('model = { provider = "openai", name = "m", base_url = "http://127.0.0.1:1" }', []),
        (OPENAI, []),
        (OPENAI + 'fallbacks = ["small"]', []),
        (
            OPENAI + 'fallbacks = ["small", { provider = "anthropic", name = "n" }]',
            [
                "model.fallbacks[1].api_key: is missing: provider 'anthropic' wants a key;"
                ' write api_key = "env:NAME"'
            ],
        ),
        (OPENAI + '[agents.a]\nmodel = "other"', []),
        (OPENAI + '[agents.a]\nmodel = { provider = "demo" }', []),
        (
            OPENAI + '[agents.a]\nmodel = { provider = "anthropic" }',
            [
                "agents.a.model.name: is missing: provider 'anthropic' has many models",
                "agents.a.model.api_key: is missing: provider 'anthropic' wants a key;"
                ' write api_key = "env:NAME"',
            ],
        ),
        (
            "[tool_loop_guardrails]\nwarn_after.same_tool_failure = 9",
            [
                "tool_loop_guardrails.hard_stop_after.same_tool_failure: is 8, below"
                " warn_after.same_tool_failure = 9: no warning would be seen"
            ],
        ),
        (
            'plugins.hooks_timeout = "1s"',
            ["plugins.hooks_timeout: is 1s, below hook_timeout = 2s"],
        ),
        (
            'tools.terminal_timeout = "1h"',
            ["tools.terminal_longest_timeout: is 10m, below terminal_timeout = 1h"],
        ),
        ("tools.mcp.x = {}", ["tools.mcp.x: needs either 'command' or 'url', and not both"]),
        (
            'tools.mcp.x = { command = "c", url = "http://x" }',
            ["tools.mcp.x: needs either 'command' or 'url', and not both"],
        ),
        ("tools.mcp.x = { enabled = false }", []),
        (
            TELEGRAM + 'webhook_url = "https://x.example"',
            [
                "adapters.telegram.webhook_secret: is missing: a webhook without a secret would"
                " take messages from anybody"
            ],
        ),
        (TELEGRAM + 'enabled = false\nwebhook_url = "https://x.example"', []),
        ('gateway.timezone = "UTC"', []),
        (
            'gateway.timezone = "../../etc/passwd"',
            [
                "gateway.timezone: is not a known time zone; write 'local' or a name such as"
                " 'Europe/Berlin'"
            ],
        ),
    ],
)
def test_contradictions_are_problems(text: str, problems: list[str]) -> None:
    assert told(text) == problems


def test_a_table_with_a_mistake_is_not_also_told_of_its_consequences() -> None:
    assert told('[model]\nprovider = "openai"\nnmae = "m"\napi_key = "env:KEY"') == [
        "model.nmae: unknown key; did you mean 'name'?"
    ]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ('gateway.drain_timeout = "70s"', []),
        (
            'gateway.drain_timeout = "71s"',
            [
                "gateway.drain_timeout: with stop_grace a stop may take 76s; many service managers"
                " kill after 90s, unless told otherwise"
            ],
        ),
        ('[[routes]]\nagent = "main"', []),
        (
            '[[routes]]\nagent = "main"\n[[routes]]\nagent = "main"\nmatch.platform = "slack"',
            ["routes[0]: matches everything: the routes after it never apply"],
        ),
        (TELEGRAM, []),
        (
            TELEGRAM + "allow_everyone = true",
            ["adapters.telegram.allow_everyone: anybody may use the agent's tools"],
        ),
        (TELEGRAM + "allow_everyone = true\nenabled = false", []),
        (
            TELEGRAM + 'strangers = "ignore"',
            [
                "adapters.telegram.strangers: is 'ignore' and allowed_users is empty: nobody can"
                " talk to the agent"
            ],
        ),
        (TELEGRAM + 'strangers = "ignore"\nallowed_users = [1]', []),
        (
            "adapters.remote_tools.enabled = true",
            [
                "adapters.remote_tools.enabled: no agent may use what clients lend; add"
                " 'remote-tools' to tools.toolsets"
            ],
        ),
        ('adapters.remote_tools.enabled = true\ntools.toolsets = ["remote-tools"]', []),
        (
            'adapters.remote_tools.enabled = true\nagents.a.toolsets = ["hermes-livekit-tools"]',
            [],
        ),
    ],
)
def test_doubts_are_warnings(text: str, warnings: list[str]) -> None:
    assert warned(text) == warnings
