"""Reading server-sent events line by line."""

from __future__ import annotations

import io

import pytest

from adapters.cli.chat import Talk
from adapters.cli.event_stream import Place, events
from adapters.cli.gateway_client import GatewayUnreachable


def test_events_come_with_the_place_that_was_last_told_and_end_with_done() -> None:
    lines = [b": hello\n", b"\n", b'data: {"a": 1}\r\n', b"id: r/7\n", b'data: {"b": 2}\n']
    lines += [b"event: x\n", b'data: {"c": 3}\n', b"data: [DONE]\n", b'data: {"never": 1}\n']
    assert list(events(iter(lines))) == [("", {"a": 1}), ("r/7", {"b": 2}), ("r/7", {"c": 3})]


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    out = io.StringIO()
    Talk(Place("", ""), "s", out)._write("a\x1b[2Jb\x07\x9bc\n\td\r")
    assert out.getvalue() == "a[2Jbc\n\td"


def test_a_second_signal_leaves_whatever_became_of_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    talk = Talk(Place("http://127.0.0.1:1", "key"), "s", io.StringIO())
    with pytest.raises(KeyboardInterrupt):
        talk._on_signal(2, None)  # there is no run yet that could be stopped
    talk._run = "run_1"
    talk._on_signal(2, None)
    assert "does not answer" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        talk._on_signal(2, None)


def test_a_stream_that_breaks_off_is_no_end() -> None:
    broken = events(iter([b'data: {"choices": []}\n', b""]))
    assert next(broken) == ("", {"choices": []})
    with pytest.raises(GatewayUnreachable, match="lost in the middle of the answer"):
        next(broken)
