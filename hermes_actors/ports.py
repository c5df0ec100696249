"""What the core needs from outside, as protocols.

An adapter fits by shape, not by inheritance; so do the doubles in `hermes_actors.testing`. Every
`await` here may be cancelled, and the one who is cancelled has let go of the wire when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from hermes_actors.errors import HermesError
from hermes_actors.values import (
    Capabilities,
    Delivered,
    Delta,
    ModelReply,
    ModelRequest,
    Outbound,
    RemoteCall,
    RemoteNotice,
    Source,
    ToolCall,
    ToolResult,
    ToolSpec,
)

ModelTrouble = Literal[
    "rate_limited",
    "overloaded",
    "unreachable",
    "timeout",
    "unauthorized",
    "billing",
    "context_overflow",
    "content_filter",
    "bad_request",
    "bad_reply",
]


class ModelFailed(HermesError):
    """The model gave no usable reply. `kind` says why, and so whether trying again may help."""

    def __init__(
        self, kind: ModelTrouble, explanation: str, retry_after: float | None = None
    ) -> None:
        super().__init__(explanation)
        self.kind, self.retry_after = kind, retry_after


class ModelClient(Protocol):
    """Someone who answers. One object serves many runs at once."""

    async def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None]) -> ModelReply:
        """Stream the answer through `on_delta`, then return the whole. Raises `ModelFailed`.

        After a cancellation no delta follows and the connection is closed.
        """
        ...


class Platform(Protocol):
    """A place where people read. A refusal is returned, not raised."""

    @property
    def name(self) -> str:
        """The platform as sources name it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; asked per turn, never cached with a session."""
        ...

    def length(self, text: str) -> int:
        """How long `text` is, in the unit of `capabilities.max_length`."""
        ...

    async def send(self, message: Outbound) -> Delivered:
        """Show a new message."""
        ...

    async def edit(self, message_id: str, message: Outbound) -> Delivered:
        """Replace the words of a message that `send` has shown."""
        ...

    async def typing(self, to: Source, run: str) -> None:
        """Show that an answer is on its way; `run` is for the record."""
        ...

    async def create_handoff_thread(self, parent: Source, name: str) -> Source | None:
        """Open a thread; the source that a user's next message in it will have. None: cannot."""
        ...


class RemoteClient(Protocol):
    """A connected client that lends its tools. Results come back by another way, with its name."""

    @property
    def identity(self) -> str:
        """Who it is; only this client may answer the calls it was given."""
        ...

    async def request(self, call: RemoteCall) -> None:
        """Hand over a call; returns when it is on its way. `ActorGone`: the client has left."""
        ...

    def notify(self, notice: RemoteNotice) -> None:
        """Tell the client that a call has ended without it. Never waits: works in `finally`."""
        ...


class CallContext(Protocol):
    """What a tool may know about the run that calls it."""

    @property
    def run_id(self) -> str:
        """The run."""
        ...

    @property
    def session_key(self) -> str:
        """The conversation."""
        ...

    @property
    def agent_id(self) -> str:
        """The agent."""
        ...

    def cannot_be_cut(self, call_id: str) -> None:
        """This call is about to act where no cancellation reaches it, such as in a thread."""
        ...


class ToolBox(Protocol):
    """An agent's hands. Every call is a task of its run: when the run is cut, so is the call."""

    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is told about now."""
        ...

    async def call(self, call: ToolCall, context: CallContext) -> ToolResult:
        """Do it. What goes wrong inside a tool is a result with `failed`, not an exception."""
        ...
