"""Server-sent events: bytes in, events out, however the bytes were cut.

Pure. Lines end in LF, CR or CRLF; a byte order mark and comments are skipped; several `data` lines
are one event. Data stays bytes: text is decoded with the JSON in it, when it is whole, so a
character that arrives in two pieces is no case of its own.

Two bounds. One event may not grow past `most_event`, and all bytes together not past `most_bytes`:
a server that never stops talking must not fill the memory. `TooLong` says which bound it was.
"""

from __future__ import annotations

import msgspec

_BOM = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """The server said more than anybody has asked for."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event. `kind` is empty where the server named none."""

    kind: str
    data: bytes


class SseParser:
    """Turns pieces of a stream into events. `lines` counts complete lines: signs of life."""

    def __init__(self, most_event: int = 8_000_000, most_bytes: int = 40_000_000) -> None:
        self.lines = 0
        self._most_event, self.most_bytes = most_event, most_bytes
        self._seen = 0
        self._begun = self._after_cr = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._kind = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that these bytes complete."""
        self._seen += len(data)
        if self._seen > self.most_bytes:
            raise TooLong(f"the reply is longer than {self.most_bytes:,} bytes")
        data = self._normal(data)
        if b"\n" not in data:
            self._keep(data)
            return []
        *lines, rest = b"".join((*self._pieces, data)).split(b"\n")
        self._size -= sum(map(len, self._pieces))
        self._pieces.clear()
        self.lines += len(lines)
        events = self._read(lines)
        self._keep(rest)
        return events

    def finish(self) -> list[SseEvent]:
        """The stream has ended. Some servers leave out the last empty line; it is added here."""
        return self.feed(b"\n\n") if self._begun or self._pieces else []

    def _normal(self, data: bytes) -> bytes:
        """The same bytes with LF as the only end of a line and without the mark at the start."""
        if not self._begun and data:
            data = b"".join((*self._pieces, data))
            self._pieces.clear()
            if len(data) < len(_BOM) and _BOM.startswith(data):
                return data
            self._begun = True
            data = data.removeprefix(_BOM)
        if self._after_cr and data:
            # That CR has already ended its line; this LF only belongs to it.
            data, self._after_cr = data.removeprefix(b"\n"), False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._pieces.append(rest)
            self._grow(len(rest))

    def _read(self, lines: list[bytes]) -> list[SseEvent]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(_value(line, 5))
                self._grow(len(line))
            elif not line:
                if self._data:
                    kind = self._kind.decode("utf-8", "replace")
                    events.append(SseEvent(kind, b"\n".join(self._data)))
                    self._data.clear()
                self._kind, self._size = b"", 0
            elif line.startswith(b"event:"):
                self._kind = _value(line, 6)
            elif line == b"data":
                self._data.append(b"")
        return events

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._most_event:
            raise TooLong(f"one event of the reply is longer than {self._most_event:,} bytes")


def _value(line: bytes, colon: int) -> bytes:
    return line[colon + 1 :] if line[colon : colon + 1] == b" " else line[colon:]
