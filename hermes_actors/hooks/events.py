"""Every hook there is: one struct each, whose docstring says when it fires.

The class name is the hook's name (`AgentLoopStopped` is `"agent_loop_stopped"`), the fields are
the keyword arguments of a handler, and the base class is its kind (`kinds.py`).

Fields are plain data, so every handler gets its own copy and cannot reach into a running turn.
`turn_id` is the run's id under the name that existing plugins know; `task_id` is the same id,
except in a sub-agent, where it is the id of the run that delegated.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from hermes_actors.hooks.kinds import Event, Policy, Selection, Transformation
from hermes_actors.hooks.kinds import Observation as Observation

TELEMETRY_SCHEMA_VERSION = "hermes.observer.v1"


# --- the life of a run --------------------------------------------------------------------------


class CancelledCall(msgspec.Struct, frozen=True):
    """A tool call that was cut before its result; handlers see `{"id": …, "name": …}`."""

    id: str
    name: str


class AgentLoopStarted(Observation, frozen=True, kw_only=True):
    """A session has taken a message in hand and a run begins."""

    session_key: str
    platform: str
    agent_id: str
    run_id: str


class AgentLoopCompleted(Observation, frozen=True, kw_only=True):
    """A run came to its own end and its reply is stored."""

    session_key: str
    platform: str
    agent_id: str
    run_id: str
    duration_ms: int


class AgentLoopStopped(Observation, frozen=True, kw_only=True):
    """A run began and did not complete; all it had started is gone and its transcript is sealed."""

    session_key: str
    platform: str
    reason: str
    invalidation_reason: str
    agent_id: str
    run_id: str
    kind: str
    cause: str
    phase: str
    duration_ms: int
    tool_calls: tuple[CancelledCall, ...] = ()
    remote_calls: tuple[CancelledCall, ...] = ()


_INVALIDATION = {"user_stop": "stop_command", "new_session": "new_command"}


def invalidation_reason(cause: str) -> str:
    """The machine tag under which existing plugins know this cause of a stop."""
    return _INVALIDATION.get(cause, cause)


class MessageWithdrawn(Observation, frozen=True, kw_only=True):
    """A message that was still queued was dropped, so that no run ever began for it."""

    session_key: str
    platform: str
    agent_id: str
    message_id: str
    reason: str


class DeadLetter(Observation, frozen=True, kw_only=True):
    """A message was set aside for good after crashing its session again and again."""

    session_key: str
    agent_id: str
    message_id: str
    attempts: int
    reason: str


# --- tools --------------------------------------------------------------------------------------


class PreToolCall(Policy, frozen=True, kw_only=True):
    """A tool is about to run; fires exactly once per execution."""

    answers: ClassVar[frozenset[str]] = frozenset({"block", "approve"})
    when_in_doubt: ClassVar[str] = "block"

    tool_name: str
    args: dict[str, Any]
    tool_call_id: str
    session_key: str
    agent_id: str
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""
    api_request_id: str = ""


class PostToolCall(Observation, frozen=True, kw_only=True):
    """A tool call has its result; `status` is ok, error, blocked, cancelled or timeout."""

    tool_name: str
    args: dict[str, Any]
    tool_call_id: str
    session_key: str
    agent_id: str
    result: str
    status: str
    duration_ms: int
    error_type: str = ""
    error_message: str = ""
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""
    api_request_id: str = ""


class TransformToolResult(Transformation, frozen=True, kw_only=True):
    """A tool's result is about to be shown to the model."""

    tool_name: str
    args: dict[str, Any]
    tool_call_id: str
    session_key: str
    agent_id: str
    result: str
    status: str
    duration_ms: int
    error_type: str = ""
    error_message: str = ""
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""
    api_request_id: str = ""


class TransformTerminalOutput(Transformation, frozen=True, kw_only=True):
    """A command has ended and its output is about to become a tool result."""

    command: str
    output: str
    returncode: int | None
    session_key: str
    agent_id: str
    task_id: str = ""
    env_type: str = "local"


class PreApprovalRequest(Observation, frozen=True, kw_only=True):
    """Somebody is about to be asked whether a command may run."""

    command: str
    description: str
    session_key: str
    agent_id: str
    surface: str
    pattern_key: str = ""
    pattern_keys: tuple[str, ...] = ()


class PostApprovalResponse(Observation, frozen=True, kw_only=True):
    """The question was settled; `choice` is once, session, always, deny or timeout."""

    command: str
    description: str
    session_key: str
    agent_id: str
    surface: str
    choice: str
    pattern_key: str = ""
    pattern_keys: tuple[str, ...] = ()
    decided_by: str = ""


# --- the model ----------------------------------------------------------------------------------


class PreLlmCall(Transformation, frozen=True, kw_only=True):
    """A run is about to ask the model for the first time; texts are added to the user's message."""

    joins: ClassVar[bool] = True

    user_message: str
    conversation_history: tuple[dict[str, Any], ...]
    is_first_turn: bool
    model: str
    platform: str
    session_key: str
    agent_id: str
    sender_id: str = ""
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""


