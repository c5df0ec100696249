"""The store as everybody else sees it: two verbs, and no connection in sight."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from hermes_actors.runtime import Ref
from hermes_actors.store.actor import Checkpoint
from hermes_actors.store.operation import Read, Write
from hermes_actors.store.readers import Readers

T = TypeVar("T")


class Store:
    """Writes through the store actor, reads beside it.

    What you have been told was written is seen by every read that begins after.
    """

    def __init__(self, ref: Ref[Write[Any] | Checkpoint], readers: Readers) -> None:
        self._ref, self._readers = ref, readers

    async def write(self, operation: Write[T]) -> T:
        """Commit, then return what the operation says.

        `StoreRefused`: nothing was kept, and the text says why. `ActorGone`: the store went down
        before it could tell; it may or may not have been kept, so ask again under the same key.
        Cancelling leaves: what has not begun never will, and what has is finished without you.
        """
        return cast("T", await self._ref.ask(operation))

    async def read(self, question: Read[T]) -> T:
        """The answer, as of now. Cancelling ends the query. Raises as `write` does."""
        return await self._readers.run(question.look)
