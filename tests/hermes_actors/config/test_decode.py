"""Every table refuses what it does not know, and every key what it cannot read, by its name."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import FieldInfo

from hermes_actors.config import Config, Secret
from hermes_actors.config.keys import all_keys, core_of
from hermes_actors.config.schema import HandoffSettings, ModelChoice
from tests.hermes_actors.config.files import config, judged, judged_tables, told

KEYS = dict(all_keys(Config))
TABLES = sorted({key.rpartition(".")[0] for key in KEYS} - {""})


def nested(key: str, value: Any) -> dict[str, Any]:
    """The tables of a file in which only this key is set."""
    name, dot, rest = key.partition(".")
    inner = nested(rest, value) if dot else value
    return {name.removesuffix("[]"): [inner] if name.endswith("[]") else inner}


def place(key: str) -> str:
    """The key as problems write it, when its list has one item."""
    return key.replace("[]", "[0]").replace("<name>", "mine")


def about(key: str, value: Any) -> list[str]:
    """What is said about this one key when it has this value."""
    problems = judged_tables(nested(key.replace("<name>", "mine"), value)).problems
    start = f"(no file): {place(key)}: "
    return [each.removeprefix(start) for each in problems if each.startswith(start)]


def wrong_values(field: FieldInfo) -> Iterator[Any]:
    """Values of kinds that this key cannot take."""
    yield datetime.date(2030, 1, 1)
    core = core_of(field.type)
    base = getattr(core, "__origin__", core)
    if base is not dict:
        yield {"a": {"b": "c"}}
    if base is not tuple:
        yield [[]]
    if base is not bool:
        yield True
    else:
        yield from ("true", 1, 0.5)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_refuses_an_unknown_key(table: str) -> None:
    assert about(f"{table}.quite_unheard_of", 1) == ["unknown key"]


def test_the_whole_file_refuses_an_unknown_key() -> None:
    assert told("quite_unheard_of = 1") == ["quite_unheard_of: unknown key"]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_misspelled_is_told_the_right_name(key: str) -> None:
    table, _, name = key.rpartition(".")
    (problem,) = about(f"{table}.{name}x".lstrip("."), 1)
    assert problem.startswith("unknown key; did you mean '")
    assert name in problem


@pytest.mark.parametrize("key", KEYS)
def test_a_key_refuses_every_kind_of_value_but_its_own(key: str) -> None:
    for value in wrong_values(KEYS[key]):
        problems = about(key, value)
        assert len(problems) == 1, (value, problems)


@pytest.mark.parametrize("table", [each for each in TABLES if not each.endswith("[]")])
def test_a_table_is_not_a_number(table: str) -> None:
    if table.endswith(("model", "home_channel")):
        assert about(table, 5) == ["expected a table, got a whole number"]
    else:
        assert about(table, "x") == ["expected a table, got text"]


A_COUNT = "expected a whole number of at least 1"
AN_ADDRESS = "expected an address with http:// or https:// and no password in it"
NO_ADAPTER = "unknown key: no adapter of this name exists and no enabled plugin brings one"
BUSY = "'queue', 'steer', 'interrupt'"
PROVIDERS = "'anthropic', 'demo', 'openai', 'openai_responses'"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('tools.toolsets = "core"', 'expected a list, got text; write toolsets = ["…"]'),
        ("tools.toolsets = 3", "expected a list, got a whole number"),
        ("limits.max_iterations = 0", A_COUNT),
        ("limits.max_iterations = 1.5", f"{A_COUNT}, got a number"),
        ("limits.max_iterations = true", f"{A_COUNT}, got true or false"),
        ('limits.max_iterations = "1"', f"{A_COUNT}, got text"),
        ("model.temperature = 3", "expected a number from 0 to 2"),
        ("model.temperature = nan", "expected a number from 0 to 2"),
        ('model.temperature = "hot"', "expected a number from 0 to 2, got text"),
        ("adapters.api_server.port = 70000", "expected a port from 0 to 65535"),
        ('adapters.api_server.host = ""', "expected text that is not empty, got empty text"),
        ('handoff.enabled = "yes"', "expected true or false, got text"),
        ('model.base_url = "ftp://x"', AN_ADDRESS),
        ('model.base_url = "https://u:p@x"', AN_ADDRESS),
        ("model.base_url = 1", f"{AN_ADDRESS}, got a whole number"),
        ("session.reset.at_hour = 24", "expected an hour from 0 to 23"),
        ('delivery.cursor = "123456789"', "expected text of at most 8 characters"),
        ('agents."A b" = {}', "expected a name of a-z, 0-9, _ and -, at most 64 characters"),
        ("agents = []", "expected a table, got a list"),
        ("routes = {}", "expected a list, got a table"),
        ('session.busy = "que"', f"'que' is not one of {BUSY}; did you mean 'queue'?"),
        ("session.busy = 1", f"expected one of {BUSY}, got a whole number"),
        ('session.busy = "a\\nb"', f"'a\\nb' is not one of {BUSY}"),
        (
            'default_agent = "man"',
            "there is no agent 'man'; known: 'main'; did you mean 'main'?",
        ),
        ("default_agent = 1", "expected the name of an existing agent, got a whole number"),
        (
            'model.provider = "open-ai"',
            f"there is no provider 'open-ai'; known: {PROVIDERS}; did you mean 'openai'?",
        ),
        ('drain_timeout = "3s"', "unknown key; did you mean 'gateway.drain_timeout'?"),
        ('model.api-key = "x"', "unknown key; did you mean 'api_key'?"),
        ("adapters.telegramm = {}", f"{NO_ADAPTER}; did you mean 'telegram'?"),
        ("adapters.others = {}", NO_ADAPTER),
    ],
)
def test_what_is_said_about_a_value_that_does_not_fit(text: str, reason: str) -> None:
    key = text.partition(" =")[0]
    assert told(text) == [f"{key}: {reason}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "tools.mcp.x = {command='c', args=[1]}",
            "tools.mcp.x.args[0]: expected text, got a whole number",
        ),
        (
            "tools.toolsets = ['a', '']",
            "tools.toolsets[1]: expected text that is not empty, got empty text",
        ),
        ("routes = [1]", "routes[0]: expected a table, got a whole number"),
        ("[[routes]]", "routes[0].agent: is missing"),
    ],
)
def test_the_place_in_a_list_is_part_of_the_key(text: str, problem: str) -> None:
    assert told(text) == [problem]


def test_agents_of_the_file_and_of_elsewhere_may_be_named() -> None:
    text = 'default_agent = "coder"\n[agents.coder]\n[[routes]]\nagent = "poet"'
    assert told(text) == ["routes[0].agent: there is no agent 'poet'; known: 'coder', 'main'"]
    assert config(text, agents={"poet"}).default_agent == "coder"


def test_text_in_place_of_a_model_is_its_name_and_in_place_of_a_channel_its_chat() -> None:
    read = config(
        'model.fallbacks = ["small"]\nagents.coder.model = "large"\n'
        '[adapters.telegram]\ntoken = "env:KEY"\nhome_channel = "-100"'
    )
    assert read.model.fallbacks == (ModelChoice(name="small"),)
    assert read.agents["coder"].model == ModelChoice(name="large")
    assert read.adapters.telegram is not None
    assert read.adapters.telegram.home_channel is not None
    assert read.adapters.telegram.home_channel.chat_id == "-100"


def test_the_main_model_has_no_short_form() -> None:
    assert told('model = "large"') == ["model: expected a table, got text"]


def test_a_value_that_cannot_be_read_leaves_its_default_so_that_the_walk_goes_on() -> None:
    judgement = judged('handoff = { timeout = "soon", enabled = false }')
    assert len(judgement.problems) == 1
    assert judgement.loaded.config.handoff == HandoffSettings(enabled=False)


def test_an_adapter_that_is_switched_off_needs_no_secret() -> None:
    assert told('[adapters.telegram]\nenabled = false\ntoken = "env:NOT_THERE"') == []
    assert told("[adapters.telegram]\nenabled = false") == []
    assert told("[adapters.slack]\nenabled = true") == [
        'adapters.slack.bot_token: is missing; write bot_token = "env:NAME" or "file:PATH"',
        'adapters.slack.app_token: is missing; write app_token = "env:NAME" or "file:PATH"',
    ]


def test_switching_one_adapter_off_excuses_no_other() -> None:
    text = "[adapters.telegram]\nenabled = false\n[adapters.discord]"
    assert told(text) == [
        'adapters.discord.token: is missing; write token = "env:NAME" or "file:PATH"'
    ]


def test_the_table_of_a_plugins_adapter_keeps_its_shape_and_hides_its_secrets() -> None:
    text = (
        '[adapters.irc]\nserver = "irc.example"\nport = 6697\nsince = 2030-01-01\n'
        'password = "sesame"\n'
        '[adapters.irc.proxy]\nhost = "env:KEY"\nnames = ["a", { token = "t" }]'
    )
    irc = config(text, adapters={"irc"}).adapters.others["irc"]
    assert irc == {
        "server": "irc.example",
        "port": 6697,
        "since": datetime.date(2030, 1, 1),
        "password": Secret("sesame"),
        "proxy": {
            "host": Secret("k3y-0f-the-h0use-0123456789-abcdefgh", "env:KEY"),
            "names": ["a", {"token": Secret("t")}],
        },
    }


def test_the_table_of_a_plugins_adapter_must_be_a_table_and_its_secrets_must_exist() -> None:
    assert told("adapters.irc = 3", adapters={"irc"}) == [
        "adapters.irc: expected a table, got a whole number"
    ]
    assert told('adapters.irc.x = "env:NONE"', adapters={"irc"}) == [
        "adapters.irc.x: the environment variable NONE is not set; export it, then retry"
    ]
    assert told("adapters.irk = {}", adapters={"irc"}) == [
        "adapters.irk: unknown key: no adapter of this name exists and no enabled plugin brings one"
        "; did you mean 'irc'?"
    ]


@pytest.mark.parametrize("key", ["API_KEY", "x-token", "Authorization", "db_passwd", "key"])
def test_a_variable_whose_name_sounds_secret_is_a_secret(key: str) -> None:
    server = config(f'[tools.mcp.x]\ncommand = "c"\nenv.{key} = "abcdef"').tools.mcp["x"]
    assert server.env == {key: Secret("abcdef")}


def test_a_variable_with_an_innocent_name_stays_text() -> None:
    server = config('[tools.mcp.x]\ncommand = "c"\nenv.MONKEY = "abcdef"').tools.mcp["x"]
    assert server.env == {"MONKEY": "abcdef"}


def test_a_variable_has_to_be_text() -> None:
    assert told('[tools.mcp.x]\ncommand = "c"\nenv.PORT = 1') == [
        "tools.mcp.x.env.PORT: expected text, got a whole number"
    ]


def test_settings_that_are_nested_without_end_are_refused() -> None:
    text = "[plugins.settings.x" + ".a" * 5000 + "]"
    (problem,) = told(text)
    assert problem.startswith("plugins.settings.x.a.a.")
    assert problem.endswith(": is nested more than 32 levels deep")


def test_the_walk_notes_which_keys_the_file_sets() -> None:
    loaded = judged('handoff.timeout = 3\n[[routes]]\nagent = "main"').loaded
    assert loaded.written == {
        "handoff",
        "handoff.timeout",
        "routes",
        "routes[0].agent",
    }
