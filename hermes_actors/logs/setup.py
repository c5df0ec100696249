"""Wires the journal, our own log calls and foreign loggers into one stream of lines.

Everything passes the redactor last, after all text has been put together, so no part of the house
has to remember it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Literal

import structlog

from hermes_actors.journal import Entry
from hermes_actors.logs.levels import LEVELS, level_of
from hermes_actors.logs.lines import LineWriter
from hermes_actors.logs.render import Event, as_json, as_text
from hermes_actors.redact import Redactor

Format = Literal["console", "json"]


class Logs:
    """The running log: a journal reader, and the way to end it."""

    def __init__(self, writer: LineWriter, redactor: Redactor, level: int, form: Format) -> None:
        self._writer, self._redactor, self._level = writer, redactor, level
        self._render = as_json if form == "json" else as_text

    def read(self, entry: Entry) -> None:
        """A journal reader: hand it to `Journal(…)` or `journal.subscribe`."""
        level = level_of(entry.kind)
        if level >= self._level:
            self.emit(level, entry.kind, {"at": entry.at, **_nested(entry.data)})

    def emit(self, level: int, event: str, data: dict[str, Any]) -> None:
        """Write one line at this level, unless it is too quiet to be heard."""
        if level >= self._level:
            name = logging.getLevelName(level).lower()
            line = {"at": data.pop("at", None) or time.time(), "level": name, "event": event}
            self._writer.write(self._render(None, name, self._redactor.value({**line, **data})))

    def traceback(self, error: BaseException) -> str:
        """An exception with its causes, fit for a line."""
        return self._redactor.exception(error)

    def close(self) -> None:
        """Write what is left and let go of the loggers."""
        root = logging.getLogger()
        root.handlers = [each for each in root.handlers if not isinstance(each, _Foreign)]
        structlog.reset_defaults()
        self._writer.close()


def start_logging(
    writer: LineWriter, redactor: Redactor, *, level: str = "info", form: Format = "console"
) -> Logs:
    """Send structlog, the standard library's loggers and (by `Logs.read`) the journal here."""
    logs = Logs(writer, redactor, LEVELS[level], form)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, _hand_to(logs)],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_Foreign(logs)]
    root.setLevel(max(LEVELS[level], logging.INFO))
    # These say at `info` what the journal says better.
    for chatty in ("httpx", "httpcore", "anycorn.error"):
        logging.getLogger(chatty).setLevel(max(LEVELS[level], logging.WARNING))
    return logs


def _hand_to(logs: Logs) -> Callable[[Any, str, Event], str]:
    def hand_on(_logger: Any, method: str, event: Event) -> str:
        data = dict(event)
        words, error = str(data.pop("event", "")), data.pop("exc_info", None)
        if isinstance(error, BaseException):
            data["exception"] = logs.traceback(error)
        logs.emit(
            LEVELS.get("error" if method == "exception" else method, logging.INFO), words, data
        )
        raise structlog.DropEvent

    return hand_on


class _Foreign(logging.Handler):
    """What libraries say through the standard library."""

    def __init__(self, logs: Logs) -> None:
        super().__init__()
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        data: dict[str, Any] = {"at": record.created, "logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            data["exception"] = self._logs.traceback(record.exc_info[1])
        self._logs.emit(record.levelno, record.getMessage(), data)


def _nested(data: dict[str, Any]) -> dict[str, Any]:
    """Ids that would be taken for the line's own fields get a name that cannot be mistaken."""
    taken = {"at", "level", "event"}
    return {(f"{key}_" if key in taken else key): value for key, value in data.items()}
