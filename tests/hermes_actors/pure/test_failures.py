"""What counts as a failed tool call when only the text of its result is left."""

from __future__ import annotations

import pytest

from hermes_actors.pure.failures import looks_failed


@pytest.mark.parametrize(
    ("tool", "text", "failed"),
    [
        ("terminal", '{"exit_code": 0, "output": "\\"error\\""}', False),
        ("terminal", '{"exit_code": 1, "output": ""}', True),
        ("terminal", '{"exit_code": null, "error": "x"}', False),  # still running
        ("terminal", '{"error": "no shell"}', True),
        ("write_file", '{"bytes_written": 0}', False),
        ("write_file", '{"bytes_written": 3, "error": "disk full"}', True),
        ("write_file", '{"bytes_written": 3, "success": false}', False),
        ("patch", '{"success": true, "note": "failed once"}', False),
        ("patch", '{"success": false}', True),
        ("any", '{"error": ""}', False),
        ("any", '{"error": null}', False),
        ("any", '{"error": "x"}', True),
        ("any", '{"success": false, "message": "over the limit"}', True),
        ("any", '["error"]', True),
        ("any", "Error: no such file", True),
        ("any", "all tests failed", False),
        ("any", "broken {" + '"Error": 1', True),
        ("any", "x" * 500 + '"error"', False),
        ("any", "", False),
        ("any", "[" * 100_000, False),
    ],
)
def test_proof_comes_before_looks(tool: str, text: str, failed: bool) -> None:
    assert looks_failed(tool, text) is failed
