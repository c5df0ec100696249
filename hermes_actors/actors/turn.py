"""One run of an agent: one scope, one way out.

    running ──► completed | stopped | halted | failed | expired

Whoever leaves `running` first wins, in one synchronous step: `stop` and `finish` are plain calls,
and the second to come is told so. A stop cancels the scope in the same step, so nothing of the run
can begin after it.

Everything that a run starts lives inside its scope and is gone when the scope is left. Then, on
every way out, comes the one `finally`: the transcript is sealed and committed with the terminal
row, the terminal hook fires, and only then are the last words said. It stands outside the scope,
so that a stop cannot cancel the clean-up, and inside a shield with a deadline, so that a shutdown
cannot either and neither can last for ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.open_calls import OpenCalls
from hermes_actors.actors.sealing import Closing, Sealed, close_run
from hermes_actors.actors.terminal import Order as Order
from hermes_actors.actors.terminal import RunIsOver
from hermes_actors.actors.voice import Voice
from hermes_actors.errors import Refusal, StoreRefused
from hermes_actors.happenings import RunBegan, RunEnded
from hermes_actors.hooks.events import (
    AgentLoopCompleted,
    AgentLoopStarted,
    AgentLoopStopped,
    OnSessionStart,
)
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.endings import OK, Ending, Reason, Stopped, ending
from hermes_actors.pure.stop_report import CutOff, StopReport, stop_report
from hermes_actors.runtime.crash import simplest
from hermes_actors.store import runs
from hermes_actors.store.operation import Write, all_of
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.states import RunState
from hermes_actors.values import Usage

HOOKS_WITHIN = 6.0
MODEL_PHASES = frozenset({"connecting", "waiting", "streaming"})


class Queue(msgspec.Struct, frozen=True):
    """How many messages wait behind a run that was stopped, and how many were dropped with it."""

    waiting: int = 0
    dropped: int = 0


class Steered(msgspec.Struct, frozen=True):
    """Words of a person for the run in progress; they wait as this row of the inbox."""

    inbox: int
    text: str


class TurnEnd(msgspec.Struct, frozen=True):
    """How a run ended. Not `sealed`: the store would not take the end, so it is still owed."""

    how: Ending
    words: str
    sealed: bool


class Turn:
    """Runs `drive` for one order, and tells everyone concerned exactly once how it ended."""

    def __init__(
        self,
        order: Order,
        house: House,
        voice: Voice,
        drive: Callable[[Turn], Awaitable[None]],
        *,
        cut_by: Callable[[], Stopped] = lambda: "shutdown",
        queue: Callable[[], Awaitable[Queue]],
    ) -> None:
        self.order, self.house, self.voice = order, house, voice
        self._drive, self._cut_by, self._queue = drive, cut_by, queue
        self._scope = trio.CancelScope(deadline=trio.current_time() + house.limits.turn_deadline)
        self._idle = trio.CancelScope()
        self._began = trio.current_time()
        self.calls = OpenCalls()
        self._steered: list[Steered] = []
        self._decided: dict[str, trio.Event] = {}
        self._owed: list[Write[None]] = []
        self._heard = True
        self.ending: Ending | None = None
        self.phase = self.phase_at_end = "starting"
        self.usage = Usage()
        self._words = self._reasoning = ""
        self._said = False
        self._detail: str | None = None
        self.progressed()

    # Leaving `running`: plain calls, the first one wins --------------------------------------

    def stop(self, reason: Stopped) -> bool:
        """Cut the run. When this returns True, nothing of it will begin any more."""
        return self._leave(ending(reason))

    def finish(
        self,
        how: Ending,
        words: str,
        *,
        said: bool,
        reasoning: str = "",
        detail: str | None = None,
    ) -> bool:
        """The run has come to its own end, with these last words. False: a stop was faster.

        `said`: the words were heard already while the model spoke them, and are not said again.
        """
        if not self._leave(how, cut=False):
            return False
        self._words, self._said = words, said
        self._reasoning, self._detail = reasoning, detail
        return True

    def _leave(self, how: Ending, *, cut: bool = True) -> bool:
        if self.ending is not None:
            return False
        self.ending, self.phase_at_end = how, self.phase
        if cut:
            self._scope.cancel(how.reason)
        return True

    # While it runs ---------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The run, for tools and records."""
        return self.order.run_id

    @property
    def session_key(self) -> str:
        """The conversation, likewise."""
        return self.order.session_key

    @property
    def agent_id(self) -> str:
        """The agent, likewise."""
        return self.order.agent.id

    def enter(self, phase: str) -> None:
        """Say what the run is doing now."""
        self.phase = phase
        self.progressed()

    def progressed(self) -> None:
        """Something happened, so the run is not idle."""
        self._idle.deadline = trio.current_time() + self.house.limits.idle_deadline

    def cannot_be_cut(self, call_id: str) -> None:
        """For tools: the call goes on where no cancellation reaches it, and a stop must say so."""
        self.calls.cannot_be_cut(call_id)

    def steer(self, inbox: int, text: str) -> bool:
        """Hand words to whoever drives the run; False: it has come to its end."""
        if self.ending is None:
            self._steered.append(Steered(inbox, text))
        return self.ending is None

    def take_steered(self) -> list[Steered]:
        """What was said to the run since the last time, in order."""
        taken, self._steered = self._steered, []
        return taken

    def decided(self, approval: str) -> None:
        """A question to a person has its answer in the store: whoever waits for it may look."""
        self._decided.setdefault(approval, trio.Event()).set()

    async def until_decided(self, approval: str) -> None:
        """Wait for that. The answer may have come before."""
        await self._decided.setdefault(approval, trio.Event()).wait()

    def owe(self, write: Write[None]) -> None:
        """Have something written with the next lines of this run, or else with its end."""
        self._owed.append(write)

    def take_owed(self) -> list[Write[None]]:
        """What is owed, to be written together with something that cannot wait."""
        taken, self._owed = self._owed, []
        return taken

    async def run(self) -> TurnEnd:
        """Run to an end, whatever it is. Raises only a cancellation from outside, afterwards."""
        end: TurnEnd | None = None
        try:
            with self._scope, self._idle:
                await self._begin()
                await self._drive(self)
            self._out_of_time()
        except Exception as crash:  # noqa: BLE001  a turn is a border: told to the user, kept below
            self._crashed(crash)
        finally:
            # On a cancellation from outside, the reason is known to whoever is above.
            self._leave(ending(self._cut_by()))
            with trio.move_on_after(self.house.limits.seal_within + HOOKS_WITHIN, shield=True):
                end = await self._conclude()
        return end or TurnEnd(self.ending or OK, "", False)

    async def _begin(self) -> None:
        order = self.order
        self.voice.tell(RunBegan(order.run_id, order.session_key, order.agent.id, order.keys))
        hello = AgentLoopStarted(
            session_key=order.session_key,
            platform=order.source.platform,
            agent_id=order.agent.id,
            run_id=order.run_id,
        )
        await self.house.bus.fire(hello)
        if order.is_first:
            await self.house.bus.fire(
                OnSessionStart(
                    session_id=order.session_id,
                    model=order.agent.model_name,
                    platform=order.source.platform,
                    session_key=order.session_key,
                    agent_id=order.agent.id,
                )
            )

    def _out_of_time(self) -> None:
        if self._scope.cancelled_caught:
            self._leave(ending("deadline"))
        elif self._idle.cancelled_caught:
            self._leave(ending("idle"))
        elif self.ending is None:
            raise RuntimeError("the run was driven to no end")

    def _crashed(self, crash: Exception) -> None:
        crash = simplest(crash)  # one that came out of a nursery of tools
        if self._leave(ending(_blame(crash))):
            self._detail = str(crash)
            self.house.journal.note("run.crashed", run=self.run_id, error=repr(crash))

    # The one way out -------------------------------------------------------------------------

    async def _conclude(self) -> TurnEnd:
        how = self.ending or OK
        report, sealed = self._report(how, Queue()), False
        with trio.move_on_after(self.house.limits.seal_within):
            if how.state == "stopped":
                report = self._report(how, await self._queue())
            sealed = await self._seal(how, report.text)
        if sealed:
            await self._fire_terminal(how, report)
        self._say_last(how, report.text)
        return TurnEnd(how, report.text, sealed)

    async def settle(self) -> None:
        """Store an end that was refused, lest it look like a crash and its message be run again."""
        how = self.ending or OK
        report = self._report(how, Queue())
        if not await self._seal(how, report.text):
            raise StoreRefused("busy", "the end of the last run cannot be stored yet")
        await self._fire_terminal(how, report)

    def _report(self, how: Ending, queue: Queue) -> StopReport:
        if self._words:
            return stop_report(how, CutOff(), self._words)  # its own end: nothing was cut
        cut = self.calls.cut_off(
            model_call=self.phase_at_end in MODEL_PHASES,
            queued=queue.waiting,
            dropped=queue.dropped,
        )
        return stop_report(how, cut)

    def _say_last(self, how: Ending, words: str) -> None:
        """What has been heard already is not said again; anything else is said now."""
        if not self._said or self.voice.silent:
            self.voice.say(words, "model" if how == OK else "ending")
        tokens = self.usage.input, self.usage.output
        self.voice.tell(RunEnded(self.run_id, how.state, how.reason, words, *tokens))

    async def _seal(self, how: Ending, words: str) -> bool:
        # What an ending of our own says includes the model's words; a cut has to save them.
        partial = "" if self._said else self._unsaved()
        closing = Closing(
            run_id=self.run_id,
            state=RunState(how.state),
            reason=how.reason,
            words=words,
            partial=partial,
            reasoning=self._reasoning,
            detail=self._detail,
            results=self.calls.fates,
            reply=self._reply(words, partial),
        )
        end = close_run(closing, now=self.house.now())
        self._heard = self._is_heard(how)
        duty = () if self._heard else (runs.take_hook_duty(self.run_id),)
        try:
            sealed, *_ = await self.house.store.write(all_of(end, *duty, *self.take_owed()))
        except Refusal as no:
            # The run stays open in the store and is ended there when its session next wakes.
            self.house.journal.note("run.unsealed", run=self.run_id, reason=str(no))
            return False
        self._note_end(how, sealed)
        return True

    def _unsaved(self) -> str:
        self.voice.end_segment()
        return self.voice.unkept

    def _note_end(self, how: Ending, sealed: Sealed) -> None:
        journal, session = self.house.journal, self.order.session_id
        journal.note("transcript.committed", session=session, problems=sealed.problems)
        journal.note("run.ended", run=self.run_id, state=how.state, reason=how.reason)
        for key in sealed.ended.inbox:
            state = "stopped" if how.state == "stopped" else "answered"
            journal.note("inbound.ended", key=key, state=state)
        for row in sealed.ended.outbox:
            journal.note("outbox.committed", chat=self.order.source.chat_id, outbox=str(row))

    def _reply(self, words: str, partial: str) -> NewReply | None:
        """The row of a chat that keeps its channel; elsewhere the open response carries it."""
        source = self.order.source
        if not self.house.surface(source.platform).supports_async_delivery:
            return None
        return NewReply(
            key=self.run_id,
            platform=source.platform,
            chat_id=source.chat_id,
            thread_id=source.thread_id,
            session_id=self.order.session_id,
            run_id=self.run_id,
            text="\n\n".join(filter(None, (partial.strip(), words))),
        )

    def _is_heard(self, how: Ending) -> bool:
        """Somebody listens for the end. If nobody does, nobody can be owed it after a crash."""
        bus = self.house.bus
        return bus.hears(AgentLoopCompleted if how == OK else AgentLoopStopped)

    async def _fire_terminal(self, how: Ending, report: StopReport) -> None:
        if self._heard:
            try:
                if not await self.house.store.write(runs.take_hook_duty(self.run_id)):
                    return
            except Refusal:
                return  # owed: fired when the gateway starts again
        end = RunIsOver(
            self.order, how, report.reason, self.phase_at_end, self._duration_ms(), self.calls.cut
        )
        await self.house.bus.fire(end.of_loop())
        await self.house.bus.fire(end.of_session())

    def _duration_ms(self) -> int:
        return round((trio.current_time() - self._began) * 1000)


def _blame(crash: Exception) -> Reason:
    if isinstance(crash, ModelFailed):
        return "provider"
    return "store" if isinstance(crash, StoreRefused) else "internal"
