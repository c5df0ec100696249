"""The list of hooks: names and arguments that plugins rely on."""

from __future__ import annotations

import inspect

import pytest

from hermes_actors.hooks.events import EVENTS, invalidation_reason
from hermes_actors.hooks.kinds import Event, HookKind, Policy
from hermes_actors.testing.vocabulary import TERMINAL_HOOKS, TERMINAL_REASONS

EVERY_HOOK = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
IDS = {"session_id", "task_id", "turn_id"}
TOOL = {"tool_name", "args", "tool_call_id", "api_request_id", *IDS}
REQUEST = {"api_request_id", "api_call_count", "model", "provider", "platform", *IDS}
RESULT = {"result", "duration_ms", "status", "error_type", "error_message"}

# Names under which existing plugins know these hooks and their arguments.
KNOWN = {
    "pre_tool_call": TOOL,
    "post_tool_call": TOOL | RESULT,
    "transform_tool_result": TOOL | RESULT,
    "transform_terminal_output": {"command", "output", "returncode", "task_id", "env_type"},
    "transform_llm_output": {"response_text", "session_id", "model", "platform"},
    "pre_llm_call": {
        *IDS,
        "user_message",
        "conversation_history",
        "is_first_turn",
        "model",
        "platform",
        "sender_id",
    },
    "post_llm_call": {
        *IDS,
        "user_message",
        "assistant_response",
        "conversation_history",
        "model",
        "platform",
    },
    "pre_api_request": REQUEST
    | {
        "base_url",
        "api_mode",
        "request_messages",
        "message_count",
        "tool_count",
        "approx_input_tokens",
        "request_char_count",
        "max_tokens",
        "started_at",
    },
    "post_api_request": REQUEST
    | {
        "api_duration",
        "started_at",
        "ended_at",
        "finish_reason",
        "message_count",
        "response_model",
        "usage",
        "assistant_content_chars",
        "assistant_tool_call_count",
    },
    "api_request_error": REQUEST
    | {
        "api_duration",
        "started_at",
        "ended_at",
        "status_code",
        "retry_count",
        "max_retries",
        "retryable",
        "reason",
        "error",
    },
    "on_session_start": {"session_id", "model", "platform"},
    "on_session_end": {*IDS, "completed", "interrupted", "model", "platform"},
    "on_session_finalize": {
        "session_id",
        "platform",
        "reason",
        "old_session_id",
        "new_session_id",
    },
    "on_session_reset": {"session_id", "platform", "reason", "old_session_id", "new_session_id"},
    "subagent_start": {
        "parent_session_id",
        "parent_turn_id",
        "parent_subagent_id",
        "child_session_id",
        "child_subagent_id",
        "child_role",
        "child_goal",
    },
    "subagent_stop": {
        "parent_session_id",
        "parent_turn_id",
        "child_session_id",
        "child_role",
        "child_summary",
        "child_status",
        "duration_ms",
    },
    "pre_approval_request": {
        "command",
        "description",
        "pattern_key",
        "pattern_keys",
        "session_key",
        "surface",
    },
    "post_approval_response": {
        "command",
        "description",
        "pattern_key",
        "pattern_keys",
        "session_key",
        "surface",
        "choice",
        "decided_by",
    },
}


@pytest.mark.parametrize("name", KNOWN)
def test_hooks_that_plugins_know_have_the_arguments_that_they_know(name: str) -> None:
    assert KNOWN[name] <= set(EVENTS[name].__struct_fields__)


def test_the_hook_of_a_stop_has_exactly_its_arguments_in_this_order() -> None:
    assert EVENTS["agent_loop_stopped"].__struct_fields__ == (
        "session_key",
        "platform",
        "reason",
        "invalidation_reason",
        "agent_id",
        "run_id",
        "kind",
        "cause",
        "phase",
        "duration_ms",
        "tool_calls",
        "remote_calls",
    )


def test_the_machine_tag_of_a_stop_is_the_one_that_plugins_know() -> None:
    causes = [cause for causes in TERMINAL_REASONS.values() for cause in causes]
    renamed = {cause: invalidation_reason(cause) for cause in causes}
    assert {cause: tag for cause, tag in renamed.items() if cause != tag} == {
        "user_stop": "stop_command",
        "new_session": "new_command",
    }


def test_the_hooks_that_end_a_run_are_told_of_a_run() -> None:
    told = {name for name, event in EVENTS.items() if "run_id" in event.__struct_fields__}
    assert told == {"agent_loop_started", *TERMINAL_HOOKS}


@EVERY_HOOK
def test_each_hook_has_one_sentence_that_says_when_it_fires(event: type[Event]) -> None:
    words = inspect.getdoc(event) or ""
    assert words.endswith(".")
    assert words.count(". ") == 0
    assert words != inspect.getdoc(event.__base__)


@EVERY_HOOK
def test_each_hook_says_whose_it_is_where_there_is_a_session(event: type[Event]) -> None:
    fields = set(event.__struct_fields__)
    assert ("session_key" in fields) <= ("agent_id" in fields)


@EVERY_HOOK
def test_the_answers_of_a_policy_include_the_one_for_when_it_fails(event: type[Event]) -> None:
    if not issubclass(event, Policy):
        assert event.hook_kind is not HookKind.POLICY
        return
    assert event.hook_kind is HookKind.POLICY
    assert event.when_in_doubt in event.answers
    assert "allow" not in event.answers
