"""`hermes-actors chat` against a gateway in a process of its own, with real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervisors.process import PATIENCE, GatewayProcess, command


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("chat") / "home"
    with GatewayProcess(folder) as gateway:
        gateway.wait_until_up()
        yield folder


def begin(home: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "supervisors.main", "chat", "--home", str(home), *arguments],
        env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=0,
    )


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    said = ""
    while words not in said:
        letter = process.stdout.read(1)
        assert letter, said
        said += letter
    return said


def test_one_question_prints_the_answer_and_nothing_else(home: Path) -> None:
    done = command("chat", "-q", "say hello world", home=home)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello world\n", "")


def test_a_conversation_goes_on_under_its_name(home: Path) -> None:
    for text in ("say one", "say two"):
        assert command("chat", "--session", "tea", "-q", text, home=home).returncode == 0
    with begin(home, "--session", "tea") as talk:
        said, told = talk.communicate("say three\n\n/help\n/quit\nsay never\n", timeout=PATIENCE)
        assert talk.returncode == 0
    assert said.startswith("three\n")
    assert "/stop" in said, "commands are answered by the gateway"
    assert "never" not in said
    assert "Session tea." in told


def test_control_c_stops_the_answer_and_shows_the_report(home: Path) -> None:
    with begin(home, "-q", "count slowly to 100") as talk:
        said = read_until(talk, "1")
        talk.send_signal(signal.SIGINT)
        rest, told = talk.communicate(timeout=PATIENCE)
        assert talk.returncode == 1, "the run did not complete"
    assert "Stopped" in said + rest, told
    assert "20" not in rest


def test_after_a_stop_the_conversation_goes_on(home: Path) -> None:
    with begin(home) as talk:
        assert talk.stdin is not None
        talk.stdin.write("count slowly to 100\n")
        read_until(talk, "1")
        talk.send_signal(signal.SIGINT)
        read_until(talk, "Stopped")
        said, _ = talk.communicate("say still here\n", timeout=PATIENCE)
        assert talk.returncode == 0
    assert said.endswith("still here\n")


def test_a_gateway_that_is_not_there_is_told_with_what_to_do(tmp_path: Path) -> None:
    refused = command("chat", "-q", "hello", home=tmp_path)
    assert refused.returncode == 75
    assert "start one with 'hermes-actors gateway'" in refused.stderr


def test_a_refusal_of_the_gateway_is_shown_in_its_own_words(home: Path) -> None:
    refused = command("chat", "--session", "x" * 300, "-q", "hello", home=home)
    assert refused.returncode == 75
    assert "X-Hermes-Session-Id: at most 256 characters" in refused.stderr


def test_a_gateway_that_dies_in_the_middle_of_an_answer_is_told(tmp_path: Path) -> None:
    with GatewayProcess(tmp_path / "home") as gateway:
        gateway.wait_until_up()
        with begin(tmp_path / "home", "-q", "count slowly to 100") as talk:
            read_until(talk, "1 2")
            gateway.signal(signal.SIGKILL)
            _, told = talk.communicate(timeout=PATIENCE)
    assert talk.returncode == 75
    assert "lost in the middle of the answer" in told
