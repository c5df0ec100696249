"""No run ends in silence, on any surface; and no word is said twice.

What a model says is streamed as it comes. What the gateway says in its place (a guardrail, a
limit, a failure) takes the same road: to every reader, to the stored transcript, to the chat.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.driver import drive
from hermes_actors.actors.feed import Feed, TooSlow
from hermes_actors.actors.voice import Voice
from hermes_actors.happenings import RunEnded, Seen, SegmentEnded, Words
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.endings import REASONS
from hermes_actors.store import messages, outbox
from hermes_actors.store.operation import Read
from hermes_actors.store.sql import Sql, rows
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import calls
from hermes_actors.values import TextDelta
from tests.adapters.http.gateway import KEY as API_KEY
from tests.adapters.http.gateway import Answer, answer, gateway, request
from tests.adapters.raw_server import RawServer
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World, living_world, until_ended, words
from tests.scenarios.exits import EXITS, TWICE, fails, guardrail, works
from tests.scenarios.model_on_a_wire import wants
from tests.supervisors.process import GatewayProcess

HALT = (
    "I stopped here: fails failed 2 times without any progress (repeated_exact_failure_block). "
    "Its last result shows where it got stuck. Tell me what to change, and I will try another way."
)


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)


async def lines(world: World) -> list[tuple[str, str | None]]:
    found = await world.store.read(messages.transcript("session-1"))
    return [(line.role, line.content) for line in found]


async def sent(world: World) -> list[str | None]:
    """What a chat is sent."""
    return [row.text for row in await world.store.read(Read(_replies))]


def _replies(sql: Sql) -> list[outbox.Reply]:
    return rows(sql, outbox.Reply, "FROM outbox ORDER BY id", ())


def spoken(seen: list[Seen], origin: str) -> list[str]:
    return [each.text for each in seen if isinstance(each, Words) and each.origin == origin]


# Every exit -----------------------------------------------------------------------------------


def test_every_way_to_end_without_an_answer_is_tried_below() -> None:
    ends = {reason: state for state, reasons in REASONS.items() for reason in reasons}
    tried = {reason: state for reason, (state, _) in EXITS.items()}
    assert tried == {
        reason: state for reason, state in ends.items() if state not in ("completed", "stopped")
    }


@pytest.mark.parametrize("reason", EXITS)
async def test_words_come_before_the_end_once_and_are_stored_and_sent(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, reason: str
) -> None:
    state, prepare = EXITS[reason]
    async with living_world(tmp_path / "db", drive, log=log, prepare=prepare) as world:
        reader = world.watch()
        await world.say("go")
        seen = await until_ended(reader)
        end = seen[-1]
        assert isinstance(end, RunEnded)
        assert (end.state, end.reason) == (state, reason)
        assert end.text.strip()
        assert words(seen) == end.text
        assert (await lines(world))[-1] == ("assistant", end.text)
        assert await sent(world) == [end.text]


@pytest.mark.parametrize("reason", EXITS)
async def test_an_http_stream_has_content_before_its_finish_and_the_same_words_once(
    tmp_path: Path, reason: str
) -> None:
    state, prepare = EXITS[reason]
    async with gateway(tmp_path, prepare=prepare) as house:
        streamed = await house.chat("go", stream=True)
        *before, last, done = streamed.events
        assert done == "[DONE]"
        assert last["choices"][0]["finish_reason"] is not None
        assert (last["hermes"]["state"], last["hermes"]["reason"]) == (state, reason)
        assert all(each["choices"][0]["finish_reason"] is None for each in before)
        stored = await house.world.store.read(messages.transcript("session-1"))
        assert streamed.content == stored[-1].content
        assert streamed.content.strip()


# Seed behaviours, one by one: the emitter ------------------------------------------------------


class Listening(Feed):
    """A feed with one reader, who has read everything."""

    def __init__(self) -> None:
        super().__init__()
        self._reader = self.subscribe()

    def heard(self) -> list[Seen]:
        return [each.what for each in self._reader.take_waiting()]


def test_a_synthesized_text_is_the_same_kind_of_event_as_a_models_words() -> None:
    feed = Listening()
    voice = Voice(feed, "r1")
    voice.hear(TextDelta("One."))
    voice.end_segment()
    voice.say("Two.", "ending")
    assert feed.heard() == [
        Words("r1", "One."),
        SegmentEnded("r1"),
        Words("r1", "\n\nTwo.", "ending"),
    ]


def test_it_is_stripped() -> None:
    feed = Listening()
    assert Voice(feed, "r1").say("  \n Stopped. \n", "ending") == "Stopped."
    assert feed.heard() == [Words("r1", "Stopped.", "ending")]


@pytest.mark.parametrize("nothing", ["", " ", " \n\t ", "<think>only a thought</think>"])
def test_what_is_empty_blank_or_only_a_thought_is_not_said(nothing: str) -> None:
    feed = Listening()
    assert Voice(feed, "r1").say(nothing, "ending") == ""
    assert feed.heard() == []


def test_it_is_scrubbed_like_a_models_words() -> None:
    feed = Listening()
    Voice(feed, "r1").say("<think>secret</think>The tool failed.", "ending")
    assert feed.heard() == [Words("r1", "The tool failed.", "ending")]


def test_half_a_thought_of_the_model_does_not_swallow_it() -> None:
    feed = Listening()
    voice = Voice(feed, "r1")
    voice.hear(TextDelta("<think>never clo"))
    voice.end_segment()
    voice.say("Stopped.", "ending")
    assert "".join(each.text for each in feed.heard() if isinstance(each, Words)) == "Stopped."


def test_without_any_reader_nothing_is_missing() -> None:
    feed = Feed()
    assert Voice(feed, "r1").say("Stopped.", "ending") == "Stopped."
    assert [each.what for each in feed.subscribe(after=0).take_waiting()] == [
        Words("r1", "Stopped.", "ending")
    ]


# The guardrail, end to end ---------------------------------------------------------------------


async def test_a_halt_names_the_tool_and_the_code_and_is_said_exactly_once(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        readers = [world.watch() for _ in range(3)]
        await world.say("go")
        for reader in readers:
            seen = await until_ended(reader)
            assert [each.text for each in seen if isinstance(each, Words)] == [HALT]
            assert getattr(seen[-1], "text", None) == HALT
        assert world.tools.called == ["fails", "fails"]
        late = await until_ended(world.watch(after=0))
        assert words(late) == HALT  # one who comes afterwards reads the same


async def test_the_next_turn_starts_clean_and_its_model_knows_what_was_said(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools, world.loop = Toolbox(fails=fails), LoopLimits(guardrails=TWICE)
        once = [calls("fails")]
        world.model.script(once, once, once, once, "Another way.")
        reader = world.watch()
        await world.say("go")
        await until_ended(reader)
        await world.say("another way, then")
        assert words(await until_ended(reader)) == "Another way."
        told = [getattr(each, "text", "") for each in world.model.requests[3].messages]
        assert HALT in told
        assert world.tools.called == ["fails"] * 3  # the first failure of a new run is no halt


async def test_operators_still_get_the_warning_with_the_code(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        reader = world.watch()
        await world.say("go")
        await until_ended(reader)
        codes = [entry["code"] for entry in log.of("run.warned")]
        assert codes[-1] == "repeated_exact_failure_block"
        assert codes.count("repeated_exact_failure_block") == 1


async def test_nobody_who_reads_along_is_needed(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        await world.say("go")
        await wait_all_tasks_blocked()
        assert world.look().state == "idle"
        assert (await lines(world))[-1] == ("assistant", HALT)
        assert await sent(world) == [HALT]


async def test_a_reader_that_breaks_off_harms_neither_the_run_nor_the_others(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        broken, other = world.watch(), world.watch()
        await world.say("go")
        await anext(broken)  # and then nobody reads it, and nobody closes it
        assert words(await until_ended(other)) == HALT


async def test_a_reader_that_is_slow_holds_nothing_and_can_come_back_without_a_gap(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        feed = world.house.feeds.of("agent:main:test:dm:c1")
        slow = feed.subscribe(events=2)
        await world.say("go")
        await wait_all_tasks_blocked()
        assert trio.current_time() == 0
        seen = [each.what for each in slow.take_waiting()]
        with pytest.raises(TooSlow) as dropped:
            await anext(slow)
        seen += await until_ended(feed.subscribe(after=dropped.value.cursor))
        assert words(seen) == HALT
        assert seen == await until_ended(feed.subscribe(after=0))


async def test_the_end_of_one_run_mutes_no_reader_for_the_next(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        speaker = world.watch()
        await world.say("go")
        await until_ended(speaker)
        await world.say("again")
        assert words(await until_ended(speaker)) == HALT


async def test_a_hook_that_raises_at_the_end_does_not_cost_the_words(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def raises(**given: Any) -> None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("a plugin")

    async with living_world(tmp_path / "db", drive, log=log, prepare=guardrail) as world:
        for hook in ("agent_loop_stopped", "on_session_end", "post_tool_call"):
            world.bus.register(hook, raises, owner="test")
        reader = world.watch()
        await world.say("go")
        assert words(await until_ended(reader)) == HALT


async def test_when_the_end_itself_cannot_be_stored_the_words_are_said_all_the_same(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    def break_the_store() -> None:
        with closing(apsw.Connection(str(tmp_path / "db"))) as other:
            other.execute(
                "CREATE TRIGGER full BEFORE UPDATE OF state ON runs "
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )

    async def ruins(arguments: dict[str, Any]) -> str:
        await trio.lowlevel.checkpoint()
        break_the_store()
        return "done"

    log.stays_open = True
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(ruins=ruins)
        world.model.script([calls("ruins")], ModelFailed("unauthorized", "the key was refused"))
        reader = world.watch()
        await world.say("go")
        seen = await until_ended(reader)
        assert "the key was refused" in words(seen)
        assert log.of("run.unsealed").kinds() == ["run.unsealed"]


# Words of the model ----------------------------------------------------------------------------


async def test_an_ordinary_answer_is_streamed_and_never_said_again(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(works=works)
        world.model.script(["<think>hm</think>Let me see. ", calls("works")], "It is done.")
        reader = world.watch()
        await world.say("go")
        seen = await until_ended(reader)
        assert "".join(spoken(seen, "model")) == "Let me see. It is done."
        assert spoken(seen, "ending") == spoken(seen, "notice") == []


async def test_the_summary_at_the_limit_is_streamed_once_with_the_limit_named_behind_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools, world.loop = Toolbox(works=works), LoopLimits(max_iterations=1)
        world.model.script([calls("works")], "I have found tea.")
        reader = world.watch()
        await world.say("go")
        seen = await until_ended(reader)
        assert "".join(spoken(seen, "model")) == "I have found tea."
        assert words(seen).count("I have found tea.") == 1
        assert "(max_iterations)" in words(seen)
        assert words(seen) == getattr(seen[-1], "text", None)


# The complaint itself, as its reporter met it --------------------------------------------------

PLUGIN = """
async def fails(arguments):
    raise FileNotFoundError("there is no pytest here")

