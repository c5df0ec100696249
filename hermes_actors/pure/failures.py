"""Did a tool fail? Tools that know say so; this is for results of which only the text is left.

The order matters: what proves success or failure comes before what merely looks like one.
"""

from __future__ import annotations

import json
from typing import Any

LOOKED_AT = 500


def looks_failed(tool: str, text: str) -> bool:
    """Is this the result of a call that did not work?"""
    result = _object(text)
    if result is None:
        start = text[:LOOKED_AT].lower()
        return text.startswith("Error") or '"error"' in start or '"failed"' in start
    if tool == "terminal" and "exit_code" in result:
        return result["exit_code"] not in (0, None)
    if _landed(tool, result):
        return False
    return bool(result.get("error")) or result.get("success") is False


def _landed(tool: str, result: dict[str, Any]) -> bool:
    """A change to a file that is proven: written bytes, or a patch that says it worked."""
    if result.get("error"):
        return False
    if tool == "write_file":
        return "bytes_written" in result
    return tool == "patch" and result.get("success") is True


def _object(text: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
