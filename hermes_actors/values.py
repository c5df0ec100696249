"""What flows between the core and the outside: frozen values, no behaviour.

They name things as people do (a chat, a message, a tool call). How a platform or a provider spells
them on its wire is an adapter's business, and nothing of it comes through this door.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

# People and chats ---------------------------------------------------------------------------


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a message came from, and so where its answer goes.

    Only stable facts: this is stored, and read back after a restart. What must be found out
    afresh each time, such as whether the sender is a bot, is on `Inbound`.
    """

    platform: str
    chat_id: str
    chat_type: str = "dm"
    user_id: str | None = None
    thread_id: str | None = None
    chat_name: str | None = None
    user_name: str | None = None
    chat_topic: str | None = None
    user_id_alt: str | None = None
    chat_id_alt: str | None = None
    scope_id: str | None = None
    parent_chat_id: str | None = None


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that came with a message, already fetched to `path`."""

    path: str
    media_type: str
    name: str | None = None


class Inbound(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message from outside. `key` is the platform's own: the same key is the same message.

    `digest` stands for the content where the sender chose the key: then the same key with another
    digest is refused. `agent` is whom the sender asked for by name, where that is possible.
    """

    source: Source
    key: str
    text: str
    message_id: str | None = None
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    from_bot: bool = False
    sent_at: float | None = None
    digest: str | None = None
    agent: str | None = None


class Outbound(msgspec.Struct, frozen=True, omit_defaults=True):
    """Words for one chat.

    `outbox` is the row they belong to; a preview and the final text share it, and a platform that
    takes an idempotency key is given it. `final` is False for previews and notes, which a pacer
    may drop. `repeat` marks words that may have arrived once already.
    """

    to: Source
    text: str
    outbox: str | None = None
    run: str | None = None
    final: bool = True
    repeat: bool = False
    reply_to: str | None = None


class Capabilities(msgspec.Struct, frozen=True):
    """What a surface can do. `max_length` is in the unit that its `length` counts."""

    supports_async_delivery: bool = True
    supports_edit: bool = True
    supports_threads: bool = False
    takes_idempotency_key: bool = False
    max_length: int = 4096


class Sent(msgspec.Struct, frozen=True):
    """The platform has taken it."""

    message_id: str


class NotSent(msgspec.Struct, frozen=True):
    """The platform said no; nothing is visible. `retry_after` is in seconds."""

    kind: Literal[
        "too_long", "bad_format", "forbidden", "not_found", "rate_limited", "transient", "unknown"
    ]
    detail: str = ""
    retry_after: float | None = None


class Unsure(msgspec.Struct, frozen=True):
    """The answer was lost: it may be visible, or not."""

    detail: str = ""


Delivered = Sent | NotSent | Unsure

# Model ----------------------------------------------------------------------------------------


class ToolCall(msgspec.Struct, frozen=True):
    """A call that the model asks for. `arguments` is its own JSON text, which may be broken."""

    id: str
    name: str
    arguments: str


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told about it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool gave back: text for the model, and whether it counts as a failure."""

    text: str
    failed: bool = False


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """Words of a person, or of something that speaks in their place."""

    text: str


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", omit_defaults=True):
    """Words and calls of the model.

    `opaque` is what the reply carried under that name: the provider that wrote it wants it back
    unchanged with the next call (signed thinking, for example), and nobody else reads it.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    opaque: str = ""


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """The result of one call."""

    call_id: str
    text: str


Message = UserMessage | AssistantMessage | ToolMessage


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a model, on behalf of one run."""

    run: str
    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    fallback: bool = False
    """The last answer was no good: ask another model, if there is one."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call. Cached ones are counted in `input` too, thinking in `output`.

    `cost` is in dollars and only what the provider itself has said; None: it did not say.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


class ModelReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole of what the deltas said. `model` is who has answered, after a fallback another."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    reasoning: str = ""
    opaque: str = ""
    model: str = ""


class TextDelta(msgspec.Struct, frozen=True):
    """The next words of the answer."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """The next words of the model's thinking, which is never part of the answer."""

    text: str


class ToolCallDelta(msgspec.Struct, frozen=True):
    """The next piece of the call at `index`; `id` and `name` come with its first piece."""

    index: int
    arguments: str
    id: str | None = None
    name: str | None = None


class ModelNotice(msgspec.Struct, frozen=True):
    """Something about this answer that its reader should know: a long wait, another model.

    `text` is fit to be shown, and empty when nobody has seen anything yet. With `restarts` the
    answer begins anew: what the deltas of this call have said before is void, words and tool calls.
    """

    text: str
    restarts: bool = False


class Reached(msgspec.Struct, frozen=True):
    """The provider has the question; from here on the answer is waited for."""


Delta = TextDelta | ReasoningDelta | ToolCallDelta | ModelNotice | Reached

# Remote tools ---------------------------------------------------------------------------------


class RemoteCall(msgspec.Struct, frozen=True):
    """A call that goes to a client which lends its tools."""

    call_id: str
    run: str
    name: str
    arguments: str
    deadline_ms: int


class RemoteResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A client's answer: `error` is None exactly when the call worked."""

    call_id: str
    result: Any = None
    error: str | None = None


class RemoteCancelled(msgspec.Struct, frozen=True):
    """Nobody waits for this call any more."""

    call_id: str
    name: str
    reason: str


class RemoteTimedOut(msgspec.Struct, frozen=True):
    """The call's time is up."""

    call_id: str
    name: str


RemoteNotice = RemoteCancelled | RemoteTimedOut