def register(ctx):
    ctx.tool("terminal_like", fails, description="Runs a command.")
"""


@pytest.mark.slow
async def test_a_halt_over_http_from_a_real_gateway_is_content_before_the_finish(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    server = RawServer(wants("terminal_like"))
    await nursery.start(server.serve)
    (tmp_path / "failing.py").write_text(PLUGIN)
    config = f"""
[model]
provider = "openai"
name = "m"
base_url = "{server.url}"
api_key = "{API_KEY}"
[tool_loop_guardrails.hard_stop_after]
exact_failure = 2
[plugins]
enabled = ["failing:register"]
[adapters.api_server]
port = 0
"""
    with GatewayProcess(tmp_path / "home", config, plugins=tmp_path) as process:
        url = await trio.to_thread.run_sync(process.wait_until_up)
        told = await _ask(url, (tmp_path / "home" / "api.key").read_text().strip())
    assert len(server.requests) == 3  # the third call was asked for, and not made
    role, *content, finish, done = told.events
    assert role["choices"][0]["delta"]["role"] == "assistant"
    said = "".join(each["choices"][0]["delta"]["content"] for each in content)
    assert said.startswith("I stopped here: terminal_like failed 2 times")
    assert said.count("repeated_exact_failure_block") == 1
    assert finish["choices"][0]["finish_reason"] == "length"
    assert done == "[DONE]"


async def _ask(url: str, key: str) -> Answer:
    asked = {"stream": True, "messages": [{"role": "user", "content": "run the tests"}]}
    port = int(url.rstrip("/").rpartition(":")[2])
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        head = f"Authorization: Bearer {key}"
        await stream.send_all(request("POST", "/v1/chat/completions", head, body=asked))
        with trio.fail_after(20):
            return answer(b"".join([piece async for piece in stream]))
