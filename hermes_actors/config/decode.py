"""Raw TOML tables to a `Config`, with every problem found in one walk.

msgspec stops at the first thing it dislikes, and a person with five mistakes would start five
times. So the walk is ours: tables beside struct types, key by key; each single value is still
checked by msgspec against its annotated type. A value that cannot be read is replaced by its
default, only so that the walk can go on: whoever sees a problem must not use the result.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import FieldInfo

from hermes_actors.config.keys import Fields, all_keys, core_of, fields_of, table_kind
from hermes_actors.config.problems import MOST_TOLD, Problem, nearest, under
from hermes_actors.config.schema import Config
from hermes_actors.config.secrets import Secret, SecretMissing, look_up, origin_of, points_elsewhere
from hermes_actors.config.single import base_of, choice, known, single
from hermes_actors.config.table import Table
from hermes_actors.config.values import (
    Guessed,
    Known,
    Others,
    Schemes,
    Strength,
    kind_of,
    marker,
)

_UNREAD: Any = object()
_DEEPEST = 32
_SOUNDS_SECRET = re.compile(
    r"token|secret|passw|credential|authorization|api.?key|[_-]key$|^key$", re.IGNORECASE
)


class Surroundings(Struct, frozen=True):
    """What the words of a file may refer to."""

    folder: Path
    environ: Mapping[str, str]
    agents: frozenset[str]
    providers: frozenset[str]
    adapters: frozenset[str] = frozenset()


class Decoder:
    """One walk through one file. Afterwards its three collections hold what it met."""

    def __init__(self, around: Surroundings) -> None:
        self.problems: list[Problem] = []
        self.secrets: list[tuple[str, Secret]] = []
        self.written: set[str] = set()
        self._around = around
        self._switched_off = 0

    def config(self, raw: dict[str, Any]) -> Config:
        """The configuration; to be trusted only if `problems` is empty."""
        read: Config = self._table(Config, raw, "")
        return read

    def _table(self, kind: type[Table], raw: Any, at: str) -> Any:
        if isinstance(raw, str) and kind.shorthand:
            raw = {kind.shorthand: raw}
        if not isinstance(raw, dict):
            return self._wrong(at, f"expected a table, got {kind_of(raw)}")
        off = raw.get("enabled") is False
        self._switched_off += off
        read = self._filled(kind, raw, at)
        self._switched_off -= off
        return read

    def _filled(self, kind: type[Table], raw: dict[str, Any], at: str) -> Any:
        fields, values = fields_of(kind), dict[str, Any]()
        for name, value in raw.items():
            key = under(at, name)
            self.written.add(key)
            if name not in fields or marker(fields[name].type, Others) is not None:
                self._stranger(fields, values, name, value, key)
            elif (read := self._value(fields[name].type, value, key)) is not _UNREAD:
                values[name] = read
        needed = [name for name, field in fields.items() if field.required]
        for name in needed:
            if name not in raw:
                self._absent(under(at, name), fields[name])
        return kind(**values) if values.keys() >= {*needed} else _UNREAD

    def _stranger(
        self, fields: Fields, values: dict[str, Any], name: str, raw: Any, key: str
    ) -> None:
        home = next((each for each, field in fields.items() if marker(field.type, Others)), None)
        if home is None:
            self._wrong(key, "unknown key", self._meant(name, fields))
        elif name not in self._around.adapters:
            names = ({*fields} - {home}) | self._around.adapters
            reason = "unknown key: no adapter of this name exists and no enabled plugin brings one"
            self._wrong(key, reason, self._meant(name, names))
        elif not isinstance(raw, dict):
            self._wrong(key, f"expected a table, got {kind_of(raw)}")
        else:
            values.setdefault(home, {})[name] = self._free(raw, key)

    def _absent(self, key: str, field: FieldInfo) -> None:
        if self._switched_off:
            return  # a door that is switched off needs no key
        secret = base_of(core_of(field.type)) is Secret
        how = f'; write {field.name} = "env:NAME" or "file:PATH"' if secret else ""
        self._wrong(key, f"is missing{how}")

    def _value(self, annotation: Any, raw: Any, key: str) -> Any:
        core = core_of(annotation)
        if (kind := table_kind(core)) is not None:
            return self._table(kind, raw, key)
        match typing.get_origin(core), typing.get_args(core):
            case origin, (item, _) if origin is tuple:
                return self._list(item, raw, key)
            case origin, (name, value) if origin is dict:
                return self._named(name, value, raw, key)
        return self._single(core, raw, key)

    def _list(self, item: Any, raw: Any, key: str) -> Any:
        if not isinstance(raw, list):
            name = key.rpartition(".")[2]
            how = f'; write {name} = ["…"]' if isinstance(raw, str) else ""
            return self._wrong(key, f"expected a list, got {kind_of(raw)}{how}")
        read = [self._value(item, each, f"{key}[{place}]") for place, each in enumerate(raw)]
        return tuple(each for each in read if each is not _UNREAD)

    def _named(self, name: Any, value: Any, raw: Any, key: str) -> Any:
        if not isinstance(raw, dict):
            return self._wrong(key, f"expected a table, got {kind_of(raw)}")
        read = dict[str, Any]()
        for each, inner in raw.items():
            at = under(key, each)
            named = self._value(name, each, at)
            found = self._free(inner, at) if value is Any else self._value(value, inner, at)
            if named is not _UNREAD and found is not _UNREAD:
                read[each] = found
        return read

    def _single(self, annotation: Any, raw: Any, key: str) -> Any:
        base = base_of(annotation)
        if marker(annotation, Guessed) is not None:
            return self._guess(raw, key)
        if isinstance(base, type) and issubclass(base, Secret):
            return self._secret(annotation, base, raw, key)
        try:
            if typing.get_origin(annotation) is Literal:
                return choice(typing.get_args(annotation), raw)
            if (name := marker(annotation, Known)) is not None:
                return known(name.what, self._names(name.what), raw)
            return single(annotation, raw)
        except ValueError as unfit:
            return self._wrong(key, str(unfit), getattr(unfit, "nearest", None))

    def _names(self, what: str) -> frozenset[str]:
        return self._around.agents if what == "agent" else self._around.providers

    def _secret(self, annotation: Any, kind: type[Secret], raw: Any, key: str) -> Any:
        if not isinstance(raw, str):
            reason = f'expected "env:NAME", "file:PATH" or the value as text, got {kind_of(raw)}'
            return self._wrong(key, reason)
        try:
            secret = look_up(raw, self._around.environ, self._around.folder, kind)
        except SecretMissing as missing:
            if not self._switched_off:
                self._wrong(key, str(missing))
            return kind(None, origin_of(raw))
        self.secrets.append((key, secret))
        self._weigh(annotation, secret.reveal(), key)
        return secret

    def _weigh(self, annotation: Any, value: str, key: str) -> None:
        strength, schemes = marker(annotation, Strength), marker(annotation, Schemes)
        if strength and len(value) < strength.characters:
            self._wrong(key, f"needs at least {strength.characters} characters, has {len(value)}")
        elif strength and len({*value}) < 5:
            self._wrong(key, "is too easy to guess: it has fewer than 5 different characters")
        if schemes and not value.startswith(tuple(f"{name}://" for name in schemes.names)):
            self._wrong(key, "must begin with " + " or ".join(f"{n}://" for n in schemes.names))

    def _guess(self, raw: Any, key: str) -> Any:
        if not isinstance(raw, str):
            return self._wrong(key, f"expected text, got {kind_of(raw)}")
        name = key.rpartition(".")[2].strip('"')
        if points_elsewhere(raw) or (raw.strip() and _SOUNDS_SECRET.search(name)):
            return self._secret(Secret, Secret, raw, key)
        return raw

    def _free(self, raw: Any, key: str, depth: int = _DEEPEST) -> Any:
        """A table of a plugin: any shape, but what looks like a secret becomes one."""
        if depth == 0:
            return self._wrong(key, f"is nested more than {_DEEPEST} levels deep")
        if isinstance(raw, dict):
            return {
                name: self._free(value, under(key, name), depth - 1) for name, value in raw.items()
            }
        if isinstance(raw, list):
            return [self._free(value, key, depth - 1) for value in raw]
        return self._guess(raw, key) if isinstance(raw, str) else raw

    def _meant(self, name: str, names: Collection[str]) -> str | None:
        """A guess takes time, and a file of another kind holds thousands of strange names."""
        if len(self.problems) >= MOST_TOLD:
            return None
        return nearest(name, names) or _elsewhere(name)

    def _wrong(self, key: str, reason: str, hint: str | None = None) -> Any:
        self.problems.append(Problem(key, reason, hint))
        return _UNREAD


def _elsewhere(name: str) -> str | None:
    """The full key, when exactly one other table has a key of this name."""
    found = [key for key, _ in all_keys(Config) if key.rpartition(".")[2] == name]
    return found[0] if len(found) == 1 else None
