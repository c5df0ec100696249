"""Kill a real process at a named point, and see what it leaves behind.

Some promises are about a process that is no more: what was confirmed is kept, what was not is not
half there. They cannot be tested from inside. So a program is run as a process of its own, with
one failpoint armed, and the test looks at its files afterwards, or starts it again.
"""

from __future__ import annotations

import difflib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from hermes_actors.failpoints import Point

POLL, GRACE = 0.005, 2.0


class Death(msgspec.Struct, frozen=True):
    """How a program ended, and what it had said by then.

    `returncode` is as in `subprocess`: negative for a signal. `timed_out` means that it was
    still running at the deadline, and that we ended it.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def killed(self) -> bool:
        """The failpoint was passed: the process died of SIGKILL, and not by our hand."""
        return self.returncode == -signal.SIGKILL and not self.timed_out


def run_until_killed(
    program: str | Path,
    *arguments: str,
    failpoint: str | None,
    at_pass: int = 1,
    within: float = 30.0,
    env: Mapping[str, str] | None = None,
) -> Death:
    """Run a module (by name) or a script (by path) until `failpoint` is passed so many times.

    Everything that the program started goes with it: when this returns, no process of its
    group is left. A program that ends before it passes the point is not killed, so assert on
    `killed`. `failpoint=None` runs it undisturbed.
    """
    armed = "" if failpoint is None else f"{_known(failpoint)}=kill@{at_pass}"
    surroundings = {**os.environ, **(env or {}), "HERMES_FAILPOINTS": armed}
    command = [sys.executable, *_named(program), *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=surroundings,
            start_new_session=True,
        )
        in_time = _watch(process, within)
        return Death(process.returncode, _text(out), _text(err), timed_out=not in_time)


def _watch(process: subprocess.Popen[bytes], within: float) -> bool:
    """Whether it ended by itself in time. It, and all of its group, are gone afterwards."""
    deadline = time.monotonic() + within
    try:
        while not (over := _is_over(process.pid)) and time.monotonic() < deadline:
            time.sleep(POLL)
        return over
    finally:
        # Not reaped yet, so the number of the group cannot be anybody else's.
        os.killpg(process.pid, signal.SIGKILL)
        _wait_for_others(process.pid)
        process.wait()


def _wait_for_others(group: int) -> None:
    """A kill is not a death: let those that were hit come to their end, but not for ever."""
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and _others_in(group):
        time.sleep(POLL)


def _others_in(group: int) -> bool:
    # The leader is a zombie that counts; whoever else is one has no parent left but the system.
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, _parent, its_group, *_ = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def _is_over(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _named(program: str | Path) -> Sequence[str]:
    return [str(program)] if isinstance(program, Path) else ["-m", program]


def _known(failpoint: str) -> str:
    names = [point.value for point in Point]
    if failpoint in names:
        return str(failpoint)
    near = difflib.get_close_matches(failpoint, names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(names)}"
    raise ValueError(f"there is no failpoint '{failpoint}'{hint}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
