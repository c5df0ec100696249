"""A client that goes: by a goodbye, by a reset, by silence; and one that only does not read."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from hermes_actors.config.adapters import ApiServerSettings
from hermes_actors.runtime import How
from hermes_actors.testing.script import HANG, Pause
from hermes_actors.values import TextDelta
from tests.adapters.http.gateway import LOCKED, House, gateway, request, until

NAMED = "X-Hermes-Session-Id: tea"
KEY = "agent:main:api_server:dm:tea"
DETACH = ApiServerSettings(on_disconnect="detach")


def goodbye(stream: trio.SocketStream) -> None:
    stream.socket.close()


def half_goodbye(stream: trio.SocketStream) -> None:
    stream.socket.shutdown(socket.SHUT_WR)


def reset(stream: trio.SocketStream) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()


def question(text: str, *headers: str, **fields: Any) -> bytes:
    body = {"messages": [{"role": "user", "content": text}], **fields}
    return request("POST", "/v1/chat/completions", LOCKED, NAMED, *headers, body=body)


async def asked(house: House, text: str, *headers: str, **fields: Any) -> trio.SocketStream:
    """A client that has asked, and whose question the model is working on."""
    before = len(house.world.model.requests)
    stream = await house.open(question(text, *headers, **fields))
    await until(lambda: len(house.world.model.requests) > before)
    return stream


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("leave", [goodbye, half_goodbye, reset])
async def test_who_leaves_stops_the_run_and_the_hook_fires_once(
    tmp_path: Path, leave: Callable[[trio.SocketStream], None], stream: bool
) -> None:
    async with gateway(tmp_path, ["Half", HANG], "next") as house:
        client = await asked(house, "a", stream=stream)
        leave(client)
        await house.heard.wait()
        assert house.world.model.connections == 0, "the call of the model is closed"
        assert (await house.chat("b", NAMED)).json["choices"][0]["message"]["content"] == "next"
        assert [cause for _, cause in house.stopped] == ["client_disconnected"]
        client.socket.close()


async def test_who_is_silent_and_takes_nothing_is_gone_after_a_while(tmp_path: Path) -> None:
    flood = [TextDelta("x" * 50_000) for _ in range(150)]
    async with gateway(tmp_path, [*flood, HANG], stall=0.5) as house:
        client = await asked(house, "a", stream=True)
        await house.heard.wait()
        assert [cause for _, cause in house.stopped] == ["client_disconnected"]
        client.socket.close()


async def test_who_does_not_read_never_holds_the_run(tmp_path: Path) -> None:
    flood = [TextDelta("x" * 50_000) for _ in range(150)]
    async with gateway(tmp_path, [*flood, "end"], "next") as house:
        client = await asked(house, "a", stream=True)
        await until(lambda: house.world.look(KEY).state == "idle")
        assert (await house.chat("b", NAMED)).json["choices"][0]["message"]["content"] == "next"
        assert house.stopped == []
        client.socket.close()


@pytest.mark.parametrize("leave", [goodbye, reset])
async def test_a_detached_run_goes_on_and_can_be_read_again(
    tmp_path: Path, leave: Callable[[trio.SocketStream], None]
) -> None:
    async with gateway(tmp_path, ["Half", Pause(0.1), " whole."], settings=DETACH) as house:
        client = await asked(house, "a", stream=True)
        run = house.world.look(KEY).run_id
        leave(client)
        events = (await house.ask("GET", f"/v1/runs/{run}/events")).events
        assert events[-1]["event"] == "run.completed"
        assert "".join(each.get("delta", "") for each in events) == "Half whole."
        assert house.stopped == []


async def test_a_question_that_still_waits_is_taken_back(tmp_path: Path) -> None:
    async with gateway(tmp_path, [HANG], "next") as house:
        first = await asked(house, "a")
        waiting = await house.open(question("b", stream=True))
        await until(lambda: len(house.readers(KEY)) == 2)
        goodbye(waiting)
        await house.heard.wait()
        assert (house.withdrawn, house.stopped) == (["client_disconnected"], [])
        goodbye(first)
        await until(lambda: house.stopped)
        assert len(house.world.model.requests) == 1, "nobody asked the model about it"


async def test_only_the_last_of_several_who_wait_for_one_run_stops_it(tmp_path: Path) -> None:
    key = "Idempotency-Key: once"
    async with gateway(tmp_path, ["Half", HANG]) as house:
        first = await asked(house, "a", key)
        again = await house.open(question("a", key))
        await until(lambda: len(house.readers(KEY)) == 2)
        goodbye(first)
        await until(lambda: len(house.readers(KEY)) == 1)
        assert house.world.look(KEY).state == "running"
        goodbye(again)
        await house.heard.wait()
        assert [cause for _, cause in house.stopped] == ["client_disconnected"]


async def test_a_quiet_stream_shows_signs_of_life(tmp_path: Path) -> None:
    settings = ApiServerSettings(keepalive=0.02)
    async with gateway(tmp_path, [Pause(0.1), "Done."], settings=settings) as house:
        answer = await house.chat("a", stream=True)
        assert answer.body.count(b": keepalive\n\n") >= 2
        assert answer.content == "Done."


async def test_before_a_drain_is_over_those_who_still_read_are_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, ["Half", HANG], finish=0.4) as house:
        client = await asked(house, "a", stream=True)
        reader = await house.open(
            request("GET", f"/v1/runs/{house.world.look(KEY).run_id}/events", LOCKED)
        )
        await until(lambda: len(house.readers(KEY)) == 2)
        house.server.life.drain("closing")
        told, seen = [b"".join([data async for data in each]) for each in (client, reader)]
        assert told.index(b'"gateway_draining"') < told.index(b"data: [DONE]")
        assert seen.index(b'"gateway_draining"') < seen.index(b": stream closed")
        await house.server.over.wait()
        assert house.server.ended is not None
        assert house.server.ended.how is How.DRAINED
        assert house.world.look(KEY).state == "running", "what becomes of it is not ours to say"
        house.stop(KEY)
        await client.aclose()
        await reader.aclose()


async def test_a_gateway_that_closes_tells_those_who_still_read(tmp_path: Path) -> None:
    async with gateway(tmp_path, ["Half", HANG]) as house:
        client = await asked(house, "a", stream=True)
        house.world.house.feeds.close()
        told = b"".join([data async for data in client])
        assert b'"gateway_draining"' in told
        assert told.index(b'"gateway_draining"') < told.index(b"data: [DONE]")
        house.stop(KEY)
        await client.aclose()


async def test_whenever_a_client_leaves_its_question_comes_to_exactly_one_end(
    tmp_path: Path,
) -> None:
    line = ["Half", Pause(0.004), " of", HANG]
    async with gateway(tmp_path, *[line] * 60) as house:
        for moment in range(60):
            client = await house.open(question("a", stream=moment % 2 == 0))
            await trio.sleep(moment / 4000)
            (goodbye, reset)[moment % 3 == 0](client)
        rows = await house.settled()
        runs = [str(run) for run, state in rows if state == "stopped"]
        assert {state for _, state in rows} <= {"stopped", "rejected"}
        await until(lambda: len(house.stopped) + len(house.withdrawn) >= len(rows))
        assert sorted(run for run, _ in house.stopped) == sorted(runs)
        assert {cause for _, cause in house.stopped} == {"client_disconnected"}
        assert len(house.withdrawn) == len(rows) - len(runs)
        assert house.world.model.connections == 0
