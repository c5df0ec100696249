"""Spelling is forgiven, guessing is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.pure.agent_loop.tool_names import resolve, unknown_tool

KNOWN = ("read_file", "delete_file", "web_search", "getWeather", "mcp__a__b", "tool")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("read_file", "read_file"),
        ("READ_FILE", "read_file"),
        ("ReadFile", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("read file", "read_file"),
        ("read_file_tool", "read_file"),
        ("ReadFileTool", "read_file"),
        ("read_file_tool_tool", "read_file"),
        ('read_file"}', "read_file"),
        ("read_file<|channel|>", "read_file"),
        ("get_weather", "getWeather"),
        ("tool", "tool"),
    ],
)
def test_a_spelling_is_understood(written: str, meant: str) -> None:
    assert resolve(written, KNOWN) == meant


@pytest.mark.parametrize("written", ["red_file", "delete_fil", "file", "", " ", "<read_file>"])
def test_a_name_that_is_only_close_is_never_run(written: str) -> None:
    assert resolve(written, KNOWN) is None


def test_a_name_that_is_only_close_is_offered() -> None:
    assert "Did you mean read_file?" in unknown_tool("red_file", KNOWN)
    assert "Did you mean" not in unknown_tool("xyz", KNOWN)
    assert "web_search" in unknown_tool("xyz", KNOWN)
    assert "web_search" not in unknown_tool("  ", KNOWN)


@given(st.text(max_size=30))
def test_any_name_is_read_and_only_known_tools_come_out(name: str) -> None:
    assert resolve(name, KNOWN) in (None, *KNOWN)
    assert unknown_tool(name, KNOWN).startswith("Error:")
