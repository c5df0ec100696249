"""A message is committed, then told: to the run in progress, but never to its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from hermes_actors.actors.keeping import BusyMode, Keeper
from hermes_actors.actors.receipts import Address, Kept
from hermes_actors.actors.signals import Look
from hermes_actors.actors.taking import Work
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.world import CHAT, KEY


class Sessions:
    """Conversations of which each is said to run, with these messages in hand."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self.heard: list[str] = []

    def ref(self, key: str) -> Sessions:
        return self

    def signal(self, message: object) -> bool:
        self.heard.append(type(message).__name__)
        if isinstance(message, Look):
            message.state, message.run_id, message.keys = "running", "run-1", self._keys
        return True

    def tell(self, message: object) -> None:
        self.heard.append(type(message).__name__)


@pytest.mark.parametrize(("mode", "signal"), [("steer", "Steer"), ("interrupt", "StopRun")])
async def test_the_run_that_has_the_message_in_hand_already_is_left_alone(
    tmp_path: Path, autojump_clock: MockClock, mode: BusyMode, signal: str
) -> None:
    async with living_town(tmp_path / "db") as town:
        for key, heard in (("mine", ["Look", "Wake"]), ("other", ["Look", signal, "Wake"])):
            sessions: Any = Sessions("mine")
            keeper = Keeper(town.house, sessions)
            kept = await keeper.keep(Address(KEY, "main"), Work(CHAT, key, "hi"), mode)
            assert isinstance(kept, Kept)
            assert bool(kept.text) is (key == "other")
            assert sessions.heard == heard
