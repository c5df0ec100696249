"""Finding words that were said, in every session at once.

Lines that were taken back are not found; lines that were summed up are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from hermes_actors.store.messages import Role
from hermes_actors.store.operation import reads
from hermes_actors.store.query_text import Wanted, understand
from hermes_actors.store.sql import Sql, run

Order = Literal["rank", "newest", "oldest"]

OPENING, CLOSING = ">>>", "<<<"
_ORDERS: dict[Order, str] = {"rank": "rank", "newest": "m.id DESC", "oldest": "m.id"}
_AROUND = 40


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was found. In `snippet` what matched stands between `>>>` and `<<<`."""

    message_id: int
    session_id: str
    role: Role
    at: float
    snippet: str
    title: str | None
    platform: str
    agent_id: str


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look; everywhere by default."""

    session_id: str | None = None
    agent_id: str | None = None
    platform: str | None = None
    roles: tuple[Role, ...] = ("user", "assistant", "tool")
    not_in: tuple[str, ...] = ()


EVERYWHERE = Filter()


@reads
def search(
    sql: Sql, typed: str, *, where: Filter = EVERYWHERE, order: Order = "rank", limit: int = 20
) -> list[Hit]:
    """The lines that match what was typed. Whatever was typed: nonsense finds nothing."""
    wanted = understand(typed)
    if wanted.nothing:
        return []
    bindings: dict[str, Any] = {"limit": limit}
    source, snippet, rank = _source(wanted, bindings)
    conditions = [*_conditions(wanted, bindings), *_scope(where, bindings)]
    found = run(
        sql,
        f"SELECT m.id, m.session_id, m.role, m.at, {snippet}, s.title, s.platform, s.agent_id "
        f"FROM {source} JOIN sessions s ON s.id = m.session_id "
        f"WHERE {' AND '.join(conditions)} "
        f"ORDER BY {rank if order == 'rank' else _ORDERS[order]} LIMIT :limit",
        bindings,
    )
    hits = [_hit(row) for row in found]
    return hits if wanted.words or wanted.pieces else [_mark(hit, wanted.letters) for hit in hits]


def _source(wanted: Wanted, bindings: dict[str, Any]) -> tuple[str, str, str]:
    """Tables to read from, the column that shows the match, and what the best match is."""
    index = "messages_trigram" if wanted.pieces else "messages_fts" if wanted.words else None
    if index is None:
        return "messages m", "m.content", "m.id DESC"
    bindings["expression"] = wanted.pieces or wanted.words
    shown = f"snippet({index}, -1, '{OPENING}', '{CLOSING}', '…', {_AROUND})"
    return f"{index} JOIN messages m ON m.id = {index}.rowid", shown, f"{index}.rank"


def _conditions(wanted: Wanted, bindings: dict[str, Any]) -> list[str]:
    conditions = ["(m.active = 1 OR m.compacted = 1)"]
    if wanted.pieces:
        conditions.append("messages_trigram MATCH :expression")
    elif wanted.words:
        conditions.append("messages_fts MATCH :expression")
    if wanted.pieces and wanted.words:
        bindings["words"] = wanted.words
        conditions.append(
            "m.id IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH :words)"
        )
    for number, letters in enumerate(wanted.letters):
        bindings[f"letters{number}"] = letters
        conditions.append(f"instr(m.content, :letters{number}) > 0")
    return conditions


def _scope(where: Filter, bindings: dict[str, Any]) -> list[str]:
    conditions = [f"m.role IN ({_list('role', where.roles, bindings)})"]
    for name, column in (("session_id", "m.session_id"), ("agent_id", "s.agent_id")):
        if getattr(where, name) is not None:
            bindings[name] = getattr(where, name)
            conditions.append(f"{column} = :{name}")
    if where.platform is not None:
        bindings["platform"] = where.platform
        conditions.append("s.platform = :platform")
    if where.not_in:
        conditions.append(f"m.session_id NOT IN ({_list('not_in', where.not_in, bindings)})")
    return conditions


def _list(name: str, values: Sequence[str], bindings: dict[str, Any]) -> str:
    bindings |= {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{name}{number}" for number in range(len(values)))


def _hit(row: tuple[Any, ...]) -> Hit:
    fields = ("message_id", "session_id", "role", "at", "snippet", "title", "platform", "agent_id")
    return Hit(**dict(zip(fields, row, strict=True)))


def _mark(hit: Hit, letters: tuple[str, ...]) -> Hit:
    """A snippet for what no index has found."""
    text, first = hit.snippet, letters[0]
    at = text.index(first)
    left, right = max(at - _AROUND, 0), at + len(first) + _AROUND
    marked = f"{text[left:at]}{OPENING}{first}{CLOSING}{text[at + len(first) : right]}"
    head, tail = "…" if left else "", "…" if right < len(text) else ""
    return msgspec.structs.replace(hit, snippet=f"{head}{marked}{tail}")
