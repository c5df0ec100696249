"""A store that is open for the length of a block, in a folder that is gone afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from hermes_actors.journal import Journal
from hermes_actors.runtime import Life, Mailbox, Ref
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings


@contextmanager
def folder() -> Iterator[Path]:
    """A folder on the disk that we stand on: elsewhere, temporary files may be in memory."""
    with TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as name:
        yield Path(name)


@asynccontextmanager
async def open_store(file: Path) -> AsyncIterator[Store]:
    """Open it with the settings that a gateway uses; closed in good order at the end."""
    settings = StoreSettings(path=str(file))
    readers, journal = Readers(settings), Journal()
    box: Mailbox[Any] = Mailbox("store")
    life = Life(StoreActor(settings, readers, journal), box, journal)
    up = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run, up.set)
        await up.wait()
        yield Store(Ref("store", box), readers)
        life.stop("measured")
