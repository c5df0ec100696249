"""Commands that plugins bring: answered at once, and never trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from hermes_actors.hooks.contributions import PluginCommand
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG
from tests.hermes_actors.actors.commands.office import living_town


def brought(name: str, handler: Callable[..., Any]) -> PluginCommand:
    return PluginCommand(name, "test", handler, "a test", "")


async def polite(words: str) -> str:
    await trio.lowlevel.checkpoint()
    return f"hello {words}"


def plain(words: str) -> int:
    return len(words)


def broken(words: str) -> str:
    raise ValueError("no good")


async def endless(words: str) -> None:
    await trio.sleep_forever()


PLUGINS = {
    name: brought(name, handler)
    for name, handler in {
        "polite": polite,
        "plain": plain,
        "broken": broken,
        "endless": endless,
    }.items()
}


async def test_it_answers_in_both_states_and_its_failures_are_told(
    tmp_path: Path, log: EventLog
) -> None:
    async with living_town(tmp_path / "db", log=log, plugins=PLUGINS) as town:
        town.model.script([HANG])
        for busy in (False, True):
            assert await town.answer("/polite world") == "hello world"
            assert await town.answer("/plain abc") == "3"
            assert await town.answer("/broken") == "/broken failed: ValueError: no good"
            if not busy:
                await town.begin("go")
        assert "/polite - a test" in await town.answer("/help")
        assert town.look().state == "running"


async def test_one_that_does_not_return_is_given_up(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, plugins=PLUGINS) as town:
        assert await town.answer("/endless") == (
            "/endless took longer than 30 seconds and was given up."
        )
        assert trio.current_time() == 30
