"""Runs over HTTP: their state, their events for many readers, and the stop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from hermes_actors.testing.script import HANG, calls
from tests.adapters.http.gateway import LOCKED, Answer, House, gateway, request, until
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World

NAMED = "X-Hermes-Session-Id: tea"


class Reading:
    """A stream that is read line by line."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream, self._rest = stream, b""

    async def event(self) -> tuple[str, dict[str, Any]]:
        """The next event: its id and its data."""
        while b"\n\n" not in self._rest or b"data:" not in self._rest.split(b"\n\n")[0]:
            if b"\n\n" in self._rest:
                self._rest = self._rest.partition(b"\n\n")[2]
                continue
            data = await self._stream.receive_some()
            assert data, "the stream has ended"
            self._rest += data.replace(b"\r\n", b"")
        whole, _, self._rest = self._rest.partition(b"\n\n")
        lines = whole.decode().split("\n")
        data_line = next(line for line in lines if line.startswith("data: "))
        id_line = next((line for line in lines if "id: " in line), "")
        return id_line.rpartition("id: ")[2], json.loads(data_line[6:])


@asynccontextmanager
async def reading(house: House, path: str, *headers: str) -> AsyncIterator[Reading]:
    stream = await house.open(request("GET", path, LOCKED, *headers))
    async with stream:
        yield Reading(stream)


async def running(house: House, text: str = "a") -> str:
    """The id of the run that answers this; nobody waits for it over HTTP."""
    await house.world.say(text)
    await until(lambda: house.world.model.requests)
    run = house.world.look().run_id
    assert run is not None
    return run


def kinds(answer: Answer) -> list[str]:
    return [each["event"] for each in answer.events]


async def test_a_run_can_be_looked_at_while_it_lives_and_after(tmp_path: Path) -> None:
    async with gateway(tmp_path, ["Hm.", HANG]) as house:
        run = await running(house)
        live = (await house.ask("GET", f"/v1/runs/{run}")).json
        assert (live["status"], live["output"], live["model"]) == ("running", None, "main")
        assert house.world.stop() == run
        await house.heard.wait()
        over = (await house.ask("GET", f"/v1/runs/{run}")).json
        assert (over["status"], over["state"], over["reason"]) == (
            "cancelled",
            "stopped",
            "user_stop",
        )


async def test_a_stop_is_obeyed_once_and_a_late_one_changes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, ["Hm.", HANG]) as house:
        run = await running(house)
        first = await house.ask("POST", f"/v1/runs/{run}/stop")
        assert first.json == {"run_id": run, "status": "stopping"}
        await house.heard.wait()
        late = await house.ask("POST", f"/v1/runs/{run}/stop")
        assert late.json == {"run_id": run, "status": "cancelled"}
        assert house.stopped == [(run, "user_stop")]


async def test_the_one_who_waits_for_the_answer_reads_the_stop_report(tmp_path: Path) -> None:
    answers: list[Answer] = []
    async with gateway(tmp_path, ["Half a sentence", HANG]) as house:

        async def ask() -> None:
            answers.append(await house.chat("a", NAMED, stream=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await until(lambda: house.world.model.requests)
            (key,) = house.world.sessions.live()
            await house.ask("POST", f"/v1/runs/{house.world.look(key).run_id}/stop")
        (answer,) = answers
        assert answer.content.startswith("Half a sentence")
        assert "Stopped" in answer.content
        assert answer.events[-2]["hermes"] == {
            "completed": False,
            "partial": True,
            "failed": False,
            "run_id": answer.headers["x-hermes-run-id"],
            "state": "stopped",
            "reason": "user_stop",
        }
        assert answer.events[-1] == "[DONE]"


async def test_many_readers_see_the_same_events_and_one_who_comes_back_goes_on(
    tmp_path: Path,
) -> None:
    gate = trio.Event()

    async def wait(_: dict[str, Any]) -> str:
        await gate.wait()
        return "open"

    def prepare(world: World) -> None:
        world.tools = Toolbox(wait=wait)

    async with gateway(tmp_path, ["Wait.", calls("wait")], "Done.", prepare=prepare) as house:
        run = await running(house)
        path = f"/v1/runs/{run}/events"
        async with reading(house, path) as early, reading(house, path) as other:
            seen = [await early.event() for _ in range(3)]
            assert [each["event"] for _, each in seen[:2]] == ["run.started", "message.delta"]
            assert [await other.event() for _ in range(3)] == seen
        gate.set()
        whole = await house.ask("GET", path)
        rest = await house.ask("GET", path, f"Last-Event-ID: {seen[-1][0]}")
        assert whole.events[:3] == [each for _, each in seen]
        assert rest.events == whole.events[3:]
        assert kinds(whole)[-1] == "run.completed"
        assert whole.events[-1]["output"] == "Done."
        assert whole.body.endswith(b": stream closed\n\n")
        assert house.stopped == [], "readers come and go; the run does not mind"


async def test_after_a_restart_the_events_come_from_what_was_stored(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one") as house:
        run = (await house.chat("a")).headers["x-hermes-run-id"]
    async with gateway(tmp_path) as house:
        told = await house.ask("GET", f"/v1/runs/{run}/events")
        assert kinds(told) == ["message.delta", "run.completed"]
        assert told.events[0]["delta"] == told.events[1]["output"] == "one"
        resumed = await house.ask("GET", f"/v1/runs/{run}/events", f"Last-Event-ID: {run}/7")
        assert kinds(resumed) == ["run.completed"]


async def test_a_place_in_another_run_is_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one") as house:
        run = (await house.chat("a")).headers["x-hermes-run-id"]
        for place in ("other/7", "x", f"{run}/-1", "\xb2"):
            told = await house.ask("GET", f"/v1/runs/{run}/events", f"Last-Event-ID: {place}")
            assert told.error == (400, "invalid_header", "Last-Event-ID"), place


async def test_reading_old_runs_leaves_nothing_in_memory(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one") as house:
        run = (await house.chat("a")).headers["x-hermes-run-id"]
    async with gateway(tmp_path) as house:
        await house.ask("GET", f"/v1/runs/{run}/events")
        await until(lambda: not house.world.house.feeds._feeds)
