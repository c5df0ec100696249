"""Chat completions: what we read. Pure, and patient with everybody who imitates the protocol.

Known habits: no `usage` at all; `content` as null or as a list of parts; thinking under two names;
tool calls without `index`, with one index for all of them, with blank ids, with ids used twice or
with arguments that are an object; no `finish_reason`, or one of somebody else's; an error in the
middle of a stream that began with 200; the whole answer at once although a stream was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.assembly import Assembly, Slot
from adapters.models.finish import broken_off, count, finish_reason
from adapters.models.layout import Block, keep
from adapters.models.openai_chat.wire import WIRE
from adapters.models.sse import SseEvent
from adapters.models.trouble import ErrorDetail, Interpreter, detail_of
from hermes_actors.values import Delta, ModelReply, ModelRequest, Usage


class FunctionPiece(msgspec.Struct):
    name: Any = None
    arguments: Any = None


class CallPiece(msgspec.Struct):
    index: Any = None
    id: Any = None
    function: FunctionPiece | None = None
    extra_content: dict[str, Any] | None = None


class Piece(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[CallPiece] | None = None


class Choice(msgspec.Struct):
    delta: Piece | None = None
    message: Piece | None = None
    finish_reason: Any = None


class InputDetails(msgspec.Struct):
    cached_tokens: Any = None


class OutputDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class Counted(msgspec.Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    prompt_cache_hit_tokens: Any = None
    cost: Any = None


class Chunk(msgspec.Struct):
    choices: list[Choice] | None = None
    usage: Counted | None = None
    error: ErrorDetail | str | None = None
    model: Any = None


_CHUNKS = msgspec.json.Decoder(Chunk)


class ChatReading:
    """One answer, chunk by chunk."""

    def __init__(self, request: ModelRequest, interpreter: Interpreter) -> None:
        self.complete = False
        self._assembly = Assembly(request)
        self._interpreter, self._model = interpreter, request.model
        self._finish: str | None = None
        self._usage = Usage()

    @property
    def usable(self) -> bool:
        return self.complete or self._finish is not None

    def event(self, event: SseEvent) -> Iterable[Delta]:
        data = event.data.strip()
        if data == b"[DONE]":
            self.complete = True
            return self._assembly.finish()
        if event.kind == "error":
            raise self._interpreter.interrupted(detail_of(data))
        return self._chunk(data) if data else ()

    def whole(self, body: bytes) -> Iterable[Delta]:
        yield from self._chunk(body)
        self.complete = True
        yield from self._assembly.finish()

    def reply(self) -> ModelReply:
        assembly = self._assembly
        if not self.usable or (assembly.empty and self._finish is None):
            raise broken_off(self._interpreter, assembly)
        return ModelReply(
            text=assembly.text,
            tool_calls=assembly.calls(),
            finish_reason=finish_reason(self._finish, bool(assembly.slots)),
            usage=self._usage,
            reasoning=assembly.reasoning,
            opaque=keep(WIRE, self._model, extras(assembly.slots)),
            model=self._model,
        )

    def _chunk(self, data: bytes) -> Iterator[Delta]:
        chunk = self._interpreter.decoded(_CHUNKS, data)
        if chunk.error is not None:
            raise self._interpreter.interrupted(chunk.error)
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            yield from self._choice(choice)

    def _choice(self, choice: Choice) -> Iterator[Delta]:
        piece = choice.delta or choice.message
        if piece is not None:
            yield from self._assembly.think(_text(piece.reasoning_content or piece.reasoning))
            yield from self._assembly.say(_text(piece.content) + _text(piece.refusal))
            for call in piece.tool_calls or ():
                yield from self._call(call)
        if choice.finish_reason == "error":
            raise self._interpreter.interrupted(None)
        if choice.finish_reason:
            self._finish = str(choice.finish_reason)
            yield from self._assembly.finish()

    def _call(self, piece: CallPiece) -> Iterator[Delta]:
        function = piece.function or FunctionPiece()
        given = "" if piece.id is None else str(piece.id)
        name = str(function.name or "")
        slot = self._slot(piece.index, given, name)
        slot.given_id = slot.given_id or given
        slot.extra = piece.extra_content or slot.extra
        slot.name = slot.name if slot.announced else name or slot.name
        yield from self._assembly.write(slot, _arguments(function.arguments))

    def _slot(self, index: object, given: str, name: str) -> Slot:
        """The call that a piece belongs to. A new id means a new call, whatever the index."""
        slots = self._assembly.slots
        found = slots[-1] if index is None and slots else self._assembly.find(index)
        if found is None or (given and found.given_id and given != found.given_id):
            return self._assembly.open(index)
        if given or not name or not found.announced:
            return found
        # A name and no id: whole calls one after the other, or one that repeats its name.
        again = name == found.name and not canonical.is_object("".join(found.pieces))
        return found if again else self._assembly.open(index)


def extras(slots: list[Slot]) -> list[Block]:
    """What came with calls beside the calls: some servers sign them, and want that back."""
    return [
        {"type": "extra", "place": slot.number, "extra_content": slot.extra}
        for slot in slots
        if slot.extra
    ]


def _text(content: Any) -> str:
    """Text as it is, and the text of each part where there are parts; parts of thinking are not
    the answer, and nothing else is words."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (each for each in content if isinstance(each, dict) and each.get("type") == "text")
    return "".join(str(each.get("text") or "") for each in parts)


def _arguments(arguments: Any) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return canonical.encode(arguments).decode()


def _usage(said: Counted) -> Usage:
    inner, outer = said.prompt_tokens_details, said.completion_tokens_details
    cached = count(inner.cached_tokens) if inner else 0
    return Usage(
        input=count(said.prompt_tokens),
        output=count(said.completion_tokens),
        cache_read=cached or count(said.prompt_cache_hit_tokens),
        reasoning=count(outer.reasoning_tokens) if outer else 0,
        cost=float(said.cost) if isinstance(said.cost, int | float) else None,
    )
