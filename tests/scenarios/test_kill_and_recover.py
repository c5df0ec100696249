"""kill -9 in the middle of a run: the next start ends it, tells the hook once, and answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_actors.pure.transcript import MAY_REPEAT, STOPPED, UNKNOWN_EFFECT

PROGRAM = Path(__file__).with_name("recovering_gateway.py")


def start(folder: Path, model: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), model],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines_until(process: subprocess.Popen[str], kind: str) -> list[dict[str, Any]]:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["kind"] == kind:
            return seen
    raise AssertionError(f"it ended before '{kind}': {seen}")


@pytest.mark.slow
def test_a_run_cut_by_kill_9_is_ended_told_once_and_its_message_is_answered(tmp_path: Path) -> None:
    with start(tmp_path, "hangs") as first:
        lines_until(first, "model.called")
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    with start(tmp_path, "answers") as second:
        seen = lines_until(second, "answered")
        second.communicate(timeout=30)
    told = [each for each in seen if each["kind"] == "hook"]
    assert [each["cause"] for each in told] == ["crash"]
    assert seen[-1] == {"kind": "answered", "text": "Here I am again."}
    with start(tmp_path, "answers") as third:
        seen = lines_until(third, "idle")
        third.communicate(timeout=30)
    assert [each for each in seen if each["kind"] == "hook"] == []


@pytest.mark.slow
@pytest.mark.parametrize(("model", "started"), [("acts", 2), ("writes", 1)])
def test_calls_cut_by_kill_9_are_told_to_the_hook_and_truly_to_the_model(
    tmp_path: Path, model: str, started: int
) -> None:
    with start(tmp_path, model) as first:
        for _ in range(started):
            lines_until(first, "tool.started")
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    with start(tmp_path, "answers") as second:
        seen = lines_until(second, "answered")
        second.communicate(timeout=30)
    (hook,) = [each for each in seen if each["kind"] == "hook"]
    (told,) = [each for each in seen if each["kind"] == "told"]
    assert (hook["cause"], hook["phase"]) == ("crash", "tools")
    if model == "acts":
        assert hook["calls"] == ["reads", "looks", "writes"]
        assert told["results"] == [MAY_REPEAT, MAY_REPEAT, STOPPED]  # the last had not begun
    else:
        assert hook["calls"] == ["writes"]
        assert told["results"] == [UNKNOWN_EFFECT]
