"""A real gateway, in a process of its own, and what its log says."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_actors.testing import EventLog, check

SETTINGS = """
[gateway]
log_level = "debug"
log_format = "json"
[adapters.api_server]
port = 0
"""


class House:
    """A folder with a configuration; all gateways that run in it write one log."""

    def __init__(self, folder: Path) -> None:
        self.home, self.config, self.log = folder / "home", folder / "c.toml", folder / "log"
        self.config.write_text(SETTINGS)
        self.gateways = 0

    @contextmanager
    def gateway(self, ended_by: signal.Signals) -> Iterator[None]:
        """A gateway that is up; ended by this signal when the block is."""
        self.gateways += 1
        where = ["--home", str(self.home), "--config", str(self.config)]
        command = [sys.executable, "-m", "supervisors.main", "gateway", *where]
        with (
            self.log.open("ab") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process,
        ):
            try:
                assert process.stdout is not None
                assert b"is up" in process.stdout.readline(), self.log.read_text()
                while self.log.read_bytes().count(b'"api_server.up"') < self.gateways:
                    time.sleep(0.01)  # lines are written by a thread, a moment later
                yield
                process.send_signal(ended_by)
                process.wait(30)
            finally:
                process.kill()


@pytest.mark.slow
def test_the_log_of_a_gateway_that_ran_and_ended_breaks_nothing(tmp_path: Path) -> None:
    house = House(tmp_path)
    with house.gateway(signal.SIGTERM):
        pass
    log = EventLog.load(house.log)
    assert log.kinds()[0] == "gateway.started"
    assert {entry["actor"] for entry in log.of("actor.started")} >= {"store", "api_server"}
    assert check(log) == []
    without_an_end = log.entries[: log.kinds().index("gateway.stopping")]
    assert {str(violation)[:3] for violation in check(without_an_end)} == {"I8:"}
    assert check(without_an_end, complete=False) == []


@pytest.mark.slow
def test_what_a_killed_gateway_left_open_is_forgiven_when_the_next_one_starts(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)
    with house.gateway(signal.SIGKILL):
        pass
    assert check(EventLog.load(house.log)) != []
    with house.gateway(signal.SIGTERM):
        pass
    assert EventLog.load(house.log).kinds().count("gateway.started") == 2
    assert check(EventLog.load(house.log)) == []