class PostLlmCall(Observation, frozen=True, kw_only=True):
    """The model has given the final text of a run."""

    user_message: str
    assistant_response: str
    conversation_history: tuple[dict[str, Any], ...]
    model: str
    platform: str
    session_key: str
    agent_id: str
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""


class TransformLlmOutput(Transformation, frozen=True, kw_only=True):
    """The final text of a run is about to be stored and sent."""

    response_text: str
    model: str
    platform: str
    session_key: str
    agent_id: str
    session_id: str = ""


class PreApiRequest(Observation, frozen=True, kw_only=True):
    """One request is about to go to the model's provider; a run makes one or more."""

    api_request_id: str
    api_call_count: int
    model: str
    provider: str
    session_key: str
    agent_id: str
    message_count: int
    tool_count: int
    started_at: float
    platform: str = ""
    base_url: str = ""
    api_mode: str = ""
    request_messages: tuple[dict[str, Any], ...] = ()
    approx_input_tokens: int = 0
    request_char_count: int = 0
    max_tokens: int | None = None
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""


class PostApiRequest(Observation, frozen=True, kw_only=True):
    """The provider has answered one request in full."""

    api_request_id: str
    api_call_count: int
    model: str
    provider: str
    session_key: str
    agent_id: str
    api_duration: float
    started_at: float
    ended_at: float
    finish_reason: str
    usage: dict[str, Any]
    platform: str = ""
    message_count: int = 0
    response_model: str = ""
    assistant_content_chars: int = 0
    assistant_tool_call_count: int = 0
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""


class ApiRequestError(Observation, frozen=True, kw_only=True):
    """One request to the provider failed, whether or not it is going to be tried again."""

    api_request_id: str
    api_call_count: int
    model: str
    provider: str
    session_key: str
    agent_id: str
    api_duration: float
    started_at: float
    ended_at: float
    error: str
    reason: str
    retryable: bool
    retry_count: int
    max_retries: int
    status_code: int | None = None
    platform: str = ""
    session_id: str = ""
    task_id: str = ""
    turn_id: str = ""


# --- sessions and sub-agents --------------------------------------------------------------------


class OnSessionStart(Observation, frozen=True, kw_only=True):
    """The first run of a session begins."""

    session_id: str
    model: str
    platform: str
    session_key: str
    agent_id: str


class OnSessionEnd(Observation, frozen=True, kw_only=True):
    """A run has ended, in whatever way: despite its name this fires after every run."""

    session_id: str
    completed: bool
    interrupted: bool
    model: str
    platform: str
    session_key: str
    agent_id: str
    task_id: str = ""
    turn_id: str = ""


class OnSessionFinalize(Observation, frozen=True, kw_only=True):
    """A session is over; `reason` is new_session, session_expired or shutdown."""

    session_id: str
    platform: str
    reason: str
    session_key: str
    agent_id: str
    old_session_id: str = ""
    new_session_id: str = ""


class OnSessionReset(Observation, frozen=True, kw_only=True):
    """A fresh session has taken the place of another in the same chat."""

    session_id: str
    platform: str
    reason: str
    session_key: str
    agent_id: str
    old_session_id: str
    new_session_id: str


class SubagentStart(Observation, frozen=True, kw_only=True):
    """A run has delegated a task and the sub-agent begins."""

    session_key: str
    agent_id: str
    parent_session_id: str
    parent_turn_id: str
    child_session_id: str
    child_subagent_id: str
    child_role: str
    child_goal: str
    parent_subagent_id: str = ""


class SubagentStop(Observation, frozen=True, kw_only=True):
    """A sub-agent is gone, whether it finished, failed or was stopped."""

    session_key: str
    agent_id: str
    parent_session_id: str
    parent_turn_id: str
    child_session_id: str
    child_role: str
    child_summary: str
    child_status: str
    duration_ms: int


# --- the gateway --------------------------------------------------------------------------------


class PreGatewayDispatch(Policy, frozen=True, kw_only=True):
    """A message of an authorized sender has arrived and is about to reach its session."""

    answers: ClassVar[frozenset[str]] = frozenset({"skip", "rewrite"})
    when_in_doubt: ClassVar[str] = "skip"

    platform: str
    chat_id: str
    user_id: str
    text: str
    session_key: str
    agent_id: str
    message_id: str = ""
    thread_id: str = ""
    chat_type: str = ""
    user_name: str = ""


class SelectAgent(Selection, frozen=True, kw_only=True):
    """A message needs an agent, before any route is tried."""

    platform: str
    chat_id: str
    user_id: str
    text: str
    thread_id: str = ""
    guild_id: str = ""
    chat_type: str = ""


class GatewayStarted(Observation, frozen=True, kw_only=True):
    """Every adapter has been started and messages are taken."""

    adapters: tuple[str, ...]
    agents: tuple[str, ...]


class GatewayStopping(Observation, frozen=True, kw_only=True):
    """The gateway takes no new messages and will be gone within `drain_seconds`."""

    reason: str
    drain_seconds: float


EVENTS: dict[str, type[Event]] = {
    event.hook_name: event
    for kind in (Policy, Transformation, Selection, Observation)
    for event in kind.__subclasses__()
}
