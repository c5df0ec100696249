"""From a file to a configuration: every problem at once, and warnings for what should not stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_actors.config import Config, judge, load, read
from hermes_actors.errors import EXIT_CONFIG, ConfigError
from tests.hermes_actors.config.files import ENVIRONMENT, judged, told, warned

MISTAKES = """\
default_agent = "codr"
drain_timeout = "10s"
colour = "red"

[gateway]
drain_timeout = "soon"
log_level = "verbose"
timezone = "Europe/Nowhere"

[modle]
name = "x"

[model]
provider = "open_ai"
api_key = "env:NOT_SET"
connect_timeout = "never"

[session]
busy = true
mailbox_size = 0
reset = "daily"

[tools]
toolsets = "core"

[tool_loop_guardrails]
hard_stop_after = { exact_failure = 1 }

[agents.coder]
memory = "yes"

[[routes]]
match = { plattform = "telegram", chat_id = 1.5 }

[adapters.telegram]
token = "file:token.txt"
allowed_users = [42, ""]

[adapters.slack]
bot_token = ""

[adapters.api_server]
key = "env:SHORT"

[adapters.gopher]
"""

TOLD = """\
default_agent: there is no agent 'codr'; known: 'coder', 'main'; did you mean 'coder'?
drain_timeout: unknown key; did you mean 'gateway.drain_timeout'?
colour: unknown key
gateway.drain_timeout: expected a duration: a number and one of ms, s, m, h, d, such as '30s'
gateway.log_level: 'verbose' is not one of 'debug', 'info', 'warning', 'error'
modle: unknown key; did you mean 'model'?
model.provider: there is no provider 'open_ai'; known: 'anthropic', 'demo', 'openai', \
'openai_responses'; did you mean 'openai'?
model.api_key: the environment variable NOT_SET is not set; export it, then retry
model.connect_timeout: this wait must have an end; write a duration such as 30 or '30s'
session.busy: expected one of 'queue', 'steer', 'interrupt', got true or false
session.mailbox_size: expected a whole number from 1 to 100000
session.reset: expected a table, got text
tools.toolsets: expected a list, got text; write toolsets = ["…"]
agents.coder.memory: expected true or false, got text
routes[0].match.plattform: unknown key; did you mean 'platform'?
routes[0].match.chat_id: expected an id: 1 to 256 printable characters, or a whole number
routes[0].agent: is missing
adapters.telegram.token: the file {folder}/token.txt cannot be read: no such file or directory
adapters.telegram.allowed_users[1]: expected an id: 1 to 256 printable characters, or a whole number
adapters.slack.bot_token: the value is empty; write a value, or 'env:NAME'
adapters.slack.app_token: is missing; write app_token = "env:NAME" or "file:PATH"
adapters.api_server.key: needs at least 16 characters, has 3
adapters.gopher: unknown key: no adapter of this name exists and no enabled plugin brings one
tool_loop_guardrails.hard_stop_after.exact_failure: is 1, below warn_after.exact_failure = 2: \
no warning would be seen
gateway.timezone: is not a known time zone; write 'local' or a name such as 'Europe/Berlin'
"""


def put(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "hermes.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_a_file_with_many_mistakes_is_told_of_all_of_them_at_once(tmp_path: Path) -> None:
    file = put(tmp_path, MISTAKES)
    with pytest.raises(ConfigError) as caught:
        load(file, tmp_path, environ=ENVIRONMENT)
    expected = [f"{file}: {line}" for line in TOLD.format(folder=tmp_path).splitlines()]
    assert [*caught.value.problems] == expected
    assert str(caught.value) == "\n".join(expected)
    assert caught.value.exit_code == EXIT_CONFIG == 78


def test_without_a_file_the_built_in_defaults_run(tmp_path: Path) -> None:
    loaded = judge(read("/dev/null", tmp_path, environ={})).loaded
    assert loaded.config == Config()
    assert (loaded.warnings, loaded.secrets, loaded.written) == ((), (), frozenset())


def test_a_good_file_gives_its_values_its_secrets_and_its_place(tmp_path: Path) -> None:
    file = put(tmp_path, '[model]\nprovider = "openai"\nname = "m"\napi_key = "env:KEY"')
    loaded = load(file, tmp_path / "home", environ=ENVIRONMENT)
    assert (loaded.path, loaded.home) == (file, tmp_path / "home")
    assert loaded.config.model.api_key is not None
    assert loaded.secrets == (("model.api_key", loaded.config.model.api_key),)
    assert loaded.redactor().text(f"<{ENVIRONMENT['KEY']}>") == "<***>"


def test_a_relative_secret_lies_beside_the_file_and_not_in_the_current_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "token").write_text("123456:telegram-token")
    (tmp_path / "token").chmod(0o600)
    file = put(tmp_path, '[adapters.telegram]\ntoken = "file:token"')
    telegram = load(file, tmp_path, environ={}).config.adapters.telegram
    assert telegram is not None
    assert telegram.token.reveal() == "123456:telegram-token"


def test_secrets_that_others_may_read_are_warned_of_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("123456:telegram-token")
    (tmp_path / "token").chmod(0o644)
    text = (
        '[adapters.telegram]\ntoken = "file:token"\n'
        '[adapters.discord]\ntoken = "literal-token"\n'
        '[adapters.slack]\nbot_token = "another-token"\napp_token = "env:SHORT"'
    )
    file = put(tmp_path, text, mode=0o644)
    warnings = load(file, tmp_path, environ=ENVIRONMENT).warnings
    assert [each.removeprefix(f"{file}: ") for each in warnings] == [
        f"adapters.telegram.token: others on this machine may read {tmp_path}/token;"
        f" run: chmod 600 {tmp_path}/token",
        "adapters.slack.app_token: has fewer than 6 characters:"
        " too short to be hidden in log lines",
        "adapters.discord.token: is written into a file that others may read;"
        f' run: chmod 600 {file}, or use "env:NAME"',
    ]
    file.chmod(0o600)
    (tmp_path / "token").chmod(0o600)
    assert len(load(file, tmp_path, environ=ENVIRONMENT).warnings) == 1


def test_a_file_without_literal_secrets_may_be_read_by_everybody(tmp_path: Path) -> None:
    text = '[adapters.telegram]\ntoken = "env:KEY"\n[store]\nurl = "sqlite:///x.db"'
    assert load(put(tmp_path, text, 0o644), tmp_path, environ=ENVIRONMENT).warnings == ()


def test_plugins_may_bring_adapters_and_agents() -> None:
    text = 'default_agent = "poet"\n[adapters.irc]\nserver = "x"'
    assert len(told(text)) == 2
    assert told(text, adapters=["irc"], agents=["poet"]) == []


def test_a_file_of_quite_another_kind_is_not_told_of_line_by_line() -> None:
    problems = told("\n".join(f"strange_name_{n} = 1" for n in range(10_000)))
    assert len(problems) == 51
    assert problems[-1] == "and 9950 more problems"


def test_a_secret_that_somebody_also_wrote_elsewhere_is_hidden_there_too() -> None:
    text = '[session]\nbusy = "hunter2-hunter2"\n[adapters.telegram]\ntoken = "hunter2-hunter2"'
    assert told(text) == ["session.busy: '***' is not one of 'queue', 'steer', 'interrupt'"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("x" * 15, "needs at least 16 characters, has 15"),
        ("abcd" * 8, "is too easy to guess: it has fewer than 5 different characters"),
    ],
)
def test_keys_that_guard_a_door_have_to_be_strong(value: str, reason: str) -> None:
    text = f'[adapters.api_server]\nkey = "{value}"'
    assert told(text) == [f"adapters.api_server.key: {reason}"]


def test_the_store_is_one_of_two_kinds() -> None:
    assert told('store.url = "mysql://x"') == [
        "store.url: must begin with sqlite:// or postgresql://"
    ]
    assert told("store.url = 3") == [
        'store.url: expected "env:NAME", "file:PATH" or the value as text, got a whole number'
    ]
    assert warned('store.url = "postgresql://me:password@host/db"') == []


def test_a_relative_database_lies_in_the_home_folder() -> None:
    store = judged('store.url = "sqlite:///a/b.db"').loaded.config.store
    assert store.sqlite_file(Path("/home/x")) == Path("/home/x/a/b.db")
    store = judged('store.url = "sqlite:////var/b.db"').loaded.config.store
    assert store.sqlite_file(Path("/home/x")) == Path("/var/b.db")
    store = judged('store.url = "postgresql://host/db"').loaded.config.store
    assert store.sqlite_file(Path("/home/x")) is None
