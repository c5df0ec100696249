from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone
from hermes_actors.ports import RemoteClient
from hermes_actors.testing import EventLog, FakeRemoteClient, recorded
from hermes_actors.values import RemoteCall, RemoteCancelled, RemoteResult, RemoteTimedOut

CALL = RemoteCall("c1", "r", "battery", "{}", 30_000)
CANCELLED = RemoteCancelled("c1", "battery", "user_stop")


class Inbox:
    """Whoever waits for results: who sent what."""

    def __init__(self) -> None:
        self.got: list[tuple[str, RemoteResult]] = []

    def __call__(self, identity: str, result: RemoteResult) -> None:
        self.got.append((identity, result))


async def slow(**arguments: Any) -> str:
    await trio.sleep(10)
    return "late"


async def level(unit: str = "percent") -> dict[str, Any]:
    await trio.sleep(2)
    return {unit: 80}


def flat(**arguments: Any) -> None:
    raise RuntimeError("battery is flat")


async def test_it_fits_the_port_and_a_call_can_be_answered_by_hand(
    autojump_clock: MockClock,
) -> None:
    inbox = Inbox()
    client = FakeRemoteClient("phone", on_result=inbox)
    port: RemoteClient = client
    await port.request(CALL)
    assert await client.next_call() == CALL
    client.answer(CALL, 80)
    assert inbox.got == [("phone", RemoteResult("c1", 80))]
    assert client.kinds == ["RemoteCall", "RemoteResult"]


async def test_it_answers_by_itself_with_plain_and_async_handlers(
    autojump_clock: MockClock,
) -> None:
    inbox = Inbox()
    client = FakeRemoteClient("phone", on_result=inbox)
    client.tool("battery", level, description="How full?")
    client.tool("add", lambda a, b: a + b)
    assert list(client.tools) == ["battery", "add"]
    assert client.tools["battery"].description == "How full?"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.serve)
        await client.request(RemoteCall("c1", "r", "battery", '{"unit": "volts"}', 30_000))
        await client.request(RemoteCall("c2", "r", "add", '{"a": 1, "b": 2}', 30_000))
        await trio.sleep(3)
        nursery.cancel_scope.cancel()
    assert inbox.got == [
        ("phone", RemoteResult("c2", 3)),
        ("phone", RemoteResult("c1", {"volts": 80})),
    ]


BAD_CALLS = [
    ("flat", "{}", "RuntimeError: battery is flat"),
    ("ghost", "{}", "LookupError: there is no tool 'ghost'"),
    ("battery", "{broken", "DecodeError: "),
    ("battery", "[1]", "ValidationError: "),
    ("battery", '{"colour": 1}', "TypeError: "),
]


@pytest.mark.parametrize(("name", "arguments", "error"), BAD_CALLS)
async def test_what_goes_wrong_in_a_handler_is_an_answer_and_the_client_goes_on(
    name: str, arguments: str, error: str, autojump_clock: MockClock
) -> None:
    inbox = Inbox()
    client = FakeRemoteClient(on_result=inbox)
    client.tool("flat", flat)
    client.tool("battery", level)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.serve)
        await client.request(RemoteCall("bad", "r", name, arguments, 30_000))
        await client.request(CALL)
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    (_, bad), (_, good) = inbox.got
    assert bad.call_id == "bad"
    assert bad.error is not None
    assert bad.error.startswith(error)
    assert good == RemoteResult("c1", {"percent": 80})


@pytest.mark.parametrize("notice", [CANCELLED, RemoteTimedOut("c1", "battery")])
async def test_a_call_that_has_ended_is_not_answered_any_more(
    notice: RemoteCancelled | RemoteTimedOut, autojump_clock: MockClock
) -> None:
    inbox = Inbox()
    client = FakeRemoteClient(on_result=inbox)
    client.tool("battery", slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.serve)
        await client.request(CALL)
        await wait_all_tasks_blocked()
        client.notify(notice)
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert inbox.got == []
    assert client.frames == [CALL, notice]


async def test_by_hand_it_answers_late_twice_and_for_others(autojump_clock: MockClock) -> None:
    inbox = Inbox()
    client = FakeRemoteClient("thief", on_result=inbox)
    await client.request(CALL)
    client.notify(CANCELLED)
    client.answer(CALL, "late")
    client.answer("c1", "twice")
    client.fail("another's call", "no")
    assert [result for _, result in inbox.got] == [
        RemoteResult("c1", "late"),
        RemoteResult("c1", "twice"),
        RemoteResult("another's call", error="no"),
    ]


async def test_when_it_vanishes_nothing_passes_any_more(autojump_clock: MockClock) -> None:
    log, inbox, gone = EventLog(), Inbox(), list[str]()
    client = FakeRemoteClient("phone", on_result=inbox, on_gone=gone.append, journal=recorded(log))
    client.tool("battery", slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.serve)
        await client.request(CALL)
        await trio.sleep(1)
        client.vanish()
        client.vanish()
    assert trio.current_time() == 1  # the handler was cut, and `serve` has returned
    client.notify(CANCELLED)
    client.answer(CALL, "from the grave")
    with pytest.raises(ActorGone, match="'phone' will not answer: the client has left"):
        await client.request(CALL)
    with pytest.raises(ActorGone):
        await client.next_call()
    assert (inbox.got, gone, client.frames) == ([], ["phone"], [CALL])
    assert log.kinds() == ["client.gone"]


async def test_it_notes_a_cancel_frame_and_no_other(autojump_clock: MockClock) -> None:
    await trio.lowlevel.checkpoint()
    log = EventLog()
    client = FakeRemoteClient("phone", journal=recorded(log))
    client.notify(CANCELLED)
    client.notify(RemoteTimedOut("c2", "battery"))
    assert log.lines() == ["   1     0.000  remote.cancel_frame call=c1 client=phone"]


async def test_two_who_wait_for_calls_get_one_each(autojump_clock: MockClock) -> None:
    client, taken = FakeRemoteClient(), list[str]()

    async def take() -> None:
        taken.append((await client.next_call()).call_id)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        nursery.start_soon(take)
        await wait_all_tasks_blocked()
        await client.request(CALL)
        await client.request(RemoteCall("c2", "r", "battery", "{}", 30_000))
    assert sorted(taken) == ["c1", "c2"]


async def test_it_can_vanish_in_the_step_in_which_a_call_arrives(
    autojump_clock: MockClock,
) -> None:
    client = FakeRemoteClient(on_result=(inbox := Inbox()))
    client.tool("battery", lambda: 80)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.serve)
        await wait_all_tasks_blocked()
        await client.request(CALL)
        client.vanish()
    assert inbox.got == []


async def test_calls_that_nobody_took_are_lost_with_the_connection(
    autojump_clock: MockClock,
) -> None:
    client = FakeRemoteClient()
    await client.request(CALL)
    client.vanish()
    with pytest.raises(ActorGone):
        await client.next_call()


async def test_a_waiting_hand_hears_that_the_client_is_gone(autojump_clock: MockClock) -> None:
    client = FakeRemoteClient()
    async with trio.open_nursery() as nursery:

        async def take() -> None:
            with pytest.raises(ActorGone):
                await client.next_call()

        nursery.start_soon(take)
        await wait_all_tasks_blocked()
        client.vanish()
