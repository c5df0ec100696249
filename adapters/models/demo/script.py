"""What the demo model says. Pure: a request in, a sequence of beats out.

It understands a few plain sentences and nothing else, and it says so. There is no chance in it:
the same conversation always gets the same answer.

    use the terminal tool to run `ls`        calls `terminal`, if such a tool is offered
    use read_file with {"path": "a.txt"}     calls it with exactly these arguments
    count to 20 / count slowly to 100        numbers, the slow way one a second
    say hello                                "hello"
    think about lunch                        thinks first, then answers
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from hermes_actors.values import (
    Delta,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

WHO = "I am the demo model: no network, no key and no thoughts of my own."
_HINT = (
    "Try “use the terminal tool to run `ls`”, “count slowly to 100” and then /stop, "
    "or set up a real model in the [model] table of hermes.toml."
)
_PER_WORD, _PER_NUMBER = 0.02, 1.0
_MOST_NUMBERS = 1000
_QUOTE = 600

_COUNT = re.compile(
    r"\bcount\b(?P<slow>.{0,20}?\bslowly\b)?\D{0,20}?(?P<most>\d{1,6})", re.I | re.S
)
_SLOW = re.compile(r"\bslow(ly)?\b", re.I)
_SAY = re.compile(r"^\s*(?:please\s+)?(?:say|repeat)\b[:\s]*(?P<words>.+)", re.I | re.S)
_THINK = re.compile(r"^\s*(?:please\s+)?think\b", re.I)
_ORDER = re.compile(r"\b(use|call|run|execute|invoke)\b", re.I)
_WANTED = re.compile(
    r"\b(?:use|call|invoke)\s+(?:the\s+)?[`'\"]?(?P<name>[\w.-]+)[`'\"]?\s+tool\b", re.I
)
_QUOTED = re.compile(r"`([^`]+)`|“([^”]+)”|\"([^\"]+)\"|'([^']+)'")


class Beat(msgspec.Struct, frozen=True):
    """A pause in seconds, then a piece of the answer."""

    pause: float
    delta: Delta


def perform(request: ModelRequest) -> Iterator[Beat]:
    """The answer to the last message of a conversation."""
    last = request.messages[-1] if request.messages else UserMessage("")
    if isinstance(last, ToolMessage):
        return _spoken(_about_results(request))
    asked = last.text if isinstance(last, UserMessage) else ""
    if calls := list(_calls(asked, request)):
        return iter(calls)
    return _answer(asked, request)


def _answer(asked: str, request: ModelRequest) -> Iterator[Beat]:
    if count := _COUNT.search(asked):
        return _counted(min(int(count["most"]), _MOST_NUMBERS), bool(_SLOW.search(asked)))
    if missing := _WANTED.search(asked):
        return _spoken(_not_offered(missing["name"], request.tools))
    if say := _SAY.match(asked):
        return _spoken(say["words"].strip())
    if _THINK.match(asked):
        return _thought(asked)
    return _spoken(f"{WHO} You said: “{_cut(asked)}”. {_HINT}")


def _calls(asked: str, request: ModelRequest) -> Iterator[Beat]:
    """A call for each offered tool that an order names, with the words up to the next one."""
    if not _ORDER.search(asked):
        return
    tools = {tool.name: tool for tool in request.tools}
    names = "|".join(sorted(map(re.escape, tools), key=len, reverse=True))
    found = list(re.finditer(rf"(?<![\w.-])({names})(?![\w-])", asked)) if names else []
    if not found and "terminal" in tools and (command := re.search(r"\brun\s+`([^`]+)`", asked)):
        yield _call(0, tools["terminal"], command[0], request)
    for number, match in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(asked)
        yield _call(number, tools[match[1]], asked[match.end() : end], request)


def _call(number: int, tool: ToolSpec, words: str, request: ModelRequest) -> Beat:
    arguments = json.dumps(_arguments(words, tool.parameters), ensure_ascii=False)
    call_id = f"demo_{len(request.messages)}_{number}"
    return Beat(_PER_WORD, ToolCallDelta(number, arguments, call_id, tool.name))


def _arguments(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    """JSON as it is written, or the quoted words for the tool's own texts, in their order."""
    start, end = words.find("{"), words.rfind("}")
    if 0 <= start < end:
        try:
            return msgspec.json.decode(words[start : end + 1], type=dict[str, Any])
        except msgspec.MsgspecError:
            pass  # braces in a sentence; then the quotes count
    quoted = ["".join(match.groups("")) for match in _QUOTED.finditer(words)]
    return dict(zip(_texts(schema), quoted, strict=False))


def _texts(schema: dict[str, Any]) -> list[str]:
    """The parameters that take text, required ones first."""
    properties: dict[str, Any] = schema.get("properties") or {}
    required = [str(name) for name in schema.get("required") or ()]
    order = [*required, *(name for name in properties if name not in required)]
    takes = [name for name in order if (properties.get(name) or {}).get("type") == "string"]
    return takes or order


def _not_offered(name: str, tools: tuple[ToolSpec, ...]) -> str:
    offered = ", ".join(tool.name for tool in tools) or "none"
    return f"There is no tool called “{name}” here. Offered: {offered}. {WHO}"


def _about_results(request: ModelRequest) -> str:
    results: list[str] = []
    for message in reversed(request.messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, _cut(message.text))
    shown = "\n".join(f"```\n{result}\n```" for result in results)
    return f"The tool answered:\n{shown}\n(This was the demo model.)"


def _spoken(text: str) -> Iterator[Beat]:
    for piece in re.findall(r"\s*\S+\s*$|\s*\S+", text):
        yield Beat(_PER_WORD, TextDelta(piece))


def _counted(most: int, slowly: bool) -> Iterator[Beat]:
    pause = _PER_NUMBER if slowly else _PER_WORD
    for number in range(1, most + 1):
        yield Beat(pause, TextDelta(f"{number} "))
    yield Beat(pause, TextDelta("(counted by the demo model)"))


def _thought(asked: str) -> Iterator[Beat]:
    for piece in re.findall(r"\s*\S+", f"They want me to think: {_cut(asked)}"):
        yield Beat(_PER_WORD, ReasoningDelta(piece))
    yield from _spoken(f"I have thought about it. {WHO}")


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTE else f"{text[:_QUOTE]}…"
