"""A double that does not wait where the real thing waits would hide what a stop can hit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from trio.testing import MockClock, assert_checkpoints

from hermes_actors.testing import FakePlatform, FakeRemoteClient, ScriptedModel
from hermes_actors.values import ModelRequest, NotSent, Outbound, RemoteCall, Source

HERE = Source("fake", "1")
CALL = RemoteCall("c", "r", "t", "{}", 1000)


def refusing() -> FakePlatform:
    platform = FakePlatform()
    platform.script(NotSent("forbidden"))
    return platform


async def take(client: FakeRemoteClient) -> object:
    await client.request(CALL)
    with assert_checkpoints():
        return await client.next_call()


WAITS: dict[str, Callable[[], Awaitable[object]]] = {
    "respond": lambda: ScriptedModel([]).respond(ModelRequest("r", "m", ()), lambda delta: None),
    "send": lambda: FakePlatform().send(Outbound(HERE, "hi")),
    "send, refused": lambda: refusing().send(Outbound(HERE, "hi")),
    "edit": lambda: FakePlatform().edit("m1", Outbound(HERE, "hi")),
    "typing": lambda: FakePlatform().typing(HERE, "r"),
    "thread": lambda: FakePlatform().create_handoff_thread(HERE, "name"),
    "request": lambda: FakeRemoteClient().request(CALL),
    "next_call": lambda: take(FakeRemoteClient()),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
async def test_every_call_of_a_double_can_be_cancelled(
    wait: Callable[[], Awaitable[object]], autojump_clock: MockClock
) -> None:
    with assert_checkpoints():
        await wait()
