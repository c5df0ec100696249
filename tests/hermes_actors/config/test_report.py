"""`config check` and `config show`: the whole truth except the secrets."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.config import Config, Document, check, judge, load, show
from hermes_actors.config.printing import quoted
from tests.hermes_actors.config.files import ENVIRONMENT, judged, judged_tables

FILE = """\
[model]
provider = "openai"
name = "large"
api_key = "env:KEY"
idle_timeout = 90
[[model.fallbacks]]
name = "small"
[limits]
turn_deadline = "never"
[store]
url = "postgresql://me:swordfish@host/db"
[plugins.settings.weather]
api_key = "literal-secret"
places = ["Rome", { name = "Oslo" }]
"odd key" = "a\\u0007b"
nothing = {}
[agents.coder]
model = "tiny"
[[routes]]
agent = "coder"
match = { platform = "telegram", chat_id = -100 }
[tools.mcp.files]
command = "serve"
args = ["--key", "literal-secret"]
env = { TOKEN = "env:KEY", MODE = "fast" }
"""


def lines(text: str, environ: dict[str, str] = ENVIRONMENT) -> list[str]:
    return show(judged(text, environ).loaded).splitlines()


def section(printed: list[str], head: str) -> list[str]:
    """The lines below one header, up to the next empty line."""
    start = printed.index(head) + 1
    return printed[start : printed.index("", start) if "" in printed[start:] else None]


def test_check_tells_problems_then_warnings_then_how_many(tmp_path: Path) -> None:
    tables = {"colour": 1, "gateway": {"drain_timeout": "90s"}, "session": {"busy": "que"}}
    file = tmp_path / "hermes.toml"
    assert check(judge(Document(file, tmp_path, tables, {}))) == (
        f"{file}: colour: unknown key\n"
        f"{file}: session.busy: 'que' is not one of 'queue', 'steer', 'interrupt';"
        " did you mean 'queue'?\n"
        f"warning: {file}: gateway.drain_timeout: with stop_grace a stop may take 95s; many"
        " service managers kill after 90s, unless told otherwise\n"
        f"{file}: 2 problems, 1 warning\n"
    )


def test_check_says_that_all_is_well(tmp_path: Path) -> None:
    file = tmp_path / "hermes.toml"
    assert check(judge(Document(file, tmp_path, {}, {}))) == f"{file}: no problems, no warnings\n"
    assert check(judged("")) == "no file, built-in defaults: no problems, no warnings\n"
    assert check(judged("x = 1")).splitlines()[-1].endswith(": 1 problem, no warnings")


def test_show_begins_with_the_file_and_the_home(tmp_path: Path) -> None:
    file = tmp_path / "hermes.toml"
    printed = show(judge(Document(file, tmp_path, {}, {})).loaded).splitlines()
    assert printed[:5] == [
        f"# file: {file}",
        f"# home: {tmp_path}",
        "# What is marked 'default' is not set in the file. Secrets are *** with their origin.",
        "",
        'default_agent = "main"  # default',
    ]
    assert lines("")[0] == "# file: (none, these are the built-in defaults)"


def test_show_marks_defaults_and_names_the_origin_of_secrets() -> None:
    printed = lines(FILE)
    assert section(printed, "[model]") == [
        'provider = "openai"',
        'name = "large"',
        'api_key = "***"             # env:KEY',
        'connect_timeout = "10s"     # default',
        'idle_timeout = "90s"',
        'request_timeout = "30m"     # default',
        "tries = 3                   # default",
        'longest_retry_wait = "10m"  # default',
        "# not set: base_url, max_tokens, temperature, reasoning_effort, context_length",
    ]
    assert section(printed, "[store]") == [
        'url = "postgresql://me:***@host/db"  # literal',
        'busy_timeout = "5s"                  # default',
    ]


def test_show_prints_lists_of_tables_tables_of_plugins_and_odd_names() -> None:
    printed = lines(FILE)
    assert section(printed, "[[routes]]") == ['agent = "coder"']
    assert section(printed, "[routes.match]") == [
        'platform = "telegram"',
        'chat_id = "-100"',
        "# not set: user_id, thread_id, guild_id",
    ]
    assert section(printed, "[plugins.settings.weather]") == [
        'api_key = "***"  # literal',
        'places = ["Rome", { name = "Oslo" }]',
        '"odd key" = "a\\u0007b"',
    ]
    assert section(printed, "[plugins.settings.weather.nothing]") == []
    assert section(printed, "[tools.mcp.files.env]") == [
        'TOKEN = "***"  # env:KEY',
        'MODE = "fast"',
    ]
    assert "[agents]" not in printed


def test_show_hides_a_secret_that_was_also_written_where_it_is_no_secret() -> None:
    assert 'args = ["--key", "***"]' in lines(FILE)


def test_an_adapter_that_is_not_configured_is_said_to_be_not_set() -> None:
    assert section(lines(""), "[adapters]") == [
        "# not set: telegram, discord, slack, matrix, webhook"
    ]


def test_an_adapter_of_a_plugin_is_shown_beside_the_others() -> None:
    judgement = judged('[adapters.irc]\nserver = "x"', adapters={"irc"})
    assert section(show(judgement.loaded).splitlines(), "[adapters.irc]") == ['server = "x"']


def test_what_is_shown_is_toml_that_reads_as_the_same_configuration() -> None:
    secretive = ("api_key", "env = ", "url = ", "provider")
    text = "\n".join(each for each in FILE.splitlines() if not each.startswith(secretive))
    before = judged(text)
    again = judged(show(before.loaded))
    assert (before.problems, again.problems) == ((), ())
    assert again.loaded.config == before.loaded.config != Config()


def test_the_defaults_are_shown_as_they_are() -> None:
    again = judged(show(judged("").loaded))
    assert (again.problems, again.loaded.config) == ((), Config())


leaves = st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False)
values = st.recursive(
    leaves | st.datetimes() | st.dates() | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_any_settings_of_a_plugin_come_back_as_they_were(settings: dict[str, object]) -> None:
    judgement = judged_tables({"plugins": {"settings": {"x": settings}}})
    if judgement.problems or judgement.loaded.secrets:
        return  # what looks like a secret is not shown, and so cannot come back
    tables = tomllib.loads(show(judgement.loaded))
    assert tables["plugins"]["settings"]["x"] == settings


@pytest.mark.parametrize(
    "text", ['"', "\\", "\n", "\0", "\x7f", "\x9b", "\u202e", "\U000e0001", "▉"]
)
def test_no_character_breaks_out_of_its_line(text: str) -> None:
    assert tomllib.loads(f"a = {quoted(text)}")["a"] == text
    assert quoted(text).isprintable()


def test_the_example_of_a_real_file_is_shown_without_any_of_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "hermes.toml"
    file.write_text(FILE)
    printed = show(load(file, tmp_path, environ=ENVIRONMENT))
    for secret in (ENVIRONMENT["KEY"], "literal-secret", "swordfish"):
        assert secret not in printed
