"""The world in which providers fail."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

from tests.adapters.models.provider import World


@pytest.fixture
async def world(nursery: trio.Nursery) -> AsyncIterator[World]:
    """Afterwards no place of the limiter is taken, and no server has a client any more."""
    world = World(nursery)
    yield world
    await world.shared.aclose()
    assert world.lanes.limiter.borrowed_tokens == 0
    with trio.fail_after(5):
        for server in world.servers:
            await server.all_gone()
