"""Takes a model's thoughts out of its answer while the answer is still arriving.

Some models write their thinking into the text, as `<think> … </think>`. Nobody is to read that. A
tag may be cut anywhere between two deltas, so the end of a delta that could be the beginning of a
tag is held back until more is known. What comes out depends on the text alone, never on the cuts.

    an opening tag at the start of a line     everything up to its closing tag goes, and the
                                              empty lines after it; without one, all the rest
    an opening tag inside a line              prose about tags: stays, and so does its closing tag
    a closing tag that closes nothing         goes

Calls of tools that a model writes into its text (`<tool_call> …`) are treated alike: they are no
words for people either.
"""

from __future__ import annotations

import re

TAGS = (
    "think",
    "thinking",
    "reasoning",
    "thought",
    "reasoning_scratchpad",
    "tool_call",
    "tool_calls",
    "function_call",
    "function_calls",
)

_FLAGS = re.IGNORECASE | re.ASCII
_TAG = re.compile(rf"<(/?)({'|'.join(TAGS)})>", _FLAGS)
_CLOSING = {tag: re.compile(rf"</{tag}>", _FLAGS) for tag in TAGS}
_BEGINNINGS = frozenset(
    tag[:length]
    for name in TAGS
    for tag in (f"<{name}>", f"</{name}>")
    for length in range(1, len(tag))
)
_LONGEST = max(map(len, _BEGINNINGS))
_EMPTY_LINES = re.compile(r"(?:[^\S\n]*\n)*")


def scrub(text: str) -> str:
    """A whole text without thoughts."""
    scrubber = ThinkScrubber()
    return scrubber.feed(text) + scrubber.finish()


class ThinkScrubber:
    """One answer. Give it every delta, then `finish` once; together they are the visible text."""

    def __init__(self) -> None:
        self.thought = False
        self._held = ""
        self._inside: str | None = None
        self._line_start = True
        self._after_block = False
        self._indent = ""
        self._literal = 0

    def feed(self, delta: str) -> str:
        """The words that are certain to be part of the answer by now; may be none."""
        text, self._held = self._held + delta, ""
        seen: list[str] = []
        at = 0
        while at < len(text):
            at = self._skip(text, at) if self._inside else self._read(text, at, seen)
        return "".join(seen)

    def finish(self) -> str:
        """What was held back and turned out to be words. An open thought is dropped."""
        rest, self._held = self._held, ""
        return "" if self._inside else self._show(rest)

    def _skip(self, text: str, at: int) -> int:
        """Go on to the closing tag; remember just enough to know a tag that was cut."""
        assert self._inside is not None
        closing = _CLOSING[self._inside].search(text, at)
        if closing is None:
            self._held = text[max(at, len(text) - len(self._inside) - 2) :]
            return len(text)
        self._inside, self._line_start, self._after_block = None, True, True
        return closing.end()

    def _read(self, text: str, at: int, seen: list[str]) -> int:
        """Show what comes before the next `<`, or decide about it."""
        angle = text.find("<", at)
        if angle != at:
            end = len(text) if angle < 0 else angle
            seen.append(self._show(text[at:end]))
            return end
        tag = _TAG.match(text, at)
        if tag is not None:
            seen.append(self._tag(tag))
            return tag.end()
        if len(text) - at <= _LONGEST and text[at:].lower() in _BEGINNINGS:
            self._held = text[at:]
            return len(text)
        seen.append(self._show("<"))
        return at + 1

    def _tag(self, tag: re.Match[str]) -> str:
        closes, name = bool(tag[1]), tag[2].lower()
        if not closes and self._line_start:
            self._inside, self._indent, self.thought = name, "", True
            return ""
        if closes and not self._literal:
            return ""
        self._literal += -1 if closes else 1
        return self._show(tag[0])

    def _show(self, text: str) -> str:
        """Let words through; right after a thought, empty lines are part of it."""
        if self._after_block and text:
            text = self._indent + text
            text = text[_end_of(_EMPTY_LINES, text) :]
            self._indent = text if not text or text.isspace() else ""
            if self._indent or not text:
                return ""
            self._after_block = False
        if text:
            last_line = text[text.rfind("\n") + 1 :]
            fresh = self._line_start or len(last_line) < len(text)
            self._line_start = fresh and (not last_line or last_line.isspace())
        return text


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return 0 if match is None else match.end()
