"""Performs what the agent loop wants, and tells it what came of it. The loop decides everything."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import msgspec
import trio

from hermes_actors.actors.compactor import compact
from hermes_actors.actors.hands import Done, Hands
from hermes_actors.actors.lines import history_of, line_of
from hermes_actors.actors.turn import Turn
from hermes_actors.hooks.events import PostLlmCall, PreLlmCall, TransformLlmOutput
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import (
    AgentLoop,
    AskModel,
    Begin,
    Compact,
    Effect,
    End,
    Event,
    Keep,
    ModelGaveUp,
    ModelReplied,
    RunTools,
    Say,
    Steered,
    ToolAnswered,
    Warn,
)
from hermes_actors.pure.endings import OK
from hermes_actors.pure.tool_rules import rule_of
from hermes_actors.pure.transcript import repair
from hermes_actors.store import inbox, messages, tool_calls, usage
from hermes_actors.store.operation import all_of
from hermes_actors.store.states import ToolOutcome
from hermes_actors.store.tool_calls import NewCall
from hermes_actors.store.usage import Spent
from hermes_actors.values import (
    AssistantMessage,
    Delta,
    Message,
    ModelNotice,
    ModelReply,
    ModelRequest,
    Reached,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_PHASES: dict[type, str] = {ModelNotice: "connecting", Reached: "waiting"}


async def drive(turn: Turn) -> None:
    """Run the agent loop of one turn to its end."""
    await Driver(turn).run()


class Driver:
    """One run's effects. It holds what the loop does not need to know: rows, tasks and hooks."""

    def __init__(self, turn: Turn) -> None:
        self._turn, self._house, self._agent = turn, turn.house, turn.order.agent
        self._hands = Hands(turn)
        self._outcomes: dict[str, ToolOutcome] = {}
        self._unheard: list[int] = []
        self._landing: dict[str, list[int]] = {}
        self._context: str | None = None
        self._loop: AgentLoop

    async def run(self) -> None:
        """Perform effects until there are none; the last one is always an end."""
        self._turn.enter("prompt")
        history = await self._history()
        self._context = await self._asked_plugins(history)
        names = [tool.name for tool in self._agent.tools.offered()]
        self._loop = AgentLoop(history, names, self._agent.loop, self._agent.rules)
        todo: deque[Effect] = deque(self._feed(Begin()))
        while todo:
            todo.extend(await self._perform(todo.popleft()))

    def _feed(self, event: Event) -> list[Effect]:
        """Tell the loop what was said to it meanwhile, then the event.

        What it has put into a tool result lands with that result, in one transaction; what it has
        not is still queued, and is the next message.
        """
        for steered in self._turn.take_steered():
            self._loop.feed(Steered(steered.text))
            self._unheard.append(steered.inbox)
        effects = self._loop.feed(event)
        if self._unheard and not self._loop.unheard:
            *_, carrier = _results(effects)
            self._landing[carrier.call_id], self._unheard = self._unheard, []
        return effects

    async def _history(self) -> list[Message]:
        lines = await self._house.store.read(messages.transcript(self._turn.order.session_id))
        return history_of(lines)

    async def _perform(self, effect: Effect) -> Sequence[Effect]:
        match effect:
            case AskModel():
                return await self._ask(effect)
            case RunTools(calls, concurrent):
                return await self._run_tools(calls, concurrent)
            case Keep(message):
                await self._keep(message)
            case Say(text, origin):
                self._say(text, from_model=origin == "model")
            case Warn(code, text):
                self._house.journal.note("run.warned", run=self._turn.run_id, code=code)
            case Compact():
                self._turn.enter("compacting")
                return self._feed(await compact(self._turn))
            case End():
                await self._end(effect)
        return ()

    # The model ---------------------------------------------------------------------------------

    async def _ask(self, ask: AskModel) -> list[Effect]:
        self._turn.enter("connecting")
        self._turn.voice.end_segment()  # thoughts that were never closed end with their reply
        self._house.journal.note("model.called", run=self._turn.run_id)
        try:
            reply = await self._agent.model.respond(self._request(ask), self._hear)
        except ModelFailed as no:
            return self._feed(ModelGaveUp(no.kind, str(no), self._turn.voice.segment))
        self._count(reply)
        effects = self._feed(ModelReplied(reply))
        self._turn.usage = self._loop.usage
        return effects

    def _request(self, ask: AskModel) -> ModelRequest:
        tools: tuple[ToolSpec, ...] = self._agent.tools.offered() if ask.tools else ()
        return ModelRequest(
            run=self._turn.run_id,
            model=self._agent.model_name,
            messages=self._with_context(repair(ask.messages, self._agent.dialect)),
            system=self._agent.system,
            tools=tools,
            max_output_tokens=ask.max_output_tokens,
            fallback=ask.fallback,
        )

    def _with_context(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """What plugins add goes to the last words of the person, and only on this way out."""
        if self._context is None:
            return history
        for at in range(len(history) - 1, -1, -1):
            message = history[at]
            if isinstance(message, UserMessage):
                added = UserMessage(f"{message.text}\n\n{self._context}")
                return *history[:at], added, *history[at + 1 :]
        return history

    def _hear(self, delta: Delta) -> None:
        # A notice is about the call: what follows it is another try, not the answer.
        self._turn.enter(_PHASES.get(type(delta), "streaming"))
        self._turn.voice.hear(delta)

    def _count(self, reply: ModelReply) -> None:
        """What was spent is written with the words that it bought."""
        used = reply.usage
        spent = Spent(
            input_tokens=used.input,
            output_tokens=used.output,
            cached_tokens=used.cache_read,
            reasoning_tokens=used.reasoning,
            cost_micros=0 if used.cost is None else round(used.cost * 1_000_000),
        )
        day = time.strftime("%Y-%m-%d", time.gmtime(self._house.now()))
        order = self._turn.order
        self._turn.owe(
            usage.add(
                day, order.agent.id, order.agent.model_name, spent, session_id=order.session_id
            )
        )

    def _say(self, text: str, *, from_model: bool) -> None:
        if not from_model:
            self._turn.voice.say(text, "notice")
        elif not self._turn.voice.end_segment().strip():
            self._turn.voice.say(text, "model")  # it came in one piece, without deltas

    # Tools and the transcript --------------------------------------------------------------------

    async def _run_tools(self, calls: Sequence[ToolCall], concurrent: bool) -> list[Effect]:
        self._turn.enter("tools")
        waiting, later = {call.id: call for call in calls}, list[Effect]()
        places = trio.CapacityLimiter(self._house.limits.tool_workers if concurrent else 1)
        done_in, done_out = trio.open_memory_channel[Done](len(calls))

        async def work(call: ToolCall) -> None:
            async with places:
                done_in.send_nowait(await self._hands.do(call))

        with trio.move_on_after(self._house.limits.tool_batch_deadline):
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(work, call, name=f"tool {call.name}")
                while waiting:
                    done = await done_out.receive()
                    del waiting[done.answer.call_id]
                    later += await self._answered(done)
        for call in waiting.values():
            later += await self._answered(self._hands.out_of_time(call))
        return later

    async def _answered(self, done: Done) -> list[Effect]:
        """Feed one result; what can be kept is kept now, the rest is for after the batch."""
        answer: ToolAnswered = done.answer
        self._outcomes[answer.call_id] = done.outcome
        later: list[Effect] = []
        for effect in self._feed(answer):
            if isinstance(effect, Keep) and isinstance(effect.message, ToolMessage):
                await self._keep(effect.message)
            else:
                later.append(effect)
        return later

    async def _keep(self, message: Message) -> None:
        match message:
            case AssistantMessage(tool_calls=calls) if calls:
                await self._intend(message, calls)
                self._turn.voice.kept()
            case ToolMessage(call_id):
                await self._finish_call(message, call_id)
            # The last words are written with the end of the run, in one transaction.

    async def _intend(self, message: Message, calls: Sequence[ToolCall]) -> None:
        order, rules = self._turn.order, self._agent.rules
        rows = [
            NewCall(
                call_id=call.id,
                name=call.name,
                arguments=call.arguments,
                idempotent=rule_of(rules, call.name).idempotent,
            )
            for call in calls
        ]
        said = [line_of(message)]
        intend = tool_calls.intend(
            order.run_id, order.session_id, rows, now=self._house.now(), said=said
        )
        await self._house.store.write(all_of(intend, *self._turn.take_owed()))

    async def _finish_call(self, message: ToolMessage, call_id: str) -> None:
        # One that was never run (an unknown tool, a guardrail) has its answer from the loop itself.
        outcome, run_id = self._outcomes.pop(call_id, ToolOutcome.ERROR), self._turn.run_id
        finish = tool_calls.finish(
            run_id, call_id, outcome, now=self._house.now(), result=line_of(message)
        )
        steered = self._landing.pop(call_id, ())
        await self._house.store.write(all_of(finish, inbox.claim(steered, run_id)))

    # The ends ------------------------------------------------------------------------------------

    async def _asked_plugins(self, history: list[Message]) -> str | None:
        order = self._turn.order
        if not self._house.bus.hears(PreLlmCall):
            return None  # a long history is not copied for nobody
        return await self._house.bus.transform(
            PreLlmCall(
                user_message=order.text,
                conversation_history=_plain(history),
                is_first_turn=order.is_first,
                model=self._agent.model_name,
                platform=order.source.platform,
                session_key=order.session_key,
                agent_id=self._agent.id,
                sender_id=order.source.user_id or "",
                session_id=order.session_id,
                task_id=order.run_id,
                turn_id=order.run_id,
            )
        )

    async def _end(self, end: End) -> None:
        text = end.text
        if end.ending == OK:
            text = await self._transformed(text)
        self._turn.finish(end.ending, text, said=True)

    async def _transformed(self, text: str) -> str:
        order = self._turn.order
        common = {
            "model": self._agent.model_name,
            "platform": order.source.platform,
            "session_key": order.session_key,
            "agent_id": self._agent.id,
            "session_id": order.session_id,
        }
        changed = await self._house.bus.transform(TransformLlmOutput(response_text=text, **common))
        text = text if changed is None else changed
        if not self._house.bus.hears(PostLlmCall):
            return text
        await self._house.bus.fire(
            PostLlmCall(
                user_message=order.text,
                assistant_response=text,
                conversation_history=_plain(self._loop.history),
                task_id=order.run_id,
                turn_id=order.run_id,
                **common,
            )
        )
        return text


def _results(effects: Sequence[Effect]) -> list[ToolMessage]:
    kept = [each.message for each in effects if isinstance(each, Keep)]
    return [message for message in kept if isinstance(message, ToolMessage)]


def _plain(history: Sequence[Message]) -> tuple[dict[str, object], ...]:
    return tuple(msgspec.to_builtins(message) for message in history)
