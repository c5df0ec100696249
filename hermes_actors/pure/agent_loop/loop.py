"""The agent loop as a state machine: events in, effects out, and nobody waits in it.

    READY --Begin--> THINKING --calls--> ACTING --last result--> THINKING …
                        |  ^                                        |
                        |  +--------- COMPACTING <--- too long -----+
                        |                                           |
                        +--words--> ENDED <--- WRAPPING <--- limit -+

Two promises hold for any order of events. A run ends with exactly one `End`, and something is said
before it, so that it cannot end in silence. And words of the model are said once: they were
streamed while they came, and `Say` only closes them. What the table does not know raises and
changes nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

from hermes_actors.pure.agent_loop import words
from hermes_actors.pure.agent_loop.batch import Batch
from hermes_actors.pure.agent_loop.calls import CallReader, looks_cut
from hermes_actors.pure.agent_loop.events import (
    Begin,
    Compacted,
    CompactionRefused,
    Cut,
    Effect,
    Event,
    ModelGaveUp,
    ModelReplied,
    Say,
    Steered,
    ToolAnswered,
    Warn,
)
from hermes_actors.pure.agent_loop.ladder import EmptyLadder
from hermes_actors.pure.agent_loop.limits import LoopLimits
from hermes_actors.pure.agent_loop.run import Ask, Phase, Run
from hermes_actors.pure.agent_loop.segments import Canonical
from hermes_actors.pure.endings import ending
from hermes_actors.pure.guardrails import Guardrails, advice, halt_text
from hermes_actors.pure.stop_report import stop_report
from hermes_actors.pure.think import ThinkScrubber, scrub
from hermes_actors.pure.tool_rules import DEFAULT_RULES, ToolRules, rule_of
from hermes_actors.pure.transcript.rules import calls_of, encodable
from hermes_actors.pure.transcript.seal import STOPPED, marked
from hermes_actors.values import AssistantMessage, Message, ModelReply, ToolMessage, Usage

_ALWAYS = (Steered, Cut)
EXPECTED: dict[Phase, tuple[type, ...]] = {
    Phase.READY: (Begin, *_ALWAYS),
    Phase.THINKING: (ModelReplied, ModelGaveUp, *_ALWAYS),
    Phase.ACTING: (ToolAnswered, *_ALWAYS),
    Phase.COMPACTING: (Compacted, CompactionRefused, *_ALWAYS),
    Phase.WRAPPING: (ModelReplied, ModelGaveUp, *_ALWAYS),
    Phase.ENDED: (),
}
_BROKEN_OFF = ("unreachable", "timeout", "overloaded", "bad_reply")


class OutOfOrder(Exception):
    """An event that this phase does not expect: whoever drives the loop has a bug."""


class AgentLoop:
    """One run. `history` ends with what the person said; `tools` are the names that exist."""

    def __init__(
        self,
        history: Sequence[Message],
        tools: Collection[str] = (),
        limits: LoopLimits | None = None,
        rules: ToolRules = DEFAULT_RULES,
        canonical: Canonical = posixpath.normpath,
    ) -> None:
        self._limits = limits or LoopLimits()
        self._run = Run(history, self._limits)
        self._rules, self._canonical = rules, canonical
        self._reader = CallReader(frozenset(tools), rules, self._limits.calls_per_reply)
        self._guardrails = Guardrails(self._limits.guardrails, rules)
        self._ladder = EmptyLadder(self._limits)
        self._ids = {call.id for message in history for call in calls_of(message)}
        self._batch = Batch((), rules)
        self._continued = self._cut_calls = self._useless = 0
        self._denied: list[str] = []
        self._earlier = ""
        self._refused_once = False

    @property
    def phase(self) -> Phase:
        """Where the run is."""
        return self._run.phase

    @property
    def history(self) -> tuple[Message, ...]:
        """What was given and what has been kept since."""
        return tuple(self._run.talk.history)

    @property
    def usage(self) -> Usage:
        """The tokens of all answers so far."""
        return self._run.usage

    @property
    def iterations(self) -> int:
        """How often the model was asked, the last summary not counted."""
        return self._run.iterations

    @property
    def unheard(self) -> tuple[str, ...]:
        """What a person has said to this run and no tool result carries yet."""
        return tuple(self._run.steers)

    def feed(self, event: Event) -> list[Effect]:
        """Take one event; what has to be done now, in this order."""
        self._check(event)
        match event:
            case Begin():
                return self._run.ask(Ask())
            case ModelReplied(reply):
                return self._replied(reply)
            case ModelGaveUp():
                return self._gave_up(event)
            case ToolAnswered():
                return self._answered(event)
            case Steered(text):
                self._run.steers.append(text)
                return []
            case Compacted(history):
                return self._run.compacted(history)
            case CompactionRefused(why):
                return self._run.not_compacted(why)
            case Cut():
                return self._cut(event)

    def _check(self, event: Event) -> None:
        name, phase = type(event).__name__, self._run.phase
        if not isinstance(event, EXPECTED[phase]):
            raise OutOfOrder(f"{name} while {phase.value}")
        if isinstance(event, ToolAnswered) and event.call_id not in self._batch.running:
            raise OutOfOrder(f"{name} for '{event.call_id}', which is not running")
        if isinstance(event, Cut) and event.reason == "ok":
            raise OutOfOrder("Cut with the reason 'ok': a run that is cut has not completed")

    # The model has spoken -----------------------------------------------------------------------

    def _replied(self, reply: ModelReply) -> list[Effect]:
        scrubber = ThinkScrubber()
        seen = encodable(scrubber.feed(reply.text) + scrubber.finish())
        self._run.count(reply.usage)
        said = _closed(seen)
        if self._run.phase is Phase.WRAPPING:
            return said + self._wrapped(seen, again=True)
        if reply.finish_reason == "content_filter":
            return said + self._filtered(seen)
        if reply.tool_calls:
            return said + self._called(reply, seen)
        if seen.strip():
            return said + self._worded(reply, seen)
        return self._silent(reply, thought=scrubber.thought or bool(reply.reasoning.strip()))

    def _worded(self, reply: ModelReply, seen: str) -> list[Effect]:
        """An answer; one that was cut by its length is asked to go on, but not for ever."""
        if reply.finish_reason != "length":
            return self._complete(self._run.talk.whole(seen), reply.reasoning)
        self._run.talk.parts.append(seen)
        self._continued += 1
        if self._continued > self._limits.continuations:
            return self._run.finish("budget", words.STILL_CUT, "limit")
        warning = Warn("answer_cut", "The answer was cut off; asking for the rest.")
        return [warning, *self._run.ask(Ask(boost=self._continued))]

    def _complete(self, text: str, reasoning: str = "") -> list[Effect]:
        kept = self._run.talk.keep(AssistantMessage(text, (), reasoning))
        return [kept, self._run.end("ok", text)]

    def _silent(self, reply: ModelReply, *, thought: bool) -> list[Effect]:
        """No words and no calls. What was said before may be the answer; else ask again."""
        if self._run.talk.parts:
            return self._complete(self._run.talk.whole())
        if reply.finish_reason == "length" and thought:
            return self._run.finish("budget", words.THINKING_USED_UP, "limit")
        if self._earlier:
            return self._complete(self._earlier)
        after_tools = isinstance(self._run.talk.history[-1], ToolMessage)
        rung = self._ladder.next(after_tools=after_tools, thought=thought)
        if rung is None:
            return self._run.finish("provider", words.EMPTY, "provider")
        warning = Warn("empty_answer", "The model answered nothing; asking again.")
        return [warning, *self._run.ask(Ask(rung.note, fallback=rung.fallback))]

    def _filtered(self, seen: str) -> list[Effect]:
        """Another provider may think differently, as long as nobody has read half an answer."""
        if not seen.strip() and not self._run.talk.parts and not self._refused_once:
            self._refused_once = True
            warning = Warn("content_filter", "The answer was filtered; asking another provider.")
            return [warning, *self._run.ask(Ask(fallback=True))]
        self._run.talk.parts.append(seen)
        return self._run.finish("provider", words.FILTERED, "provider")

    def _wrapped(self, seen: str, *, again: bool) -> list[Effect]:
        if again and not seen.strip() and self._run.wrap_ups < self._limits.wrap_up_tries:
            return self._run.wrap_up()
        self._run.talk.parts.append(seen)
        notice = words.MAX_ITERATIONS.format(limit=self._limits.max_iterations)
        return self._run.finish("max_iterations", notice, "limit")

    def _gave_up(self, event: ModelGaveUp) -> list[Effect]:
        seen = encodable(scrub(event.partial))
        said = _closed(seen)
        if self._run.phase is Phase.WRAPPING:
            return said + self._wrapped(seen, again=False)
        if event.kind == "context_overflow" and self._run.can_compact:
            self._run.iterations -= 1
            return said + self._run.compact(Ask(), overflowed=True)
        self._run.talk.parts.append(seen)
        tries_left = self._continued < self._limits.continuations
        if seen.strip() and event.kind in _BROKEN_OFF and tries_left:
            self._continued += 1
            return [*said, Say(words.RECONNECTED, "notice"), *self._run.ask(Ask())]
        trouble = words.trouble(event.kind, event.words)
        return said + self._run.finish("provider", trouble, "provider")

    # Tools --------------------------------------------------------------------------------------

    def _called(self, reply: ModelReply, seen: str) -> list[Effect]:
        if reply.finish_reason == "length" or any(map(looks_cut, reply.tool_calls)):
            return self._called_in_part(seen)
        calls = self._reader.read(reply.tool_calls, self._ids)
        self._batch = Batch(calls, self._rules, self._canonical)
        self._useless = 0 if self._batch.useful else self._useless + 1
        self._continued = self._cut_calls = 0
        self._ladder.reset()
        text = self._run.talk.whole(seen)
        serving = all(rule_of(self._rules, call.name).housekeeping for call in self._batch.calls)
        self._earlier = text if serving else ""
        message = AssistantMessage(text, self._batch.calls, reply.reasoning, reply.opaque)
        return [self._run.talk.keep(message), *self._advance()]

    def _called_in_part(self, seen: str) -> list[Effect]:
        """Half a call is no call: nothing runs, and the model is asked again."""
        if seen.strip():
            self._run.talk.parts.append(seen)
        self._cut_calls += 1
        if self._cut_calls > self._limits.cut_calls:
            return self._run.finish("provider", words.CALLS_STAY_CUT, "provider")
        warning = Warn("call_cut", "A tool call was cut off; nothing was run, asking again.")
        return [warning, *self._run.ask(Ask(words.CALLS_CUT, self._cut_calls))]

    def _answered(self, event: ToolAnswered) -> list[Effect]:
        call = self._batch.running[event.call_id]
        verdict = self._batch.answer(event, self._guardrails)
        if event.denied:
            self._denied.append(call.name)
        warnings: list[Effect] = []
        if verdict is not None and verdict.action == "warn":
            warnings.append(Warn(verdict.code, f"{verdict.tool}: {advice(verdict)}"))
        return warnings + self._advance()

    def _advance(self) -> list[Effect]:
        """Keep what can be kept, and start the next segment when the last one is done."""
        segment = None if self._batch.running else self._batch.next(self._guardrails)
        kept: list[Effect] = [*map(self._run.talk.keep, self._batch.ready(self._run.steers))]
        if segment is not None:
            self._run.phase = Phase.ACTING
            return [*kept, segment]
        return kept if self._batch.running else kept + self._settled()

    def _settled(self) -> list[Effect]:
        """Every call has its result: is there a reason not to go on?"""
        halt = self._guardrails.halt
        if halt is not None:
            warning = Warn(halt.code, f"Halted: {halt.tool} ({halt.code})")
            return [warning, *self._run.finish("guardrail", halt_text(halt), "guardrail")]
        if len(self._denied) >= self._limits.denials:
            text = words.DENIED.format(count=len(self._denied), tool=self._denied[-1])
            return self._run.finish("denied", text, "limit")
        if self._useless >= self._limits.useless_replies:
            return self._run.finish("provider", words.USELESS_CALLS, "provider")
        return self._run.ask(Ask())

    # From outside -------------------------------------------------------------------------------

    def _cut(self, event: Cut) -> list[Effect]:
        """Close what is open, mark what is half said, and say why."""
        self._batch.stop()
        # What was steered into a run that is cut goes back to whoever said it.
        closed: list[Effect] = [*map(self._run.talk.keep, self._batch.ready([]))]
        how, seen = ending(event.reason), encodable(scrub(event.partial))
        report = stop_report(how, event.cut_off, event.words)
        text = self._run.talk.whole(seen)
        whole = "\n\n".join(filter(None, (text, report.text)))
        stopped = marked(text) if text else STOPPED
        row = stopped if how.state == "stopped" else whole
        closed.append(self._run.talk.keep(AssistantMessage(row)))
        end = self._run.end(event.reason, whole)
        return [*_closed(seen), *closed, Say(report.text, "stop"), end]


def _closed(seen: str) -> list[Effect]:
    """The model's words, which have been streamed, come to their end."""
    return [Say(seen.strip(), "model")] if seen.strip() else []
