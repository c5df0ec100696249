"""`hermes-actors chat`: a conversation in plain lines, over the API of a running gateway.

Ctrl-C while an answer is given asks the gateway to stop, and the answer ends with the stop report;
a second one leaves at once. The handler of the signal does not raise, so the stream is read on
where it was.
"""

from __future__ import annotations

import re
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

from adapters.cli.event_stream import NotAnswered, Place, events
from hermes_actors.errors import Refusal

_NOT_FOR_TERMINALS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LEAVE = ("/quit", "/exit")


class Talk:
    """One conversation. What the agent says is written to `out` as it comes."""

    def __init__(self, place: Place, session: str, out: TextIO) -> None:
        self._place, self.session, self._out = place, session, out
        self._run: str | None = None
        self._stopping = False

    def ask(self, text: str) -> bool:
        """Ask, and write the answer; True when the run has completed."""
        self._run, self._stopping, completed = None, False, False
        body = {"messages": [{"role": "user", "content": text}], "stream": True}
        with (
            self._stop_on_signal(),
            self._place.post("/v1/chat/completions", body, self._headers()) as answer,
        ):
            self._run = answer.getheader("X-Hermes-Run-Id")
            for place, chunk in events(iter(answer.readline, b"")):
                self._run = place.rpartition("/")[0] or self._run
                self._write(_words(chunk))
                completed = completed or _completes(chunk)
                if "error" in chunk and not chunk.get("choices"):
                    raise NotAnswered(str(chunk["error"].get("message")))
        self._write("\n")
        return completed

    def _headers(self) -> dict[str, str]:
        return {"X-Hermes-Session-Id": self.session}

    def _write(self, text: str) -> None:
        # What a model says must not be able to steer the terminal.
        self._out.write(_NOT_FOR_TERMINALS.sub("", text))
        self._out.flush()

    @contextmanager
    def _stop_on_signal(self) -> Iterator[None]:
        before = signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._stopping or self._run is None:
            raise KeyboardInterrupt
        self._stopping = True
        try:
            with self._place.post(f"/v1/runs/{self._run}/stop", {}, {}, patience=5.0):
                pass
        except Refusal as no:
            sys.stderr.write(f"\n{no}\n")


def chat(url: str, key: str, session: str | None, question: str | None) -> int:
    """Answer one question, or talk until the end of the input; the exit code."""
    talk = Talk(Place(url, key), session or f"chat-{secrets.token_hex(4)}", sys.stdout)
    if question is not None:
        try:
            return 0 if talk.ask(question) else 1
        except KeyboardInterrupt:
            return 130
    return _converse(talk)


def _converse(talk: Talk) -> int:
    sys.stderr.write(
        f"Session {talk.session}. Ctrl-C stops an answer, twice leaves; so do Ctrl-D and /quit.\n"
    )
    for line in _lines():
        if line in _LEAVE:
            break
        try:
            talk.ask(line)
        except NotAnswered as no:
            sys.stderr.write(f"{no}\n")
        except KeyboardInterrupt:
            return 130
    return 0


def _lines() -> Iterator[str]:
    """What the person types, without empty lines, until the input ends."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line:
            yield line


def _words(chunk: dict[str, Any]) -> str:
    choices = chunk.get("choices") or [{}]
    return str(choices[0].get("delta", {}).get("content") or "")


def _completes(chunk: dict[str, Any]) -> bool:
    choices = chunk.get("choices") or [{}]
    return choices[0].get("finish_reason") == "stop" and "hermes" not in chunk
