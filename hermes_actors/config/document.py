"""hermes.toml as it lies on the disk: where it is, and that it is TOML at all."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from hermes_actors.config.values import location
from hermes_actors.errors import ConfigError

CONFIG_VARIABLE = "HERMES_ACTORS_CONFIG"
HOME_VARIABLE = "HERMES_ACTORS_HOME"
FILE_NAME = "hermes.toml"
DEFAULT_HOME = "~/.hermes-actors"
_PYTHON_TUPLE = re.compile(r"\('(.*?)',?\)")
_MOST_BYTES = 4 * 1024 * 1024


class Document:
    """A file that is TOML, and nothing more is known yet. `path` is None when there is no file.

    It holds secrets in the clear, so it is no struct: whoever prints it or writes it out gets its
    path and nothing else.
    """

    __slots__ = ("environ", "home", "path", "tables")

    def __init__(
        self, path: Path | None, home: Path, tables: dict[str, Any], environ: Mapping[str, str]
    ) -> None:
        self.path, self.home, self.tables, self.environ = path, home, tables, environ

    @property
    def name(self) -> str:
        """What problems call this file."""
        return str(self.path or "(no file)")

    @property
    def folder(self) -> Path:
        """Where relative paths in the file begin."""
        return self.path.absolute().parent if self.path else Path.cwd()

    def enabled_plugins(self) -> tuple[str, ...]:
        """What [plugins] names. Wrong types are passed over here; `judge` will tell of them."""
        plugins = self.tables.get("plugins")
        names = plugins.get("enabled") if isinstance(plugins, dict) else None
        listed = names if isinstance(names, list) else []
        return tuple(each for each in listed if isinstance(each, str))

    def __repr__(self) -> str:
        return f"Document({self.name})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Document is not written out: it holds secrets; read the file again")


def read(
    config: str | Path | None = None,
    home: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Document:
    """Find the file and parse it; `ConfigError` if it cannot be read or is not TOML."""
    environ = os.environ if environ is None else environ
    wish = home or environ.get(HOME_VARIABLE) or None
    early_home = _expanded(wish or DEFAULT_HOME).absolute()
    path = _find(config or environ.get(CONFIG_VARIABLE) or None, early_home)
    tables = _parsed(path) if path else {}
    final_home = early_home if wish else _home_in(tables, path, early_home)
    return Document(path, final_home, tables, environ)


def _find(wish: str | Path | None, home: Path) -> Path | None:
    if wish is not None:
        return _expanded(wish)
    # `lexists`: a link to nowhere is a mistake to report, not a file that is not there.
    places = (Path(FILE_NAME), home / FILE_NAME)
    return next((place for place in places if os.path.lexists(place)), None)


def _expanded(path: str | Path) -> Path:
    try:
        return location(str(path))
    except ValueError as wrong:
        raise ConfigError([f"{str(path)!r}: {wrong}"]) from None


def _home_in(tables: dict[str, Any], path: Path | None, otherwise: Path) -> Path:
    gateway = tables.get("gateway")
    home = gateway.get("home") if isinstance(gateway, dict) else None
    if path is None or home is None:
        return otherwise
    try:
        return path.absolute().parent / location(home)
    except ValueError:  # told again by `judge`, with its key and beside all other problems
        return otherwise


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as wrong:
        raise ConfigError([f"{path}: {_where_first(str(wrong))}"]) from None
    except RecursionError:
        raise ConfigError([f"{path}: lists or tables are nested too deeply"]) from None
    except ValueError:  # from `int` on absurdly long digits; everything else is a TOMLDecodeError
        raise ConfigError([f"{path}: a number has too many digits"]) from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as failure:
        reason = (failure.strerror or "cannot be read").lower()
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None
    if len(data) > _MOST_BYTES:
        raise ConfigError([f"{path}: is larger than {_MOST_BYTES} bytes; is it the right file?"])
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise ConfigError([f"{path}: line {line}: is not UTF-8 text; save it as UTF-8"]) from None


def _where_first(message: str) -> str:
    """The message of the parser with its place in front, and tables written as in the file."""
    reason, found, where = message.rstrip(")").rpartition(" (at ")
    reason = _PYTHON_TUPLE.sub(_as_header, reason)
    return f"{where}: {reason[:1].lower()}{reason[1:]}" if found else message


def _as_header(keys: re.Match[str]) -> str:
    return "[" + keys[1].replace("', '", ".") + "]"
