"""The story of a run, from its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG, calls
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.toolbox import Toolbox


async def brew(arguments: dict[str, Any]) -> str:
    await trio.sleep(2)
    return json.dumps({"tea": arguments["kind"]})


async def test_it_tells_message_run_calls_end_and_reply_in_this_order(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.tools = Toolbox(brew=brew)
        town.model.script([calls("brew", kind="green")], "Here you are.", [HANG])
        await town.talk("tea, please")
        story = (
            "00:16:40 message m1: “tea, please” (answered)\n"
            "00:16:40 run run-2 began, agent main\n"
            "00:16:40 call brew (call-1): ok\n"
            "00:16:42 completed, ok, after 2.0 s\n"
            "00:16:42 reply to chat c1: queued"
        )
        assert await town.answer("/why") == story
        await town.begin("more")
        assert (await town.answer("/why")).endswith("It has not ended yet.")
        assert await town.answer("/why run-2") == story


async def test_the_runs_of_others_are_not_told(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("Hello.")
        await town.talk("hi")
        stranger = Source(platform="test", chat_id="c2", user_id="u2")
        assert await town.answer("/why run-2", stranger) == "There is no run 'run-2' here."
        assert await town.answer("/why", stranger) == "Nothing ran yet."
