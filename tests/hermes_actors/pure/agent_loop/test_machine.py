"""Whatever happens, in whatever order: one end, never in silence, nothing said twice."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hermes_actors.pure.agent_loop import (
    AgentLoop,
    AskModel,
    Begin,
    Compact,
    Compacted,
    CompactionRefused,
    Cut,
    Effect,
    End,
    Event,
    Keep,
    LoopLimits,
    ModelGaveUp,
    ModelReplied,
    OutOfOrder,
    Phase,
    RunTools,
    Say,
    Steered,
    ToolAnswered,
)
from hermes_actors.pure.endings import ENDINGS, OK, Reason
from hermes_actors.pure.think import scrub
from hermes_actors.pure.transcript import DIALECTS, validate
from hermes_actors.pure.transcript.rules import encodable
from hermes_actors.values import (
    AssistantMessage,
    FinishReason,
    Message,
    ModelReply,
    ToolCall,
    Usage,
    UserMessage,
)

from .steps import ASK, TOOLS, state_of

NAMES = (*TOOLS, "web_search", "web_search", "Look", "nope", "", "red file")
ARGUMENTS = (
    "{}",
    "{\ud800}",
    '{"path": "a"}',
    '{"path": "b"}',
    "",
    "[]",
    '{"cut": "of',
    "{]",
    "\ud800",
)
IDS = ("c1", "c2", "c3", "", "odd id", "x" * 50)
TEXTS = (
    "",
    " ",
    "words",
    "more \ud800 ",
    "<think>hm</think>",
    "<think>hm</think>words",
    "<think>hm",
)
KINDS = ("timeout", "unreachable", "context_overflow", "content_filter", "billing", "new")
RESULTS = ("fine", "", '{"error": "no"}', "Error\ud800", "[end of the message]")

odd_calls = st.builds(ToolCall, *map(st.sampled_from, (IDS, NAMES, ARGUMENTS)))
good_calls = st.builds(
    ToolCall,
    st.sampled_from(IDS),
    st.sampled_from(TOOLS),
    st.integers(0, 9).map('{{"path": "{}"}}'.format),
)
tokens = st.builds(Usage, st.integers(0, 400), st.integers(0, 100))
working = st.builds(
    ModelReply,
    st.sampled_from(("", "words")),
    st.lists(good_calls, min_size=1, max_size=4).map(tuple),
    st.just("tool_calls"),
    tokens,
)
anything = st.builds(
    ModelReply,
    st.sampled_from(TEXTS),
    st.lists(odd_calls, max_size=3).map(tuple),
    st.sampled_from(get_args(FinishReason)),
    tokens,
    st.sampled_from(("", "hm")),
)
replies = st.one_of(working, working, anything)
limits = st.builds(
    LoopLimits,
    max_iterations=st.integers(1, 9),
    tokens_per_run=st.none() | st.integers(500, 4000),
    compact_at=st.none() | st.integers(100, 800),
    compactions=st.integers(0, 2),
    calls_per_reply=st.integers(1, 3),
    denials=st.integers(1, 3),
)
cuts = st.sampled_from([each.reason for each in ENDINGS if each != OK])


class Reader:
    """Performs what the loop wants, and remembers everything that a reader could see."""

    def __init__(self, loop: AgentLoop, history: tuple[Message, ...]) -> None:
        self.loop, self.stored = loop, list(history)
        self.heard: list[str] = []
        self.said: list[Say] = []
        self.ends: list[End] = []
        self.running: list[str] = []

    def feed(self, event: Event) -> list[Effect]:
        """Let the loop take an event; the deltas of an answer are read before it is whole."""
        match event:
            case ModelReplied(reply):
                self.heard.append(encodable(scrub(reply.text)).strip())
            case ModelGaveUp(_, _, partial) | Cut(_, _, partial):
                self.heard.append(encodable(scrub(partial)).strip())
            case Compacted(history):
                self.stored = list(history)
            case ToolAnswered(call_id):
                self.running.remove(call_id)
        effects = self.loop.feed(event)
        for effect in effects:
            self._perform(effect)
        return effects

    def _perform(self, effect: Effect) -> None:
        assert not self.ends, "nothing follows the end"
        match effect:
            case Keep(message):
                self.stored.append(message)
            case Say(text):
                assert text.strip()
                self.said.append(effect)
            case AskModel(messages):
                for dialect in (DIALECTS["openai_chat"], DIALECTS["openai_responses"]):
                    assert validate(messages, dialect) == ()
            case RunTools(wanted):
                assert not self.running
                self.running = [call.id for call in wanted]
            case End(how, text):
                self._ended(how in ENDINGS, text)
                self.ends.append(effect)

    def _ended(self, known: bool, text: str) -> None:
        assert known
        assert self.said, "a run ended in silence"
        assert text.strip()
        last = self.stored[-1]
        assert isinstance(last, AssistantMessage)
        for dialect in DIALECTS.values():
            if dialect.name != "anthropic":  # whose ids are mended on the way out
                assert validate((*self.stored, UserMessage("next")), dialect) == ()

    def check(self) -> None:
        """What must hold at any moment."""
        closed = [say.text for say in self.said if say.origin == "model"]
        assert closed == [text for text in self.heard if text]
        assert tuple(self.stored) == self.loop.history
        assert (self.loop.phase is Phase.ENDED) == (len(self.ends) == 1)
        assert len(self.ends) <= 1


def model(reader: Reader) -> st.SearchStrategy[Event]:
    given_up = st.builds(
        ModelGaveUp, st.sampled_from(KINDS), st.just("details"), st.sampled_from(TEXTS)
    )
    reply = st.builds(ModelReplied, replies)
    return st.one_of(reply, reply, reply, given_up)


def tool(reader: Reader) -> st.SearchStrategy[Event]:
    return st.builds(
        ToolAnswered,
        st.sampled_from(reader.running),
        st.sampled_from(RESULTS),
        st.sampled_from((None, True, False)),
        st.integers(0, 9).map(lambda chance: chance == 0),
    )


def compactor(reader: Reader) -> st.SearchStrategy[Event]:
    return st.sampled_from((Compacted((ASK,)), CompactionRefused("no")))


EXPECTABLE: dict[Phase, Callable[[Reader], st.SearchStrategy[Event]]] = {
    Phase.READY: lambda reader: st.just(Begin()),
    Phase.THINKING: model,
    Phase.WRAPPING: model,
    Phase.ACTING: tool,
    Phase.COMPACTING: compactor,
}


class Runs(RuleBasedStateMachine):
    """A model, tools and a person who do anything that is allowed, and some of what is not."""

    @initialize(
        limits=limits, long=st.booleans(), late=st.sampled_from((False, False, False, True))
    )
    def begin(self, limits: LoopLimits, long: bool, late: bool) -> None:
        history: tuple[Message, ...] = (UserMessage("x" * 3000),) if long else (ASK,)
        self.reader = Reader(AgentLoop(history, TOOLS, limits), history)
        if not late:
            self.reader.feed(Begin())

    @property
    def phase(self) -> Phase:
        return self.reader.loop.phase

    @precondition(lambda self: self.phase is not Phase.ENDED)
    @rule(data=st.data())
    def next(self, data: st.DataObject) -> None:
        """What the loop waits for happens, in one way or another, a few times."""
        for _ in range(4):
            if self.phase is not Phase.ENDED:
                self.reader.feed(data.draw(EXPECTABLE[self.phase](self.reader)))
                self.reader.check()

    @precondition(lambda self: self.phase is not Phase.ENDED)
    @rule(text=st.sampled_from(("hurry\ud800", "[end of the message]")))
    def steer(self, text: str) -> None:
        self.reader.feed(Steered(text))

    @precondition(lambda self: self.phase is not Phase.ENDED)
    @rule(reason=cuts, partial=st.sampled_from(TEXTS), chance=st.integers(0, 9))
    def cut(self, reason: Reason, partial: str, chance: int) -> None:
        if chance == 0:
            self.reader.feed(Cut(reason, partial=partial))

    @rule(
        event=st.sampled_from(
            (Begin(), ModelReplied(ModelReply("x")), ToolAnswered("?", "x"), Compacted((ASK,)))
        )
    )
    def disturb(self, event: Event) -> None:
        loop = self.reader.loop
        before = state_of(loop)
        try:
            AgentLoop.feed(_copy(loop), event)
        except OutOfOrder:
            with pytest.raises(OutOfOrder):
                loop.feed(event)
        assert state_of(loop) == before

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "reader"):
            self.reader.check()

    def teardown(self) -> None:
        """However far it came, it can be brought to its end."""
        if hasattr(self, "reader") and self.phase is not Phase.ENDED:
            self.reader.feed(Cut("shutdown"))
            self.reader.check()
        assert not hasattr(self, "reader") or len(self.reader.ends) == 1


def _copy(loop: AgentLoop) -> AgentLoop:
    copy = pickle.loads(state_of(loop))
    assert isinstance(copy, AgentLoop)
    return copy


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=100, stateful_step_count=12)


# A stubborn world always comes to an end ----------------------------------------------------------

Stubborn = Callable[[random.Random], ModelReply]
STUBBORN: dict[str, Stubborn] = {
    "silent": lambda dice: ModelReply(),
    "only thinking": lambda dice: ModelReply("<think>x</think>", reasoning="x"),
    "endless": lambda dice: ModelReply("on and on ", finish_reason="length"),
    "cut calls": lambda dice: ModelReply("", (ToolCall("c", "look", "{"),), "length"),
    "wrong calls": lambda dice: ModelReply("", (ToolCall("c", "nope", "{}"),)),
    "busy": lambda dice: ModelReply(
        "hm", (ToolCall("c", "look", f'{{"n": {dice.random()}}}'),), usage=Usage(1000, 10)
    ),
    "repeating": lambda dice: ModelReply("", (ToolCall("c", "read_file", '{"path": "a"}'),)),
    "anything": lambda dice: ModelReply(
        dice.choice(TEXTS),
        tuple(
            ToolCall(dice.choice(IDS), dice.choice(NAMES), dice.choice(ARGUMENTS))
            for _ in range(dice.randint(0, 3))
        ),
        dice.choice(get_args(FinishReason)),
        Usage(dice.randint(0, 999), 9),
    ),
}


def respond(effect: Effect, reader: Reader, reply: Stubborn, dice: random.Random) -> Event:
    match effect:
        case AskModel():
            broken = dice.random() < 0.1
            return ModelGaveUp("timeout") if broken else ModelReplied(reply(dice))
        case Compact():
            return Compacted((ASK,)) if dice.random() < 0.5 else CompactionRefused()
    return ToolAnswered(dice.choice(reader.running), dice.choice(RESULTS))


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_stubborn_model_comes_to_an_end_by_itself(kind: str) -> None:
    dice = random.Random(kind)
    for _ in range(60):
        loop = AgentLoop((ASK,), TOOLS, LoopLimits(max_iterations=20, compact_at=2000))
        reader = Reader(loop, (ASK,))
        last: Effect = reader.feed(Begin())[-1]
        for _ in range(400):
            if reader.ends:
                break
            effects = reader.feed(respond(last, reader, STUBBORN[kind], dice))
            last = effects[-1] if effects else last
            reader.check()
        assert reader.ends


def mixed(dice: random.Random) -> ModelReply:
    """Mostly a model at work, sometimes one that is done, sometimes anything."""
    kind = dice.random()
    if kind < 0.15:
        return ModelReply("done")
    if kind < 0.35:
        return STUBBORN["anything"](dice)
    wanted = tuple(
        ToolCall(dice.choice(IDS), dice.choice(TOOLS), f'{{"path": "{dice.randrange(5)}"}}')
        for _ in range(dice.randint(1, 4))
    )
    return ModelReply(
        dice.choice(("", "words")), wanted, "tool_calls", Usage(dice.randrange(99), 9)
    )


def random_run(dice: random.Random) -> End:
    """One run in which people, tools and models do as they please."""
    limits = LoopLimits(
        max_iterations=dice.randint(1, 30),
        tokens_per_run=dice.choice((None, 500)),
        compact_at=dice.choice((None, 150)),
    )
    loop = AgentLoop((ASK,), TOOLS, limits)
    reader = Reader(loop, (ASK,))
    last = reader.feed(Begin())[-1]
    while not reader.ends:
        if dice.random() < 0.1:
            reader.feed(Steered("hurry"))
        if dice.random() < 0.02:
            reasons = [each.reason for each in ENDINGS if each != OK]
            reader.feed(Cut(dice.choice(reasons), partial=dice.choice(TEXTS)))
        else:
            effects = reader.feed(respond(last, reader, mixed, dice))
            last = effects[-1] if effects else last
        reader.check()
    return reader.ends[0]


def random_runs(dice: random.Random, runs: int) -> None:
    seen = {random_run(dice).ending for _ in range(runs)}
    assert seen == set(ENDINGS)


def test_random_runs_end_once_and_in_every_way_there_is() -> None:
    random_runs(random.Random(8), 1000)


@pytest.mark.slow
def test_many_random_runs_end_once() -> None:
    random_runs(random.Random(9), 4000)
