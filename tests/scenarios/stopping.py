"""What has to be true of every stop, whatever the run was doing when it came."""

from __future__ import annotations

from typing import Any

import msgspec
import trio

from hermes_actors.actors.feed import Numbered, Reader
from hermes_actors.actors.lines import history_of
from hermes_actors.actors.receipts import Answered
from hermes_actors.actors.sealing import problems_of
from hermes_actors.happenings import RunEnded, SegmentEnded, Words
from hermes_actors.pure.transcript import (
    ANTHROPIC,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    repair,
    validate,
)
from hermes_actors.store import messages, runs
from hermes_actors.testing.event_log import EventLog
from tests.hermes_actors.actors.commands.office import Town

PROOF = "Nothing of this run is active any more, and nothing was sent after the stop."


class Stop(msgspec.Struct):
    """A stop as its sender met it, and what the hook was told."""

    report: str
    hook: dict[str, Any]

    @property
    def told(self) -> tuple[str, str, list[str]]:
        """Cause, phase, and the names of the calls that were cut."""
        return self.hook["cause"], self.hook["phase"], [c["name"] for c in self.hook["tool_calls"]]


class Observed:
    """Looks at a conversation from its beginning, and at all that the gateway notes."""

    def __init__(self, town: Town, log: EventLog) -> None:
        self.town, self.log = town, log
        self.reader: Reader = town.watch()
        town.listen("agent_loop_stopped", "agent_loop_completed")

    async def stop(self, words: str = "/stop") -> Stop:
        """Send it as text; when it is answered, the run is over for everyone."""
        asked_at = len(self.log)
        receipt = await self.town.say(words)
        assert isinstance(receipt, Answered), receipt
        assert receipt.run is not None, receipt.text
        self._nothing_began_after(asked_at, receipt.run)
        self._the_feed_has_ended(receipt.run)
        ((_, given),) = self.heard_of(receipt.run)
        run = await self.town.store.read(runs.get(receipt.run))
        assert (run.state, run.reason, run.hook_fired) == ("stopped", "user_stop", True)
        await self.transcript_is_valid()
        self.acknowledged = len(self.log)
        return Stop(receipt.text, given)

    def heard_of(self, run: str) -> list[tuple[str, dict[str, Any]]]:
        """The terminal hooks of a run."""
        return [each for each in self.town.heard if each[1].get("run_id") == run]

    async def goes_on(self, run: str, answer: str) -> None:
        """The next message gets a normal turn, and the stopped run was not heard of again."""
        assert await self.town.talk("and now?") == answer
        await trio.testing.wait_all_tasks_blocked()
        late = [each.kind for each in self.log.entries[self.acknowledged :] if _is_of(each, run)]
        assert late == []
        assert self._seen_of(run)[1:] == []
        assert len(self.heard_of(run)) == 1
        await self.transcript_is_valid()

    async def transcript_is_valid(self) -> None:
        """As it is stored, every call has its result; as it is sent, no dialect objects."""
        stored = history_of(await self.town.store.read(messages.transcript("session-1")))
        assert problems_of(stored) == ()
        for dialect in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC):
            assert validate(repair(stored, dialect), dialect) == ()

    def _nothing_began_after(self, at: int, run: str) -> None:
        begun = ("tool.started", "model.called", "child.started")
        after = [each.kind for each in self.log.entries[at:] if _is_of(each, run)]
        assert [kind for kind in after if kind in begun] == []

    def _the_feed_has_ended(self, run: str) -> None:
        """No word after the end, and between the stop and the end only the report."""
        self._seen = self.reader.take_waiting()
        mine = [each.what for each in self._seen if each.what.run == run]
        assert isinstance(mine[-1], RunEnded)
        assert sum(isinstance(each, RunEnded) for each in mine) == 1
        before = [each for each in mine[:-1] if not isinstance(each, SegmentEnded)]
        assert isinstance(before[-1], Words)
        assert before[-1].origin == "ending"
        assert before[-1].text.strip() == mine[-1].text

    def _seen_of(self, run: str) -> list[Numbered]:
        self._seen += self.reader.take_waiting()
        mine = [each for each in self._seen if each.what.run == run]
        ends = [at for at, each in enumerate(mine) if isinstance(each.what, RunEnded)]
        return mine[ends[0] :]


def _is_of(entry: Any, run: str) -> bool:
    return bool(entry.data.get("run") == run)


async def until_phase(town: Town, phase: str) -> None:
    """Real sockets need real time, and no event tells the phase."""
    await trio.lowlevel.checkpoint()
    while town.look().phase != phase:  # noqa: ASYNC110  see above
        await trio.sleep(0.001)


async def results(town: Town) -> list[str | None]:
    """What the model is told about its calls."""
    return [text for role, text in await town.lines("session-1") if role == "tool"]
