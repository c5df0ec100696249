"""Anthropic's messages: what we read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.anthropic.thinking import WIRE
from adapters.models.assembly import Assembly
from adapters.models.finish import broken_off, count, finish_reason
from adapters.models.layout import Block, a_call, keep, words_of
from adapters.models.sse import SseEvent
from adapters.models.trouble import ErrorDetail, Interpreter
from hermes_actors.values import Delta, ModelReply, ModelRequest, Usage


class Counted(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class Started(msgspec.Struct):
    usage: Counted | None = None


class ContentBlock(msgspec.Struct):
    type: str = ""
    text: Any = None
    thinking: Any = None
    signature: Any = None
    data: Any = None
    id: Any = None
    name: Any = None
    input: Any = None


class Change(msgspec.Struct):
    type: str = ""
    text: Any = None
    thinking: Any = None
    signature: Any = None
    partial_json: Any = None
    stop_reason: Any = None


class Event(msgspec.Struct):
    """Every event has some of these fields; `type` says which."""

    type: str = ""
    index: int = 0
    message: Started | None = None
    content_block: ContentBlock | None = None
    delta: Change | None = None
    usage: Counted | None = None
    error: ErrorDetail | str | None = None


class Whole(msgspec.Struct):
    content: list[ContentBlock] = []
    stop_reason: Any = None
    usage: Counted | None = None
    error: ErrorDetail | str | None = None


class Thought:
    """A block of thinking, in pieces until it is asked for: there may be very many."""

    def __init__(self, kind: str, sealed: str) -> None:
        self.words: list[str] = []
        self.sealed = [sealed]
        self._kind = kind

    def block(self) -> Block:
        sealed = "".join(self.sealed)
        if self._kind == "redacted_thinking":
            return {"type": self._kind, "data": sealed}
        return {"type": self._kind, "thinking": "".join(self.words), "signature": sealed}


_EVENTS = msgspec.json.Decoder(Event)
_WHOLES = msgspec.json.Decoder(Whole)


class MessageReading:
    """One answer, event by event."""

    def __init__(self, request: ModelRequest, interpreter: Interpreter) -> None:
        self.complete = False
        self._assembly = Assembly(request)
        self._interpreter, self._model = interpreter, request.model
        self._stop: str | None = None
        self._counted = Counted()
        self._thoughts: dict[int, Thought] = {}
        self._given: dict[int, Any] = {}
        self._lengths: dict[int, int] = {}

    @property
    def usable(self) -> bool:
        return self.complete or self._stop is not None

    def event(self, event: SseEvent) -> Iterator[Delta]:
        said = self._interpreter.decoded(_EVENTS, event.data)
        match said.type:
            case "message_start":
                self._count(said.message.usage if said.message else None)
            case "content_block_start":
                yield from self._begin(said.index, said.content_block or ContentBlock())
            case "content_block_delta":
                yield from self._change(said.index, said.delta or Change())
            case "content_block_stop":
                yield from self._end(said.index)
            case "message_delta":
                self._count(said.usage)
                stopped = said.delta and said.delta.stop_reason
                self._stop = str(stopped) if stopped else self._stop
            case "message_stop":
                self.complete = True
                yield from self._assembly.finish()
            case "error":
                raise self._interpreter.interrupted(said.error)

    def whole(self, body: bytes) -> Iterable[Delta]:
        said = self._interpreter.decoded(_WHOLES, body)
        if said.error is not None:
            raise self._interpreter.interrupted(said.error)
        for index, block in enumerate(said.content):
            yield from self._begin(index, block)
            yield from self._end(index)
        self._count(said.usage)
        self._stop, self.complete = str(said.stop_reason or "end_turn"), True
        yield from self._assembly.finish()

    def reply(self) -> ModelReply:
        assembly = self._assembly
        if not self.usable or (assembly.empty and self._stop is None):
            raise broken_off(self._interpreter, assembly)
        calls = assembly.calls()
        return ModelReply(
            text=assembly.text,
            tool_calls=calls,
            finish_reason=finish_reason(self._stop, bool(calls)),
            usage=self._usage(),
            reasoning=assembly.reasoning,
            opaque=keep(WIRE, self._model, self._layout()) if calls else "",
            model=self._model,
        )

    def _begin(self, index: int, block: ContentBlock) -> Iterator[Delta]:
        match block.type:
            case "text":
                yield from self._say(index, str(block.text or ""))
            case "thinking":
                self._thoughts[index] = Thought("thinking", str(block.signature or ""))
                yield from self._think(index, str(block.thinking or ""))
            case "redacted_thinking":
                self._thoughts[index] = Thought("redacted_thinking", str(block.data or ""))
            case "tool_use":
                slot = self._assembly.open(index)
                slot.given_id, slot.name = str(block.id or ""), str(block.name or "")
                self._given[index] = block.input
                yield from self._assembly.write(slot, "")

    def _change(self, index: int, change: Change) -> Iterator[Delta]:
        match change.type:
            case "text_delta":
                yield from self._say(index, str(change.text or ""))
            case "thinking_delta":
                yield from self._think(index, str(change.thinking or ""))
            case "signature_delta" if index in self._thoughts:
                self._thoughts[index].sealed.append(str(change.signature or ""))
            case "input_json_delta":
                slot = self._assembly.find(index) or self._assembly.open(index)
                yield from self._assembly.write(slot, str(change.partial_json or ""))

    def _end(self, index: int) -> Iterator[Delta]:
        """Some servers send the arguments with the beginning of a call and none afterwards."""
        given, slot = self._given.pop(index, None), self._assembly.find(index)
        if given and slot is not None and not "".join(slot.pieces):
            text = given if isinstance(given, str) else canonical.encode(given).decode()
            yield from self._assembly.write(slot, text)

    def _say(self, index: int, words: str) -> Iterator[Delta]:
        self._lengths[index] = self._lengths.get(index, 0) + len(words)
        return self._assembly.say(words)

    def _layout(self) -> list[Block]:
        """Thoughts as they are, and the places of everything else."""
        blocks: dict[Any, Block] = {index: each.block() for index, each in self._thoughts.items()}
        for index, length in self._lengths.items():
            blocks[index] = words_of(length)
        for slot in self._assembly.slots:
            blocks[slot.key] = a_call()
        return [blocks[index] for index in sorted(blocks)]

    def _think(self, index: int, words: str) -> Iterator[Delta]:
        self._thoughts.setdefault(index, Thought("thinking", "")).words.append(words)
        return self._assembly.think(words)

    def _count(self, said: Counted | None) -> None:
        """Later numbers replace earlier ones; a number that is left out stays as it was."""
        news = msgspec.structs.asdict(said) if said is not None else {}
        for name, value in news.items():
            if value is not None:
                setattr(self._counted, name, value)

    def _usage(self) -> Usage:
        said = self._counted
        read, write = count(said.cache_read_input_tokens), count(said.cache_creation_input_tokens)
        return Usage(
            input=count(said.input_tokens) + read + write,
            output=count(said.output_tokens),
            cache_read=read,
            cache_write=write,
        )
