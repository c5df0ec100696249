"""Words for a chat. One row is one visible reply, from its first preview to its final text.

A row leaves in the order of ids, per platform, account and chat: only the first open one may be
sent. `take` is the moment before the wire, so whoever dies after it leaves a row that is `unsure`.
"""

from __future__ import annotations

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store import letters
from hermes_actors.store.operation import reads, writes, writes_soon
from hermes_actors.store.sql import Sql, insert, move, must, row, rows, run, value
from hermes_actors.store.states import OUTBOX_MOVES, OutboxState

_OPEN = "state IN ('queued', 'sending', 'unsure')"  # exactly so, or the index is not used


class NewReply(msgspec.Struct, frozen=True, kw_only=True):
    """Words to send. `key` names this reply for ever; `payload` is JSON text for the platform."""

    key: str
    platform: str
    chat_id: str
    text: str
    account: str = ""
    thread_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    kind: str = "reply"
    payload: str = "{}"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A row. `repeated` says that it may have been seen once already, so mark it."""

    id: int
    key: str
    platform: str
    account: str
    chat_id: str
    thread_id: str | None
    session_id: str | None
    run_id: str | None
    kind: str
    preview: str | None
    text: str | None
    payload: str
    state: OutboxState
    attempts: int
    repeated: bool
    not_before: float
    receipt: str | None
    error: str | None
    created_at: float
    updated_at: float


@writes
def queue(sql: Sql, new: NewReply, *, now: float) -> int:
    """Make words durable; they will be sent. The row's id.

    The same words under the same key are one row. A preview under this key becomes the final.
    """
    known = find.within(sql, new.key)
    if known is None:
        insert(sql, "outbox", new, created_at=now, updated_at=now)
        return int(value(sql, "SELECT last_insert_rowid()"))
    if known.state is OutboxState.PREVIEW:
        _move(sql, known.id, OutboxState.QUEUED, now, text=new.text, payload=new.payload)
    elif known.text != new.text:
        raise StoreRefused("conflict", f"reply '{new.key}' was queued before with other words")
    return known.id


@writes_soon
def preview(sql: Sql, new: NewReply, *, now: float) -> bool:
    """Keep what is shown so far; False when the final text is there already."""
    known = find.within(sql, new.key)
    if known is None:
        fields = msgspec.structs.replace(new, text="")
        insert(sql, "outbox", fields, state="preview", created_at=now, updated_at=now)
    elif known.state is not OutboxState.PREVIEW:
        return False
    run(
        sql,
        "UPDATE outbox SET preview = ?, text = NULL, updated_at = ? WHERE key = ?",
        (new.text, now, new.key),
    )
    return True


@writes_soon
def shown(sql: Sql, key: str, receipt: str, *, now: float) -> None:
    """Keep which message of the platform shows this row, so that the final text can replace it."""
    run(sql, "UPDATE outbox SET receipt = ?, updated_at = ? WHERE key = ?", (receipt, now, key))


@reads
def find(sql: Sql, key: str) -> Reply | None:
    """The row under this key."""
    return row(sql, Reply, "FROM outbox WHERE key = ?", (key,))


@reads
def of_run(sql: Sql, run_id: str) -> list[Reply]:
    """What a run has said, in order."""
    return rows(sql, Reply, "FROM outbox WHERE run_id = ? ORDER BY id", (run_id,))


@reads
def heads(sql: Sql, *, now: float, limit: int = 1000) -> list[Reply]:
    """The first open row of each chat, where it may be sent by now."""
    return rows(
        sql,
        Reply,
        f"FROM outbox WHERE id IN (SELECT min(id) FROM outbox WHERE {_OPEN} "
        "GROUP BY platform, account, chat_id) AND state IN ('queued', 'unsure') "
        "AND not_before <= ? ORDER BY id LIMIT ?",
        (now, limit),
    )


@reads
def next_due(sql: Sql) -> float | None:
    """The earliest moment at which a head may be sent; None when nothing waits."""
    due = value(
        sql,
        f"SELECT min(not_before) FROM outbox WHERE id IN (SELECT min(id) FROM outbox WHERE {_OPEN} "
        "GROUP BY platform, account, chat_id) AND state IN ('queued', 'unsure')",
    )
    return None if due is None else float(due)


@writes
def take(sql: Sql, row_id: int, *, now: float) -> Reply:
    """Take a row in hand, to be sent now. From here until `sent` it may have been seen."""
    reply = _get(sql, row_id)
    ahead = value(
        sql,
        f"SELECT min(id) FROM outbox WHERE {_OPEN} AND platform = ? AND account = ? "
        "AND chat_id = ?",
        (reply.platform, reply.account, reply.chat_id),
    )
    if ahead is not None and ahead < row_id:
        raise StoreRefused("conflict", f"row {ahead} goes to the same chat before row {row_id}")
    repeated = reply.repeated or reply.state is OutboxState.UNSURE
    _move(sql, row_id, OutboxState.SENDING, now, attempts=reply.attempts + 1, repeated=repeated)
    return _get(sql, row_id)


@writes
def sent(sql: Sql, row_id: int, receipt: str | None, *, now: float) -> None:
    """The platform has taken it."""
    _move(sql, row_id, OutboxState.SENT, now, receipt=receipt, error=None)


@writes
def later(sql: Sql, row_id: int, *, not_before: float, error: str, now: float) -> None:
    """The platform said "not now"; nothing is visible."""
    _move(sql, row_id, OutboxState.QUEUED, now, not_before=not_before, error=error)


@writes
def unsure(sql: Sql, row_id: int, error: str, *, now: float, not_before: float = 0.0) -> None:
    """The answer was lost: it may be visible, or not."""
    _move(sql, row_id, OutboxState.UNSURE, now, error=error, not_before=not_before)


@writes
def bury(sql: Sql, row_id: int, error: str, *, now: float) -> None:
    """Give up on a row, and keep it as a dead letter."""
    _move(sql, row_id, OutboxState.DEAD, now, error=error)
    reply = _get(sql, row_id)
    words = {"platform": reply.platform, "chat_id": reply.chat_id, "text": reply.text}
    payload = msgspec.json.encode(words).decode()
    letters.bury.within(sql, "outbox", reply.key, reason=error, now=now, payload=payload)


@writes
def abandon_previews(sql: Sql, run_id: str, *, now: float) -> int:
    """End what a run had begun to show and never finished; how many."""
    ended = run(
        sql,
        "UPDATE outbox SET state = 'dead', error = 'the run ended first', updated_at = ? "
        "WHERE run_id = ? AND state = 'preview' RETURNING 1",
        (now, run_id),
    )
    return len(ended)


@writes
def doubt(sql: Sql, *, now: float) -> int:
    """At boot: what was in hand when the process died may have been seen; how many."""
    doubted = run(
        sql,
        "UPDATE outbox SET state = 'unsure', error = 'the process ended while sending', "
        f"updated_at = ? WHERE {_OPEN} AND state = 'sending' RETURNING 1",
        (now,),
    )
    return len(doubted)


@writes
def prune(sql: Sql, *, before: float, limit: int = 1000) -> int:
    """Forget rows that were sent, or given up, before then; how many."""
    gone = run(
        sql,
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE updated_at < ? "
        "AND state IN ('sent', 'dead') ORDER BY updated_at LIMIT ?) RETURNING 1",
        (before, limit),
    )
    return len(gone)


def _get(sql: Sql, row_id: int) -> Reply:
    return must(row(sql, Reply, "FROM outbox WHERE id = ?", (row_id,)), f"outbox row {row_id}")


def _move(sql: Sql, row_id: int, to: OutboxState, now: float, **also: object) -> None:
    move(sql, "outbox", {"id": row_id}, to, OUTBOX_MOVES, updated_at=now, **also)
