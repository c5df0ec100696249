"""Which tool did the model mean? Spelling is forgiven, guessing is not.

`ReadFile`, `read-file`, `read_file_tool` and `read_file<|x|>` are spellings of `read_file`. A name
that is merely close is offered to the model as a hint: a wrong guess could run a tool with effects
that nobody asked for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator

SHOWN = 40


def resolve(name: str, known: Collection[str]) -> str | None:
    """The known tool of which this is a spelling, or None."""
    if name in known:
        return name
    plain = {_plain(tool): tool for tool in sorted(known, reverse=True)}
    return next((plain[each] for each in _spellings(name) if each in plain), None)


def unknown_tool(name: str, known: Collection[str]) -> str:
    """The answer to a call of a tool that does not exist."""
    if not name.strip():
        return "Error: the call has no tool name. Call a tool by its name, or answer in words."
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    hint = f" Did you mean {close[0]}?" if close else ""
    listed = ", ".join(sorted(known)[:SHOWN]) or "none"
    return f"Error: there is no tool {name[:64]!r}.{hint} The tools are: {listed}."


def _spellings(name: str) -> Iterator[str]:
    """The name as it might have been meant, most literal first."""
    cut = re.split(r"[\"'<>`]", name.strip(), maxsplit=1)[0]
    for _ in range(3):
        yield _plain(cut)
        cut = re.sub(r"[_\- ]?tool$", "", cut, flags=re.IGNORECASE)


def _plain(name: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\-\s]+", "_", snake).lower()
