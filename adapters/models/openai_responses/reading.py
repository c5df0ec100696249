"""OpenAI's responses: what we read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from adapters.models.assembly import Assembly, Slot
from adapters.models.finish import broken_off, count, finish_reason
from adapters.models.layout import Block, a_call, keep, words_of
from adapters.models.openai_responses.wire import WIRE
from adapters.models.sse import SseEvent
from adapters.models.trouble import ErrorDetail, Interpreter
from hermes_actors.values import Delta, ModelReply, ModelRequest, Usage


class InputDetails(msgspec.Struct):
    cached_tokens: Any = None


class OutputDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class Counted(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None


class Incomplete(msgspec.Struct):
    reason: Any = None


class Response(msgspec.Struct):
    status: Any = None
    output: list[Block] | None = None
    usage: Counted | None = None
    error: ErrorDetail | str | None = None
    incomplete_details: Incomplete | None = None


class Event(msgspec.Struct):
    """Every event has some of these fields; `type` says which."""

    type: str = ""
    output_index: Any = None
    item_id: Any = None
    item: Block | None = None
    delta: Any = None
    arguments: Any = None
    response: Response | None = None
    error: ErrorDetail | str | None = None
    code: Any = None
    message: Any = None


_EVENTS = msgspec.json.Decoder(Event)
_RESPONSES = msgspec.json.Decoder(Response)


class ResponseReading:
    """One answer, event by event."""

    def __init__(self, request: ModelRequest, interpreter: Interpreter) -> None:
        self.complete = False
        self._assembly = Assembly(request)
        self._interpreter, self._model = interpreter, request.model
        self._finish: str | None = None
        self._usage = Usage()
        self._layout: list[Block] = []
        self._placed = 0

    @property
    def usable(self) -> bool:
        return self.complete

    def event(self, event: SseEvent) -> Iterator[Delta]:
        if event.data.strip() == b"[DONE]":
            return
        said = self._interpreter.decoded(_EVENTS, event.data)
        match said.type:
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._assembly.say(str(said.delta or ""))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._assembly.think(str(said.delta or ""))
            case "response.output_item.added":
                yield from self._begin(said.output_index, said.item or {})
            case "response.function_call_arguments.delta":
                slot = self._slot(said.output_index)
                yield from self._assembly.write(slot, str(said.delta or ""))
            case "response.output_item.done":
                yield from self._end(said.output_index, said.item or {})
            case "response.completed" | "response.incomplete" | "response.done":
                yield from self._close(said.response or Response())
            case "response.failed":
                raise self._interpreter.interrupted(said.response.error if said.response else None)
            case "error":
                detail = said.error or ErrorDetail(message=said.message, code=said.code)
                raise self._interpreter.interrupted(detail)

    def whole(self, body: bytes) -> Iterable[Delta]:
        response = self._interpreter.decoded(_RESPONSES, body)
        if response.error is not None:
            raise self._interpreter.interrupted(response.error)
        return self._close(response)

    def reply(self) -> ModelReply:
        assembly = self._assembly
        if not self.complete:
            raise broken_off(self._interpreter, assembly)
        calls = assembly.calls()
        return ModelReply(
            text=assembly.text,
            tool_calls=calls,
            finish_reason=finish_reason(self._finish, bool(calls)),
            usage=self._usage,
            reasoning=assembly.reasoning,
            opaque=keep(WIRE, self._model, self._layout) if calls else "",
            model=self._model,
        )

    def _begin(self, index: object, item: Block) -> Iterator[Delta]:
        if item.get("type") == "function_call":
            slot = self._assembly.find(index) or self._assembly.open(index)
            slot.given_id = str(item.get("call_id") or "")
            slot.name = str(item.get("name") or "")
            yield from self._assembly.write(slot, str(item.get("arguments") or ""))

    def _end(self, index: object, item: Block) -> Iterator[Delta]:
        """An item that is whole. Its pieces have usually been seen; if not, it is news."""
        if item.get("type") == "reasoning" and item.get("encrypted_content"):
            # Only what the provider wants to see again; the rest of the item is for readers.
            wanted = ("type", "id", "summary", "encrypted_content")
            self._layout.append({key: item[key] for key in wanted if key in item})
        if item.get("type") == "message":
            written = len(self._assembly.text)
            self._layout.append(words_of(written - self._placed))
            self._placed = written
        if item.get("type") != "function_call":
            return
        self._layout.append(a_call())
        slot = self._assembly.find(index)
        if slot is None:
            yield from self._begin(index, item)
        elif not "".join(slot.pieces):
            yield from self._assembly.write(slot, str(item.get("arguments") or ""))

    def _close(self, response: Response) -> Iterator[Delta]:
        if self._assembly.empty:
            yield from self._unstreamed(response.output or [])
        self._usage = _usage(response.usage or Counted())
        self._finish = _reason(response)
        self.complete = True
        yield from self._assembly.finish()

    def _unstreamed(self, output: list[Block]) -> Iterator[Delta]:
        for index, item in enumerate(output):
            parts = item.get("content") if item.get("type") == "message" else None
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict):
                    yield from self._assembly.say(
                        str(part.get("text") or part.get("refusal") or "")
                    )
            yield from self._end(index, item)

    def _slot(self, index: object) -> Slot:
        return self._assembly.find(index) or self._assembly.open(index)


def _reason(response: Response) -> str | None:
    """Why it ended, if it did not end by itself. Not everybody says more than that it did not."""
    details = response.incomplete_details
    if details is not None and details.reason:
        return str(details.reason)
    return "max_output_tokens" if response.status == "incomplete" else None


def _usage(said: Counted) -> Usage:
    inner, outer = said.input_tokens_details, said.output_tokens_details
    return Usage(
        input=count(said.input_tokens),
        output=count(said.output_tokens),
        cache_read=count(inner.cached_tokens) if inner else 0,
        reasoning=count(outer.reasoning_tokens) if outer else 0,
    )
