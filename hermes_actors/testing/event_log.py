"""Everything that happened, in order, to be asserted on.

An `EventLog` is a reader of the journal that forgets nothing. It is saved as one JSON object per
line, and the JSON log of a running gateway is read just the same: a log from a test, from a
simulation and from production are one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import trio

from hermes_actors.journal import Entry, Journal

_encoder = msgspec.json.Encoder(enc_hook=repr)
_decoder = msgspec.json.Decoder(dict[str, Any])


class DamagedLog(ValueError):
    """A line of a file is no entry; the message names the file, the line and the reason."""


class EventLog:
    """Keeps each entry it is called with.

    >>> log = EventLog()
    >>> journal = Journal(log)
    >>> journal.note("run.started", run="r1", session="s1", agent="main")
    >>> log.kinds()
    ['run.started']
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = list(entries)
        self.stays_open = False
        """Set it when a test leaves off in the middle: then unfinished work is no violation."""

    def __call__(self, entry: Entry) -> None:
        self.entries.append(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def of(self, *kinds: str, **ids: Any) -> EventLog:
        """The entries of these kinds that carry these ids. `"run."` means every kind of run."""
        return EventLog(
            entry
            for entry in self.entries
            if (not kinds or any(_is_of(entry.kind, kind) for kind in kinds))
            and all(key in entry.data and entry.data[key] == ids[key] for key in ids)
        )

    def without(self, *kinds: str) -> EventLog:
        """The entries of all other kinds."""
        return EventLog(
            entry for entry in self.entries if not any(_is_of(entry.kind, kind) for kind in kinds)
        )

    def kinds(self) -> list[str]:
        """What happened, in order."""
        return [entry.kind for entry in self.entries]

    def lines(self) -> list[str]:
        """The whole log as text, one line each; equal logs give equal lines."""
        return [_line(entry) for entry in self.entries]

    def save(self, path: Path) -> None:
        """Write one JSON object per line. What JSON cannot say is written as its `repr`."""
        path.write_bytes(b"".join(_encoder.encode(entry) + b"\n" for entry in self.entries))

    @classmethod
    def load(cls, path: Path) -> EventLog:
        """Read what `save` wrote, or what a gateway logged in the format `json`.

        `number` is then the line in the file, since a gateway's file may hold several processes
        that each began to count at one. A last line without its end is what a killed writer
        leaves, and is left out; any other line that cannot be read raises `DamagedLog`.
        """
        *whole, _torn = path.read_bytes().split(b"\n")
        lines = [(number, line) for number, line in enumerate(whole, 1) if line.strip()]
        return cls(_read(line, number, path) for number, line in lines)


def recorded(log: EventLog) -> Journal:
    """A journal that writes to `log` and takes its time from Trio, so that equal runs are equal."""
    return Journal(log, remember=0, clock=_now)


def _now() -> float:
    return trio.current_time() if trio.lowlevel.in_trio_run() else 0.0


def _is_of(kind: str, wanted: str) -> bool:
    return kind.startswith(wanted) if wanted.endswith(".") else kind == wanted


def _line(entry: Entry) -> str:
    ids = " ".join(f"{key}={value}" for key, value in entry.data.items())
    return f"{entry.number:4d} {entry.at:9.3f}  {entry.kind} {ids}".rstrip()


def _read(line: bytes, number: int, path: Path) -> Entry:
    try:
        return _entry(_decoder.decode(line), number)
    except (msgspec.DecodeError, KeyError, TypeError) as problem:
        raise DamagedLog(
            f"{path}:{number}: this line is no entry of a log ({problem}); "
            "a gateway writes such lines with the log format 'json'"
        ) from problem


def _entry(line: dict[str, Any], number: int) -> Entry:
    if line.keys() >= {"kind", "data"}:
        return Entry(number, float(line["at"]), str(line["kind"]), dict(line["data"]))
    about = {"at", "level", "event"}
    data = {key: value for key, value in line.items() if key not in about}
    return Entry(number, float(line["at"]), str(line["event"]), data)
