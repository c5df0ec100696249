"""The fake model does what it is told, and the parts about turns run in miniature."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psutil", reason="the benchmarks need the extra 'bench'")

import msgspec
import trio

from adapters.http_client import http_client
from benchmarks.__main__ import main
from benchmarks.child import figures
from benchmarks.rounds import TINY, Size
from benchmarks.turns import cost, memory, open_turns, rate, stops
from benchmarks.turns.model import FakeModel, fake_model
from benchmarks.turns.peers import PEERS, NotInstalled, venv_of
from benchmarks.turns.script import Script, read

SCRIPTS = [Script(), Script(40), Script(3, 0.01, "middle", "t1"), Script(hang="before", tag="t2")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_found_in_the_words_around_it(script: Script) -> None:
    assert read(f"[someone] {script.words()}\n(sent at noon)") == script


@pytest.mark.parametrize("text", ["", "hello", "} {", '{"deltas": "many"}', "{"])
def test_words_without_a_script_ask_for_a_plain_answer(text: str) -> None:
    assert read(text) == Script()


def question(script: Script, *, stream: bool = True) -> dict[str, Any]:
    return {"stream": stream, "messages": [{"role": "user", "content": script.words()}]}


async def ask(model: FakeModel, script: Script, *, stream: bool = True) -> str:
    async with http_client(base_url=model.url) as client:
        answer = await client.post("/chat/completions", json=question(script, stream=stream))
    return answer.text


async def test_it_answers_with_as_many_pieces_as_it_was_told() -> None:
    async with fake_model() as model:
        streamed = await ask(model, Script(3))
        whole = msgspec.json.decode(await ask(model, Script(3), stream=False))
    assert [f"word{n} " in streamed for n in range(4)] == [True, True, True, False]
    assert streamed.endswith("data: [DONE]\n\n")
    assert whole["choices"][0]["message"]["content"] == "word0 word1 word2 "


@pytest.mark.parametrize(
    "script",
    [
        Script(hang="before", tag="x"),
        Script(deltas=3, pace=0.001, hang="middle", tag="x"),
        Script(deltas=100_000, pace=0.001, tag="x"),
    ],
)
async def test_it_tells_when_it_stands_there_and_when_its_client_has_left(script: Script) -> None:
    async with fake_model() as model:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, model, script)
            await model.until_open({"x"})
            assert model.closed == {}
            nursery.cancel_scope.cancel("hang up")
        closed = await model.until_closed("x", 30)
    assert closed is not None
    assert closed >= model.opened["x"]


async def test_it_goes_on_serving_others_when_one_has_hung_up() -> None:
    async with fake_model() as model:
        with trio.move_on_after(0.2):
            await ask(model, Script(hang="before"))
        assert "word0 " in await ask(model, Script())


def test_the_late_value_is_one_that_was_measured() -> None:
    assert stops.late([5.0]) == 5.0
    assert stops.late([float(n) for n in range(1, 101)]) == 100.0
    assert stops.late([float(n) for n in range(1, 1001)]) == 991.0


@pytest.mark.parametrize("named", [{}, {"BENCH_HERMES": "/nowhere"}])
def test_a_peer_that_is_not_here_is_asked_for(named: dict[str, str]) -> None:
    with pytest.raises(NotInstalled, match="put the path of that into BENCH_HERMES"):
        venv_of(PEERS["hermes"], named)


def test_a_peer_is_where_its_variable_says(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert venv_of(PEERS["hermes"], {"BENCH_HERMES": str(tmp_path)}) == tmp_path


def test_an_unknown_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["start", "--peer", "nobody"])
    assert "choose from" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("part", [cost, open_turns, rate], ids=lambda part: part.__name__)
def test_every_part_about_turns_runs_in_miniature(part: Any) -> None:
    measure: Callable[[Size], Any] = part.measure
    found = list(measure(TINY))
    assert found
    assert all(result.value > 0 and result.beside for result in found)


@pytest.mark.slow
def test_an_open_turn_is_weighed_in_a_process_of_its_own() -> None:
    assert figures(memory.weigh, 10, "middle").keys() == {"bytes_each"}


@pytest.mark.slow
def test_each_stop_closes_the_models_connection() -> None:
    running = stops.PHASES["a running stream"]
    assert figures(stops.stop, 5, running.words())["share"] == 100
