"""Programs that run in processes of their own: limits, locks and other users are per process."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw

from hermes_actors.errors import StoreRefused
from hermes_actors.store.migrations import known
from hermes_actors.store.writer import Writer
from tests.hermes_actors.store.house import note, settings_in

ROOT = Path(__file__).parents[3]


def run_child(program: str, *args: str, **environment: str) -> Any:
    """What the child says at its end, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hermes_actors.store.children", program, *args],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def start_child(program: str, *args: str) -> subprocess.Popen[bytes]:
    """A child that has said "ready" and now waits for the end of its input."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.hermes_actors.store.children", program, *args],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


def end_child(child: subprocess.Popen[bytes]) -> None:
    child.communicate(timeout=30)


def attempt(writer: Writer, name: str, content: str = "") -> str:
    (result,) = writer.commit_together([note(name, content)])
    try:
        result.unwrap()
    except StoreRefused as no:
        return no.kind
    return "written"


def full(folder: str) -> list[str]:
    """Write until the system refuses to make the file larger, then be given more room."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer, said = Writer(settings_in(Path(folder))), list[str]()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    for number in range(100):
        said.append(attempt(writer, f"n{number:03}", "x" * 50_000))
        if said[-1] != "written":
            break
    said.append(attempt(writer, "still full", "x" * 50_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    said.append(attempt(writer, "room again", "x" * 50_000))
    writer.close()
    return said


def read_only(folder: str) -> list[str]:
    """As somebody who may not write, then as somebody who may."""
    path = Path(settings_in(Path(folder)).path)
    known()  # read while we may: the other user may not be able to see this code
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    path.chmod(0o444)
    writer = Writer(settings_in(Path(folder)))
    said = [attempt(writer, "a"), attempt(writer, "b")]
    for each in path.parent.iterdir():
        each.chmod(0o644)  # the files beside it were made in its image
    said.append(attempt(writer, "c"))
    writer.close()
    return said


def locked(folder: str) -> None:
    """Hold the write lock until the input ends."""
    db = apsw.Connection(settings_in(Path(folder)).path)
    db.execute("BEGIN IMMEDIATE")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    db.close()


def migrate(folder: str) -> str:
    Writer(settings_in(Path(folder))).close()
    return "done"


if __name__ == "__main__":
    programs = {each.__name__: each for each in (full, read_only, locked, migrate)}
    answer = programs[sys.argv[1]](*sys.argv[2:])
    if answer is not None:
        sys.stdout.write(json.dumps(answer))
