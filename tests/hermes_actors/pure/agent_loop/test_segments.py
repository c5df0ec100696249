"""Calls run side by side only if none can disturb another, and never out of order."""

from __future__ import annotations

import random

import pytest

from hermes_actors.pure.agent_loop.segments import segments
from hermes_actors.pure.tool_rules import DEFAULT_RULES
from hermes_actors.values import ToolCall


def tool(name: str, path: str | None = None) -> ToolCall:
    arguments = "{}" if path is None else f'{{"path": "{path}"}}'
    return ToolCall(f"{name} {path}", name, arguments)


SEARCH, ALONE = tool("web_search"), tool("terminal")
READ_A, READ_B, WRITE_A = tool("read_file", "a"), tool("read_file", "b"), tool("write_file", "a")


def sizes(*calls: ToolCall) -> list[int]:
    found = segments(calls, DEFAULT_RULES)
    assert [call for each in found for call in each.calls] == list(calls)
    return [len(each.calls) for each in found]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], []),
        ([ALONE], [1]),
        ([SEARCH], [1]),
        ([SEARCH, SEARCH, SEARCH], [3]),
        ([ALONE, ALONE], [1, 1]),
        ([SEARCH, SEARCH, ALONE, SEARCH, SEARCH], [2, 1, 2]),
        ([READ_A, READ_A, READ_B], [3]),
        ([READ_A, READ_B, WRITE_A], [2, 1]),
        ([WRITE_A, READ_A, READ_B], [1, 2]),
        ([WRITE_A, READ_B, SEARCH], [3]),
        ([WRITE_A, WRITE_A], [1, 1]),
        ([WRITE_A, tool("patch")], [1, 1]),
        ([WRITE_A, tool("read_file", "a/b/c")], [1, 1]),
        ([WRITE_A, tool("read_file", "ab")], [2]),
        ([WRITE_A, tool("read_file", "x/../a")], [1, 1]),
        ([WRITE_A, tool("read_file", "/a")], [1, 1]),
        ([WRITE_A, tool("write_file", ".")], [1, 1]),
        ([tool("write_file", "/"), tool("read_file", "/etc")], [1, 1]),
        ([SEARCH, ToolCall("1", "web_search", "[1]")], [1, 1]),
        ([SEARCH, tool("never heard of")], [1, 1]),
        ([SEARCH, ToolCall("1", "read_file", '{"path": 7}')], [1, 1]),
    ],
)
def test_company(calls: list[ToolCall], expected: list[int]) -> None:
    assert sizes(*calls) == expected


def test_whoever_knows_the_files_can_say_which_paths_are_one() -> None:
    calls = [tool("write_file", "LINK"), tool("read_file", "a")]
    real = {"LINK": "/x/a", "a": "/x/a"}
    assert len(segments(calls, DEFAULT_RULES, real.__getitem__)) == 2
    assert len(segments(calls, DEFAULT_RULES)) == 1


def test_no_segment_holds_two_calls_that_clash() -> None:
    dice = random.Random(1)
    pool = [
        SEARCH,
        ALONE,
        *(tool(name, path) for name in ("read_file", "write_file") for path in "ab"),
    ]
    for _ in range(2000):
        for segment in segments(dice.choices(pool, k=dice.randint(0, 8)), DEFAULT_RULES):
            names = [call.name for call in segment.calls]
            assert "terminal" not in names or len(names) == 1
            for path in "ab":
                touching = [call.name for call in segment.calls if f'"{path}"' in call.arguments]
                assert "write_file" not in touching or len(touching) == 1
