"""The common shape of every table in hermes.toml."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table: every key has a type, most have a default, and no other key is allowed.

    `shorthand` names the key that is meant when the file holds plain text in place of the table.
    """

    shorthand: ClassVar[str] = ""
