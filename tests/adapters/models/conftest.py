"""The world in which providers fail."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

from hermes_actors.testing import take_census
from tests.adapters.models.provider import World


@pytest.fixture
async def world(nursery: trio.Nursery) -> AsyncIterator[World]:
    before = take_census()["fds"]
    world = World(nursery)
    yield world
    await world.shared.aclose()
    assert world.lanes.limiter.borrowed_tokens == 0
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True), trio.move_on_after(5):
        await trio.testing.wait_all_tasks_blocked()
    # The server's ends close when it hears of ours; all that is left is its listening sockets.
    assert take_census()["fds"] <= before + 8
