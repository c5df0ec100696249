"""Who is being talked to: three states, one binding at a time, and nobody sees another's."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import msgspec
import pytest
import trio
from msgspec import UNSET
from trio.testing import MockClock

from hermes_actors.context import (
    FIELDS,
    SessionContext,
    async_delivery_supported,
    bound,
    current_session,
    get_session_env,
    process_environment,
    spawn_bound,
)

CHAT = "HERMES_SESSION_CHAT_ID"
NAMES = {
    "HERMES_SESSION_PLATFORM",
    "HERMES_SESSION_SOURCE",
    "HERMES_SESSION_CHAT_ID",
    "HERMES_SESSION_CHAT_NAME",
    "HERMES_SESSION_THREAD_ID",
    "HERMES_SESSION_USER_ID",
    "HERMES_SESSION_USER_NAME",
    "HERMES_SESSION_KEY",
    "HERMES_SESSION_ID",
    "HERMES_SESSION_MESSAGE_ID",
    "HERMES_SESSION_PROFILE",
    "HERMES_UI_SESSION_ID",
    "HERMES_CRON_AUTO_DELIVER_PLATFORM",
    "HERMES_CRON_AUTO_DELIVER_CHAT_ID",
    "HERMES_CRON_AUTO_DELIVER_THREAD_ID",
}
# Every name bound to a value that tells which name it is.
FULL = msgspec.convert({field: f"the {field}" for field in FIELDS.values()}, SessionContext)


@pytest.fixture
def environment() -> Iterator[Callable[..., None]]:
    """Sets variables of this process, and takes every change back afterwards."""
    before = dict(os.environ)

    def set_variables(**variables: str) -> None:
        os.environ.update(variables)

    yield set_variables
    os.environ.clear()
    os.environ.update(before)


def seen_here() -> str:
    return get_session_env(CHAT, "nothing")


def test_every_name_that_tools_and_plugins_know_is_there() -> None:
    assert set(FIELDS) == NAMES
    with bound(FULL):
        assert {name: get_session_env(name) for name in NAMES} == {
            name: f"the {field}" for name, field in FIELDS.items()
        }


def test_where_nothing_is_bound_the_environment_answers_and_then_the_default(
    environment: Callable[..., None],
) -> None:
    assert (current_session(), seen_here()) == (None, "nothing")
    environment(**dict.fromkeys(NAMES, "from outside"))
    assert {get_session_env(name) for name in NAMES} == {"from outside"}


def test_a_value_and_an_empty_value_both_win_over_the_environment(
    environment: Callable[..., None],
) -> None:
    environment(HERMES_SESSION_CHAT_ID="from outside", HERMES_SESSION_USER_ID="from outside")
    with bound(SessionContext(chat_id="42")):
        assert get_session_env(CHAT) == "42"
        assert get_session_env("HERMES_SESSION_USER_ID", "a default") == ""


def test_of_a_binding_that_says_nothing_only_tab_and_scheduled_delivery_are_the_environments(
    environment: Callable[..., None],
) -> None:
    environment(**dict.fromkeys(NAMES, "from outside"))
    with bound(SessionContext()):
        answers = {name: get_session_env(name, "a default") for name in NAMES}
    outside = {name for name, answer in answers.items() if answer == "from outside"}
    assert outside == {name for name in NAMES if "CRON" in name or "UI" in name}
    assert {answers[name] for name in NAMES - outside} == {""}


def test_a_field_that_a_binding_leaves_unset_is_the_environments(
    environment: Callable[..., None],
) -> None:
    environment(HERMES_CRON_AUTO_DELIVER_CHAT_ID="7", HERMES_SESSION_CHAT_ID="8")
    with bound(SessionContext(chat_id=UNSET)):
        assert get_session_env("HERMES_CRON_AUTO_DELIVER_CHAT_ID") == "7"
        assert get_session_env(CHAT) == "8"
        assert get_session_env("HERMES_UI_SESSION_ID", "none") == "none"


def test_a_name_that_is_not_ours_is_always_the_environments(
    environment: Callable[..., None],
) -> None:
    environment(HERMES_SOMETHING_ELSE="outside")
    with bound(FULL):
        assert get_session_env("HERMES_SOMETHING_ELSE") == "outside"


def test_a_nested_binding_replaces_the_outer_one_whole_and_leaving_restores_it() -> None:
    outer = SessionContext(chat_id="outer", user_id="someone", async_delivery=False)
    log = []

    def note() -> None:
        user = get_session_env("HERMES_SESSION_USER_ID")
        log.append((seen_here(), user, async_delivery_supported()))

    with bound(outer):
        note()
        with contextlib.suppress(KeyError), bound(SessionContext(chat_id="inner")):
            note()
            raise KeyError
        note()
    note()
    assert log == [
        ("outer", "someone", False),
        ("inner", "", True),
        ("outer", "someone", False),
        ("nothing", "", True),
    ]


@pytest.mark.parametrize(("flag", "supported"), [(UNSET, True), (True, True), (False, False)])
def test_later_delivery_is_possible_unless_the_surface_said_no(
    flag: bool, supported: bool, environment: Callable[..., None]
) -> None:
    environment(HERMES_SESSION_ASYNC_DELIVERY="0")  # not a thing for the environment to say
    assert async_delivery_supported()
    with bound(SessionContext(async_delivery=flag)):
        assert async_delivery_supported() is supported
    assert async_delivery_supported()


async def test_the_no_of_one_turn_does_not_reach_the_next_turn_of_the_same_session() -> None:
    seen = []

    async def turn() -> None:
        seen.append(async_delivery_supported())

    async with trio.open_nursery() as nursery:
        with bound(SessionContext(session_key="s", async_delivery=False)):
            spawn_bound(nursery, SessionContext(session_key="s", async_delivery=True), turn)
            spawn_bound(nursery, SessionContext(session_key="s"), turn)
    assert seen == [True, True]


async def test_a_spawned_turn_inherits_nothing_from_whoever_spawns_it() -> None:
    trace: ContextVar[str] = ContextVar("trace", default="clean")
    seen = []

    async def turn(word: str) -> None:
        seen.append((word, trace.get(), seen_here(), get_session_env("HERMES_SESSION_USER_ID")))

    async with trio.open_nursery() as nursery:
        trace.set("dirty")
        with bound(SessionContext(chat_id="spawner", user_id="spawner")):
            spawn_bound(nursery, SessionContext(chat_id="mine"), turn, "hello")
            assert seen_here() == "spawner"
    assert seen == [("hello", "clean", "mine", "")]


async def test_a_spawned_turn_has_a_name_that_can_be_read_in_the_tree() -> None:
    async def turn() -> None:
        assert trio.lowlevel.current_task().name == "turn r1"

    async with trio.open_nursery() as nursery:
        spawn_bound(nursery, FULL, turn, name="turn r1")


async def test_two_hundred_sessions_at_once_see_themselves_in_every_corner(
    autojump_clock: MockClock,
) -> None:
    """The canary of each is looked for at each step, in children and in the environments that
    processes would get, while all others are doing the same."""
    strangers: list[str] = []

    def look(me: str) -> None:
        words = {seen_here(), process_environment({})[CHAT]}
        strangers.extend(words - {me})

    async def child(me: str) -> None:
        await trio.lowlevel.checkpoint()
        look(me)

    async def turn(me: str, number: int) -> None:
        for step in range(5):
            look(me)
            await trio.sleep((number * 7 + step * 3) % 11)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child, me)
            nursery.start_soon(child, me)
        with bound(SessionContext(chat_id=f"{me} nested")):
            await child(f"{me} nested")
        look(me)

    async with trio.open_nursery() as nursery:
        for number in range(200):
            me = f"canary {number}"
            spawn_bound(nursery, SessionContext(chat_id=me), turn, me, number)
    assert strangers == []


async def test_a_thread_of_a_turn_knows_the_session_and_cannot_change_it() -> None:
    seen = []

    def in_a_thread(me: str) -> None:
        seen.append((me, seen_here(), threading.current_thread() is threading.main_thread()))
        bound(SessionContext(chat_id="thief")).__enter__()

    async def turn(me: str) -> None:
        await trio.to_thread.run_sync(in_a_thread, me)
        assert seen_here() == me

    async with trio.open_nursery() as nursery:
        for me in ("a", "b", "c"):
            spawn_bound(nursery, SessionContext(chat_id=me), turn, me)
    assert sorted(seen) == [("a", "a", False), ("b", "b", False), ("c", "c", False)]


async def test_a_tools_process_sees_its_session_and_no_other(
    environment: Callable[..., None],
) -> None:
    environment(**dict.fromkeys(NAMES, "from outside"), HERMES_SESSION_LEGACY="from outside")
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    seen: dict[str, dict[str, str]] = {}

    async def turn(me: str) -> None:
        done = await trio.run_process(
            [sys.executable, "-I", "-c", show],
            env=process_environment(os.environ),
            capture_stdout=True,
        )
        variables: dict[str, str] = json.loads(done.stdout)
        seen[me] = {k: v for k, v in variables.items() if k.startswith("HERMES_")}

    async with trio.open_nursery() as nursery:
        for me in ("a", "b"):
            session = SessionContext(chat_id=me, session_key=f"agent:main:{me}", cron_chat_id="9")
            spawn_bound(nursery, session, turn, me)
    for me in ("a", "b"):
        assert {name: value for name, value in seen[me].items() if value} == {
            CHAT: me,
            "HERMES_SESSION_KEY": f"agent:main:{me}",
            "HERMES_CRON_AUTO_DELIVER_CHAT_ID": "9",
        }
        assert "HERMES_UI_SESSION_ID" not in seen[me]  # unset here: the outside's is not passed


def test_without_a_session_a_process_gets_the_environments_identity() -> None:
    base = {"PATH": "/bin", CHAT: "from outside", "HERMES_SESSION_KEY": "k"}
    assert process_environment(base) == base


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "APIKEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "GITHUB_PAT",
        "TELEGRAM_BOT_TOKENS",
        "DB_PASSWORD",
        "PGPASSWORD",
        "smtp_pass",
        "SSH_PASSPHRASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SIGNING_KEY_2",
        "SENTRY_DSN",
    ],
)
def test_what_sounds_like_a_secret_never_reaches_a_process(name: str) -> None:
    assert process_environment({name: "value", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "KEYBOARD", "MONKEY", "COMPASS", "TOKENIZERS_PARALLELISM", "PATTERN"]
)
def test_what_only_resembles_a_secret_passes(name: str) -> None:
    assert process_environment({name: "value"}) == {name: "value"}


def test_names_that_the_owner_calls_secret_never_reach_a_process() -> None:
    assert process_environment({"HUSH": "value", "PATH": "/bin"}, secrets=["HUSH"]) == {
        "PATH": "/bin"
    }


def test_the_environment_of_this_process_is_never_written(
    environment: Callable[..., None],
) -> None:
    before = dict(os.environ)
    with bound(FULL):
        process_environment(os.environ)
        get_session_env(CHAT)
    assert dict(os.environ) == before


def test_importing_the_context_brings_in_nothing_else_of_the_house() -> None:
    look = (
        "import sys, hermes_actors.context as c; "
        "print(*sorted(m for m in sys.modules if m.partition('.')[0] in "
        "('hermes_actors', 'adapters', 'supervisors', 'httpx', 'apsw', 'structlog', 'starlette')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["hermes_actors", "hermes_actors.context"]
