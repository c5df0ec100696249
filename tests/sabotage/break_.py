"""One bug that somebody could write on a tired evening."""

from __future__ import annotations

from pathlib import Path

import msgspec


class StaleBreak(Exception):
    """The text that a break replaces is not there exactly once; the list needs an update."""


class Break(msgspec.Struct, frozen=True):
    """In `file`, `old` becomes `new`; then at least one of `tests` must fail."""

    why: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def broken(self, text: str) -> str:
        """The text of the file with the bug in it."""
        if (count := text.count(self.old)) != 1:
            raise StaleBreak(
                f"'{self.why}': {self.file} has its text {count} times; the code has moved on, so "
                "write the break anew in tests/sabotage, or drop it if it cannot happen any more"
            )
        return text.replace(self.old, self.new)

    def apply(self, root: Path) -> None:
        """Break the file below `root`, which must be a copy."""
        file = root / self.file
        file.write_text(self.broken(file.read_text()))
