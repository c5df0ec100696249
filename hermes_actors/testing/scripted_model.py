"""A model that says what the test wrote down, on virtual time."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

import trio
from msgspec import structs

from hermes_actors.journal import Journal
from hermes_actors.testing.script import (
    Beat,
    Finish,
    Hang,
    Line,
    Pause,
    beats,
    checked,
)
from hermes_actors.values import (
    Delta,
    FinishReason,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    Usage,
)

OnDelta = Callable[[Delta], None]


class ScriptExhausted(AssertionError):
    """The model was called once more than its script has lines."""


class ScriptedModel:
    """Answers the first call with the first line of its script, and so on.

    >>> model = ScriptedModel("Hello there.", ["Let me look.", calls("search", q="tea")])

    Each delta is preceded by a checkpoint and `delay` virtual seconds. `otherwise` is the line for
    every call after the script; without it such a call raises `ScriptExhausted`, and `complaint`
    keeps what it said, for code under test may well catch it. It notes `model.called`, and
    `model.closed` when the caller gives up.
    """

    def __init__(
        self,
        *lines: Line,
        otherwise: Line | None = None,
        delay: float = 0.0,
        journal: Journal | None = None,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.connections = 0
        """How many calls are being answered right now."""
        self.complaint: str | None = None
        self._lines: deque[Line] = deque()
        self._otherwise = None if otherwise is None else checked(otherwise)
        self._delay, self._journal, self._calls = delay, journal or Journal(remember=0), 0
        self.script(*lines)

    def script(self, *lines: Line) -> None:
        """Add lines at the end."""
        self._lines.extend(map(checked, lines))

    @property
    def lines_left(self) -> int:
        """How many lines nobody has asked for yet."""
        return len(self._lines)

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """Stream the next line, then return the whole of it."""
        self.requests.append(request)
        self._journal.note("model.called", run=request.run)
        line = self._next_line(request)
        self.connections += 1
        try:
            return await self._perform(beats(line(request) if callable(line) else line), on_delta)
        except trio.Cancelled:
            self._journal.note("model.closed", run=request.run)
            raise
        finally:
            self.connections -= 1

    def _next_line(self, request: ModelRequest) -> Line:
        if self._lines:
            return self._lines.popleft()
        if self._otherwise is not None:
            return self._otherwise
        self.complaint = (
            f"call {len(self.requests)} of the model has no line in its script: run "
            f"'{request.run}' asked '{request.model}' with {_last_words(request)}"
        )
        raise ScriptExhausted(self.complaint)

    async def _perform(self, whole: tuple[Beat, ...], on_delta: OnDelta) -> ModelReply:
        answer = _Answer()
        await trio.lowlevel.checkpoint()
        for beat in whole:
            match beat:
                case Pause(seconds):
                    await trio.sleep(seconds)
                case Hang():
                    await trio.sleep_forever()
                case Exception():
                    raise beat
                case _:
                    for delta in answer.take(beat, self._number):
                        await trio.sleep(self._delay)
                        on_delta(delta)
        return answer.whole()

    def _number(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"


class _Answer:
    """A reply that grows beat by beat."""

    def __init__(self) -> None:
        self._text = self._reasoning = ""
        self._calls: list[ToolCall] = []
        self._finish: FinishReason | None = None
        self._usage = Usage()

    def take(self, beat: Beat, number: Callable[[], str]) -> list[Delta]:
        """Add a beat; the deltas in which it is streamed."""
        match beat:
            case str(text):
                self._text += text
                return [TextDelta(word) for word in re.findall(r"\s*\S+|\s+", text)]
            case TextDelta(text):
                self._text += text
                return [beat]
            case ReasoningDelta(text):
                self._reasoning += text
                return [beat]
            case ToolCall():
                return self._call(beat if beat.id else structs.replace(beat, id=number()))
            case Usage():
                self._usage = beat
            case Finish(reason):
                self._finish = reason
        return []

    def _call(self, call: ToolCall) -> list[Delta]:
        index, middle = len(self._calls), len(call.arguments) // 2
        self._calls.append(call)
        return [
            ToolCallDelta(index, "", call.id, call.name),
            ToolCallDelta(index, call.arguments[:middle]),
            ToolCallDelta(index, call.arguments[middle:]),
        ]

    def whole(self) -> ModelReply:
        usual: FinishReason = "tool_calls" if self._calls else "stop"
        return ModelReply(
            text=self._text,
            tool_calls=tuple(self._calls),
            finish_reason=self._finish or usual,
            usage=self._usage,
            reasoning=self._reasoning,
        )


def _last_words(request: ModelRequest) -> str:
    if not request.messages:
        return "no message"
    last = request.messages[-1]
    kind = "the tool result" if isinstance(last, ToolMessage) else "the last message"
    return f"{kind} '{last.text[:80]}'"
