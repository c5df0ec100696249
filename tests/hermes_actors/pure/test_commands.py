"""A command is recognised however it is typed; words that only look like one are left alone."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.pure.command_list import BUILT_IN, COMMANDS
from hermes_actors.pure.commands import (
    Command,
    CommandTable,
    ForAnother,
    Misused,
    Reaction,
    Unknown,
    plugin_command,
    refusal,
    stops_all,
    undo_count,
)

ACT, CUT, WORK, REFUSE = Reaction.ACT, Reaction.CUT, Reaction.WORK, Reaction.REFUSE


def understood(text: str, bot: str | None = None) -> Command:
    command = BUILT_IN.read(text, bot)
    assert isinstance(command, Command)
    return command


@pytest.mark.parametrize(
    ("name", "busy", "idle"),
    [
        ("stop", CUT, ACT),
        ("new", CUT, ACT),
        ("reset", CUT, ACT),
        ("status", ACT, ACT),
        ("help", ACT, ACT),
        ("queue", WORK, WORK),
        ("steer", ACT, WORK),
        ("retry", REFUSE, WORK),
        ("undo", REFUSE, ACT),
        ("title", ACT, ACT),
        ("resume", REFUSE, ACT),
        ("branch", REFUSE, ACT),
        ("compress", REFUSE, WORK),
        ("model", ACT, ACT),
        ("usage", ACT, ACT),
        ("why", ACT, ACT),
        ("approve", ACT, ACT),
        ("deny", ACT, ACT),
        ("background", ACT, ACT),
        ("sessions", ACT, ACT),
    ],
)
def test_what_each_command_does_during_a_run_and_otherwise(
    name: str, busy: Reaction, idle: Reaction
) -> None:
    command = understood(f"/{name} something")
    assert (command.reaction(busy=True), command.reaction(busy=False)) == (busy, idle)
    assert command.is_control(busy=True) is (busy is not WORK)
    assert command.is_control(busy=False) is (idle is not WORK)


def test_nothing_that_stops_or_answers_waits_behind_queued_messages() -> None:
    waiting = {spec.name for spec in COMMANDS if not Command(spec).is_control(busy=True)}
    assert waiting == {"queue"}


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/stop", "stop", ""),
        ("  /STOP  ", "stop", ""),
        ("/stop!", "stop", ""),
        ("/Stop all", "stop", "all"),
        ("/stop@our_bot", "stop", ""),
        ("/stop@OUR_BOT all", "stop", "all"),
        ("/reset", "new", ""),
        ("/fork  a  b ", "branch", "a  b"),
        ("/compact", "compress", ""),
        ("/q later", "queue", "later"),
        ("/queue one\ntwo\n", "queue", "one\ntwo"),
        ("/queue\nline", "queue", "line"),
        ("/bg x", "background", "x"),
        ("/btw x", "background", "x"),
        ("/start", "help", ""),
        ("/steer /etc/passwd", "steer", "/etc/passwd"),
    ],
)
def test_commands_are_understood_however_they_are_typed(
    text: str, name: str, argument: str
) -> None:
    command = understood(text, "our_bot")
    assert (command.name, command.argument) == (name, argument)


@pytest.mark.parametrize(
    "text",
    ["", " ", "stop", "/", "/ stop", "//stop", "/etc/passwd", "/etc/passwd is what?", "/2", "/-x",
     "/é", "/stop/now", "please /stop", "/home/me", "/a.b", "/stop=now", "/@bot", "/stop@"],
)  # fmt: skip
def test_words_that_only_begin_with_a_slash_are_ordinary_words(text: str) -> None:
    assert BUILT_IN.read(text) is None


def test_a_command_to_another_bot_is_not_ours() -> None:
    assert BUILT_IN.read("/stop@other", "us") == ForAnother("other")
    assert BUILT_IN.read("/nonsense@other", "us") == ForAnother("other")
    assert understood("/stop@other").name == "stop"  # our own name is not known: better stop
    assert understood("/stop@us", "@us").name == "stop"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("stpo", "stop"),
        ("staus", "status"),
        ("comp", "compress"),
        ("sess", "sessions"),
        ("aprove", "approve"),
        ("rest", "new"),
        ("zzzzzz", None),
        ("s", None),
        ("tmp", None),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest_right_one(
    typed: str, meant: str | None
) -> None:
    unknown = BUILT_IN.read(f"/{typed} now")
    assert isinstance(unknown, Unknown)
    assert unknown.nearest == meant
    assert f"/{typed}" in unknown.words
    assert (f"/{meant}?" if meant else "/help") in unknown.words


@pytest.mark.parametrize("name", ["queue", "steer", "background", "q", "bg"])
def test_a_command_without_the_text_it_needs_says_how_it_is_written(name: str) -> None:
    misused = BUILT_IN.read(f"/{name}  ")
    assert isinstance(misused, Misused)
    assert f"/{misused.spec.name} TEXT" in misused.words


def test_stop_is_never_refused_for_the_words_behind_it() -> None:
    assert not stops_all(understood("/stop please!"))
    assert not stops_all(understood("/stop"))
    assert stops_all(understood("/stop ALL of it"))
    assert not stops_all(understood("/stop allright"))


@pytest.mark.parametrize(
    ("argument", "count"),
    [("", 1), ("3", 3), ("0", None), ("-1", None), ("x", None), ("٣", None), ("9" * 9, None)],
)
def test_undo_takes_a_plain_number(argument: str, count: int | None) -> None:
    assert undo_count(understood(f"/undo {argument}")) == count


def test_help_lists_every_command_once_and_explains_each() -> None:
    lines = BUILT_IN.help().splitlines()
    assert [line.split()[0] for line in lines] == [f"/{spec.name}" for spec in COMMANDS]
    for spec in COMMANDS:
        details = BUILT_IN.help(f"/{spec.name}")
        assert spec.while_busy in details
        assert spec.while_idle in details
    assert "Also: /fork" in BUILT_IN.help("branch")
    assert BUILT_IN.help("fork") == BUILT_IN.help("BRANCH")
    assert "Did you mean /stop?" in BUILT_IN.help("stpo")


def test_a_refusal_says_what_to_do_instead() -> None:
    words = refusal(understood("/undo"))
    assert words.startswith("/undo cannot be done")
    assert "/stop" in words


def test_plugins_add_commands_and_cannot_take_one_over() -> None:
    thief = msgspec.structs.replace(plugin_command("thief", "takes"), aliases=("stop", "q"))
    others = (plugin_command("stop", "evil"), plugin_command("roll", "dice"), thief)
    table = CommandTable((*COMMANDS, *others))
    stop, roll = table.read("/stop"), table.read("/roll 2d6")
    assert isinstance(stop, Command)
    assert stop.reaction(busy=True) is CUT
    assert isinstance(roll, Command)
    assert roll.argument == "2d6"
    assert table.help().count("/stop") == 1
    assert "TEXT" in table.help("q")
    assert "/roll - dice" in table.help()


def test_every_name_and_alias_is_given_once() -> None:
    names = [name for spec in COMMANDS for name in (spec.name, *spec.aliases)]
    assert len(names) == len(set(names))


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for typed in (text, f"/{text}", f"/stop {text}"):
        BUILT_IN.read(typed, "bot")
    assert understood(f"/steer x{text}").argument == f"x{text}".strip()
