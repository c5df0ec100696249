"""Secrets: where each comes from, and a wrapper that does not let it out by accident.

In the file a secret is "env:NAME", "file:PATH" or the value itself. It is looked up once, when
the file is read, so that a missing one is found at the start and not in the middle of a night.
A `Secret` shows its origin, never its value; only `reveal()` gives it, and that word is easy to
search for in a review. It hides from accidents, not from code that means to read it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

MASK = "***"
LITERAL = "literal"
_MOST = 65_536
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s]*\Z", re.IGNORECASE)
# Behind the user's name, up to the last "@" before the path, or up to the first one at all when
# somebody forgot to encode a slash; and in the query, where it is named.
_PASSWORDS = re.compile(
    r"(?<=://)[^/?#:@]*:([^/?#]+)@"
    r"|(?<=://)[^/?#:@]*:([^@]+)@"
    r"|[?&][^=&#?]{0,64}pass[^=&#?]{0,64}=([^&#]+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)


class SecretMissing(ValueError):
    """A secret is named but cannot be had. The message says why and what to do."""


class Secret:
    """A value that is not shown. `origin` is "env:NAME", "file:PATH" or "literal"."""

    __slots__ = ("_value", "origin")

    def __init__(self, value: str | None, origin: str = LITERAL) -> None:
        self._value, self.origin = value, origin

    @property
    def found(self) -> bool:
        """False when the secret was named but could not be had."""
        return self._value is not None

    def reveal(self) -> str:
        """The value itself. Hand it to the wire and to nobody else."""
        if self._value is None:
            raise SecretMissing(f"the secret '{self.origin}' was not found")
        return self._value

    def hidden(self) -> Iterator[str]:
        """The pieces of text that must not be read anywhere."""
        if self._value is not None:
            yield self._value

    def shown(self) -> str:
        """What may be printed in place of the value."""
        return MASK

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.origin})"

    def __str__(self) -> str:
        return self.shown()

    def __format__(self, specification: str) -> str:
        return format(self.shown(), specification)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        from hmac import compare_digest  # here: it costs more to import than this whole package

        mine, theirs = (repr((each.origin, each._value)).encode() for each in (self, other))
        return compare_digest(mine, theirs)

    def __hash__(self) -> int:
        return hash((self.origin, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not written out; pass on its origin and look it up there")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret is not written out; pass on its origin and look it up there")


class SecretUrl(Secret):
    """An address that may hold a password. Only the password is hidden, if there is one."""

    __slots__ = ()

    def hidden(self) -> Iterator[str]:
        for start, stop in self._passwords():
            password = (self._value or "")[start:stop]
            yield password
            yield unquote(password)

    def shown(self) -> str:
        if self._value is None or self.origin != LITERAL:
            return MASK
        shown, end = "", 0
        for start, stop in self._passwords():
            shown, end = shown + self._value[end:start] + MASK, stop
        return shown + self._value[end:]

    def _passwords(self) -> list[tuple[int, int]]:
        """Where the passwords stand: cut out by place, since a short one may occur elsewhere."""
        value = self._value or ""
        if _ADDRESS.match(value) is None:
            return [(0, len(value))]  # not an address: then all of it may be the secret
        return [match.span(match.lastindex or 0) for match in _PASSWORDS.finditer(value)]


def look_up(
    written: str, environ: Mapping[str, str], folder: Path, kind: type[Secret] = Secret
) -> Secret:
    """Find the secret that the file names; `SecretMissing` tells the owner what to do.

    A relative "file:PATH" starts at `folder`. White space around a value is cut off: it is never
    meant, and editors and `echo` add it.
    """
    if not points_elsewhere(written):
        return kind(_usable(written, "the value", "write a value, or 'env:NAME'"))
    scheme, _, name = written.partition(":")
    if not name:
        raise SecretMissing(f"'{scheme}:' names nothing; write '{scheme}:{_EXAMPLE[scheme]}'")
    value = _from_environment(name, environ) if scheme == "env" else _from_file(name, folder)
    return kind(value, written)


def points_elsewhere(written: str) -> bool:
    """True when the text is the place of a secret and not the secret itself."""
    return written.startswith(("env:", "file:"))


def origin_of(written: str) -> str:
    """The place that the text names, fit to be shown; a value in its stead is left out."""
    scheme, _, name = written.partition(":")
    if not points_elsewhere(written):
        return LITERAL
    return written if scheme == "file" or _NAME.fullmatch(name) else f"{scheme}:"


def revealed(value: str | Secret) -> str:
    """The text of a setting that may or may not be a secret."""
    return value.reveal() if isinstance(value, Secret) else value


def exposed(secret: Secret, folder: Path) -> str | None:
    """The file of this secret if others on the machine may read or change it."""
    if not secret.origin.startswith("file:"):
        return None
    path = folder / Path(secret.origin.removeprefix("file:")).expanduser()
    return str(path) if open_to_others(path) else None


def open_to_others(path: Path) -> bool:
    """True when group or world may read or write this file."""
    try:
        return bool(path.stat().st_mode & 0o066)
    except OSError:  # gone since it was read: then nobody reads it either
        return False


_EXAMPLE = {"env": "NAME", "file": "PATH"}


def _usable(value: str, whose: str, remedy: str) -> str:
    value = value.strip()
    if not value:
        raise SecretMissing(f"{whose} is empty; {remedy}")
    if "\0" in value or len(value) > _MOST:
        raise SecretMissing(f"{whose} is no secret: it is too long or holds a NUL; {remedy}")
    return value


def _from_environment(name: str, environ: Mapping[str, str]) -> str:
    if not _NAME.fullmatch(name):  # perhaps the secret itself: so it is not repeated
        raise SecretMissing("'env:' wants the name of an environment variable after it")
    if name not in environ:
        raise SecretMissing(f"the environment variable {name} is not set; export it, then retry")
    return _usable(environ[name], f"the environment variable {name}", "give it a value")


def _from_file(name: str, folder: Path) -> str:
    path = folder / Path(name).expanduser()
    try:
        with path.open("rb") as file:
            text = file.read(_MOST * 4 + 1).decode()
    except UnicodeDecodeError:
        raise SecretMissing(f"the file {path} is not UTF-8 text") from None
    except (OSError, ValueError) as failure:
        raise SecretMissing(f"the file {path} cannot be read: {_plainly(failure)}") from None
    return _usable(text, f"the file {path}", "write the secret into it")


def _plainly(failure: Any) -> str:
    number = getattr(failure, "errno", None)
    return os.strerror(number).lower() if number else "it is not a usable path"
