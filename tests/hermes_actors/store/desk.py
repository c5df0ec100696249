"""A writer to hand operations to, without Trio: what the operations' own tests need."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store import Read, StoreSettings, Write
from hermes_actors.store.connection import open_reader
from hermes_actors.store.sessions import NewSession, create
from hermes_actors.store.writer import Writer

T = TypeVar("T")


class Desk:
    """Carries out one operation at a time, each in a transaction of its own."""

    def __init__(self, folder: Path) -> None:
        self.settings = StoreSettings(path=str(folder / "hermes.db"))
        self._writer = Writer(self.settings)
        self._reader = open_reader(self.settings)
        self._rehearsal = apsw.Connection(self.settings.path)

    def do(self, write: Write[T]) -> T:
        # These tests are about meaning; whether the disk has it is the matter of others.
        (result,) = self._writer.commit_together([msgspec.structs.replace(write, durable=False)])
        answer: T = result.unwrap()  # type: ignore[assignment]
        return answer

    def refusal(self, write: Write[Any]) -> str:
        """Why it is refused, in one word; refused writes leave no trace."""
        before = self.everything()
        try:
            self.do(write)
        except StoreRefused as no:
            assert self.everything() == before
            return no.kind
        return "it was not refused"

    def ask(self, question: Read[T]) -> T:
        return question.look(self._reader)

    def sql(self, statement: str, *bindings: Any) -> list[Any]:
        return list(self._reader.execute(statement, bindings))

    def everything(self) -> dict[str, list[Any]]:
        tables = self.sql(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'messages_%'"
        )
        return {name: self.sql(f"SELECT * FROM {name}") for (name,) in tables}

    def plan(self, statement: str, bindings: Any = None) -> list[str]:
        """How the engine will find the rows, one line for each table."""
        steps = self._reader.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
        return [str(step[3]) for step in steps]

    def rehearse(self, statement: str, bindings: Any = None) -> list[Any]:
        """Run it, but keep nothing."""
        rehearsal = self._rehearsal
        if not rehearsal.in_transaction:
            rehearsal.execute("BEGIN")
        return list(rehearsal.execute(statement, bindings))

    def session(self, name: str = "s1", **more: Any) -> str:
        key = more.pop("session_key", f"key-of-{name}")
        fields: dict[str, Any] = {"agent_id": "main", "platform": "chat", **more}
        self.do(create(NewSession(id=name, session_key=key, **fields), now=1.0))
        return name

    def close(self) -> None:
        self._reader.close()
        self._rehearsal.close()
        self._writer.close()
