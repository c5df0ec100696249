from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = "[pytest]\ntrio_mode = true\nfilterwarnings = error\n"
WORKS = """
import trio
from hermes_actors.values import ModelRequest, Outbound, RemoteCall, Source

async def test_wired(
    journal, event_log, scripted_model, fake_platform, fake_client, autojump_clock
):
    scripted_model.script("Hello.")
    journal.note("run.started", run="r", session="s", agent="main")
    reply = await scripted_model.respond(ModelRequest("r", "demo", ()), lambda delta: None)
    await fake_platform.typing(Source("fake", "1"), "r")
    await trio.sleep(3)
    journal.note("run.ended", run="r", state="completed", reason="ok")
    journal.note("hook.fired", run="r", hook="agent_loop_completed")
    await fake_platform.send(Outbound(Source("fake", "1"), reply.text))
    await fake_client.request(RemoteCall("c", "r", "t", "{}", 1))
    assert fake_platform.visible() == ["Hello."]
    assert event_log.kinds() == [
        "run.started", "model.called", "typing.sent", "run.ended", "hook.fired", "platform.sent"
    ]
    assert event_log.entries[3].at == 3

def test_without_trio(journal, event_log):
    journal.note("plugin.loaded")
    assert event_log.kinds() == ["plugin.loaded"]

def test_left_off_in_the_middle_on_purpose(journal, event_log):
    journal.note("run.started", run="r", session="s", agent="main")
    event_log.stays_open = True
"""
FAILS = """
from hermes_actors.testing import ScriptExhausted
from hermes_actors.values import ModelRequest

def test_open_run(journal):
    journal.note("run.started", run="r", session="s", agent="main")

def test_open_run_is_fine_but_not_what_followed_its_end(journal, event_log):
    event_log.stays_open = True
    journal.note("run.started", run="r", session="s", agent="main")
    journal.note("run.ended", run="r", state="stopped", reason="user_stop")
    journal.note("typing.sent", run="r")

async def test_hidden_by_a_broad_except(scripted_model, autojump_clock):
    try:
        await scripted_model.respond(ModelRequest("r", "demo", ()), lambda delta: None)
    except Exception:
        pass
"""
FOREIGN = """
import sys, pytest

@pytest.fixture
def journal():
    return "my own"

def test_mine(journal):
    assert journal == "my own"
    assert not {"trio", "msgspec", "hermes_actors.journal"} & set(sys.modules)
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest as somebody else would start it, in a project of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def project(folder: Path, source: str, settings: str = SETTINGS) -> Path:
    (folder / "pytest.ini").write_text(settings)
    (folder / "test_theirs.py").write_text(source)
    return folder


@pytest.mark.slow
def test_the_fixtures_work_in_another_project_without_any_setting_up(tmp_path: Path) -> None:
    done = run_pytest(project(tmp_path, WORKS))
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.slow
def test_a_broken_promise_fails_the_test_although_it_asserts_nothing(tmp_path: Path) -> None:
    done = run_pytest(project(tmp_path, FAILS))
    assert done.returncode == 1
    complaints = re.findall(
        r"(?m)^E +(?:AssertionError: )?(?:invariants are broken:\n)?(.*)", done.stdout
    )
    text = "\n".join(complaints)
    assert "I3: run 'r' started and never ended (entry 1)" in text
    assert "I4: run 'r' had ended, and then came typing.sent (entries 2, 3)" in text
    assert "call 1 of the model has no line in its script" in text
    assert "3 passed, 3 errors" in done.stdout


@pytest.mark.slow
def test_a_project_that_does_not_know_us_keeps_its_names_and_pays_nothing(tmp_path: Path) -> None:
    # Other plugins bring Trio along themselves, so here ours is the only one.
    alone = ("--disable-plugin-autoload", "-p", "hermes_actors.testing.fixtures")
    done = run_pytest(project(tmp_path, FOREIGN, settings="[pytest]\n"), *alone)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
