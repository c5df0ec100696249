"""The gateway as its owner meets it: a process, signals, exit codes, a home folder."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.supervisors.process import GatewayProcess, command

STUBBORN = '''
"""An adapter that misbehaves when it is to end; `how` says in which way."""
import trio
from hermes_actors.runtime import Actor

class Stubborn(Actor):
    def __init__(self, settings):
        self.how = settings["how"]
    async def started(self):
        self.spawn(getattr(self, self.how))
    async def swallows(self):
        while True:
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                pass
    async def computes(self):
        try:
            await trio.sleep_forever()
        finally:
            while True:
                pass
    async def shields(self):
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()
    async def works_long(self):
        await trio.sleep(3600)

def register(ctx):
    ctx.adapter("stubborn", Stubborn)
'''


def stubborn(folder: Path, how: str, drain: str, grace: str) -> GatewayProcess:
    (folder / "stubborn.py").write_text(STUBBORN)
    config = f"""
[gateway]
drain_timeout = "{drain}"
stop_grace = "{grace}"
[plugins]
enabled = ["stubborn:register"]
[adapters.api_server]
port = 0
[adapters.stubborn]
how = "{how}"
"""
    return GatewayProcess(folder / "home", config, plugins=folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_health_and_a_signal_ends_it_cleanly(
    tmp_path: Path, number: signal.Signals
) -> None:
    with GatewayProcess(tmp_path / "home") as gateway:
        url = gateway.wait_until_up()
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert json.load(answer)["status"] == "ok"
        gateway.signal(number)
        assert gateway.wait() == 0
    left = sorted(each.name for each in (tmp_path / "home").iterdir())
    assert left == ["api.key", "gateway.lock", "hermes.db", "test.toml"]
    assert f"gateway.ended reason={number.name} exit_code=0" in gateway.errors()


def test_ps_and_status_describe_the_running_gateway_and_refuse_when_there_is_none(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with GatewayProcess(home) as gateway:
        gateway.wait_until_up()
        tree = command("ps", home=home)
        names = [line.strip("├└│─ ").split("  ")[0] for line in tree.stdout.splitlines()]
        assert names == [
            "gateway",
            "hooks",
            "store",
            "sessions",
            "recovery",
            "adapters",
            "api_server",
        ]
        assert json.loads(command("ps", "--json", home=home).stdout)["name"] == "gateway"
        assert "is ok at http://127.0.0.1:" in command("status", home=home).stdout
        gateway.signal(signal.SIGTERM)
        gateway.wait()
    refused = command("ps", home=home)
    assert refused.returncode == 75
    assert "start one with 'hermes-actors gateway'" in refused.stderr


def test_a_home_has_one_gateway_and_the_second_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with GatewayProcess(home) as first:
        first.wait_until_up()
        with GatewayProcess(home) as second:
            assert second.wait() == 75
        assert f"another gateway (process {first.process.pid}) runs in" in second.errors()
        assert first.process.poll() is None


def test_kill_9_leaves_no_lock_behind_and_the_next_start_needs_no_hands(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with GatewayProcess(home) as gateway:
        gateway.wait_until_up()
        gateway.signal(signal.SIGKILL)
        assert gateway.wait() == -signal.SIGKILL
    assert command("status", home=home).returncode == 75
    with GatewayProcess(home) as gateway:
        gateway.wait_until_up()
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0


def test_a_wrong_configuration_ends_with_78_and_every_problem(tmp_path: Path) -> None:
    wrong = (
        '[gatway]\nx = 1\n[limits]\nmax_iterations = "many"\n[adapters.telegram]\ntoken = "1:a"\n'
    )
    with GatewayProcess(tmp_path / "home", wrong) as gateway:
        assert gateway.wait() == 78
    said = gateway.errors()
    assert "did you mean 'gateway'?" in said
    assert "limits.max_iterations" in said
    assert "adapters.telegram: this version cannot run it" in said


def test_a_plugin_that_cannot_be_loaded_keeps_the_gateway_from_starting(tmp_path: Path) -> None:
    with GatewayProcess(tmp_path / "home", '[plugins]\nenabled = ["no.such:thing"]\n') as gateway:
        assert gateway.wait() == 78
    assert "plugins.enabled: 'no.such:thing' cannot be loaded" in gateway.errors()


def test_a_store_of_a_newer_version_is_refused_with_78_and_keeps_its_bytes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    db = sqlite3.connect(home / "hermes.db")
    db.executescript(f"PRAGMA application_id = {0x4845524D}; PRAGMA user_version = 9999;")
    db.execute("CREATE TABLE future (x)")
    db.close()
    before = (home / "hermes.db").read_bytes()
    with GatewayProcess(home) as gateway:
        assert gateway.wait() == 78
    assert "start the newer version again" in gateway.errors()
    assert (home / "hermes.db").read_bytes() == before


def test_a_taken_port_ends_with_75_and_names_the_key_to_change(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with GatewayProcess(tmp_path, f"[adapters.api_server]\nport = {port}\n") as gateway:
            assert gateway.wait() == 75
    assert f"adapters.api_server.port: 127.0.0.1:{port} is in use" in gateway.errors()


def test_without_the_api_server_it_still_runs_and_says_that_it_is_off(tmp_path: Path) -> None:
    with GatewayProcess(tmp_path, "[adapters.api_server]\nenabled = false\n") as gateway:
        assert gateway.process.stdout is not None
        said = "".join(gateway.process.stdout.readline() for _ in range(5))
        assert "switched off" in said
        assert command("ps", home=tmp_path).returncode == 75
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0


def test_a_second_signal_cuts_what_the_first_one_lets_finish(tmp_path: Path) -> None:
    with stubborn(tmp_path, "works_long", drain="10m", grace="1m") as gateway:
        gateway.wait_until_up()
        gateway.signal(signal.SIGTERM)
        gateway.wait_for_error("gateway.stopping")
        assert gateway.process.poll() is None
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 75
    assert 'gateway.cut reason="SIGTERM again"' in gateway.errors()
    assert "store.closed" in gateway.errors()


def test_work_that_outlasts_the_drain_is_stopped_and_the_end_is_clean(tmp_path: Path) -> None:
    with stubborn(tmp_path, "works_long", drain="100ms", grace="5s") as gateway:
        gateway.wait_until_up()
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0
    assert "gateway.ended reason=SIGTERM exit_code=0" in gateway.errors()


@pytest.mark.slow
def test_a_child_that_will_not_end_cannot_outlive_the_watchdog(tmp_path: Path) -> None:
    ways = ("swallows", "computes", "shields")
    with ExitStack() as stack:
        gateways = {}
        for how in ways:
            (tmp_path / how).mkdir()
            process = stubborn(tmp_path / how, how, drain="100ms", grace="100ms")
            gateways[how] = stack.enter_context(process)
        for gateway in gateways.values():
            gateway.wait_until_up()
            gateway.signal(signal.SIGTERM)
        codes = {how: gateway.wait() for how, gateway in gateways.items()}
    assert codes == dict.fromkeys(ways, 75)
    for how, gateway in gateways.items():
        assert "watchdog: no end" in gateway.errors()
        assert f"Stubborn.{how}" in gateway.errors()


def test_the_key_never_reaches_the_log(tmp_path: Path) -> None:
    config = """
gateway = { log_level = "debug", log_format = "json" }
adapters.api_server.port = 0
"""
    with GatewayProcess(tmp_path / "home", config) as gateway:
        url = gateway.wait_until_up()
        key = (tmp_path / "home" / "api.key").read_text().strip()
        request = urllib.request.Request(
            f"{url}/api/tree?key={key}", headers={"Authorization": f"Bearer {key}"}
        )
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["name"] == "gateway"
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0
    lines = [json.loads(line) for line in gateway.errors().splitlines()]
    assert lines[0]["event"] == "gateway.started"
    assert key not in gateway.errors()
