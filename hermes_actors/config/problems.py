"""What is wrong with a configuration, in words that say where and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from msgspec import Struct

MOST_TOLD = 50
"""More lines than this nobody reads."""
_BARE = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII)


class Problem(Struct, frozen=True):
    """One thing that is wrong: the dotted key, the reason, and the name that was perhaps meant."""

    key: str
    reason: str
    nearest: str | None = None

    def told(self, file: str) -> str:
        """One line: "file: key: reason; did you mean 'x'?"."""
        where = f"{file}: {self.key}" if self.key else file
        hint = f"; did you mean '{self.nearest}'?" if self.nearest else ""
        return f"{where}: {self.reason}{hint}"


def under(at: str, name: str) -> str:
    """The dotted key of `name` in the table `at`, quoted where TOML wants quotes."""
    if not _BARE.fullmatch(name):
        name = '"' + shortened(name) + '"'
    return f"{at}.{name}" if at else name


def shortened(name: str) -> str:
    """A name that a person can read in one line, whatever the file holds."""
    plain = name.encode("unicode_escape").decode().replace('"', '\\"')
    return plain if len(plain) <= 80 else plain[:77] + "..."


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was most likely meant, or None when none is close."""
    close = difflib.get_close_matches(name[:80].lower().replace("-", "_"), sorted(names), n=1)
    return close[0] if close else None


def listed(names: Iterable[str]) -> str:
    """Names for a sentence: 'a', 'b', 'c'."""
    return ", ".join(f"'{name}'" for name in names)
