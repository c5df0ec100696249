"""Books that come and go: a registry of actors with a memory, under the ledger's eyes."""

from __future__ import annotations

import trio

from hermes_actors.runtime import Registry
from hermes_actors.testing.sweep import Stage
from supervisors.policy import Limit
from supervisors.spec import Crowd, Door
from tests.scenarios.house import House
from tests.scenarios.ledger import Clerk, Ledger


class Shelf:
    """What is left when nothing is in memory: the words of each book, and who has it open."""

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}
        self.open: dict[str, int] = {}
        self.most_open = 0

    def take(self, title: str) -> list[str]:
        self.open[title] = self.open.get(title, 0) + 1
        self.most_open = max(self.most_open, self.open[title])
        return list(self.words.get(title, []))

    def put_back(self, title: str, words: list[str]) -> None:
        self.open[title] -= 1
        self.words[title] = words


class Book(Clerk):
    """Loads its words when started and puts them back when stopped; both take time."""

    def __init__(self, title: str, ledger: Ledger, shelf: Shelf) -> None:
        super().__init__(title, ledger)
        self._shelf = shelf
        self._words: list[str] = []
        self._loaded = False

    async def started(self) -> None:
        await trio.lowlevel.checkpoint()
        self._words = self._shelf.take(self.name)
        self._loaded = True

    async def work(self, kind: str, message: str) -> object:
        answer = await super().work(kind, message)
        self._words.append(message)
        return answer

    async def stopped(self) -> None:
        await trio.sleep(0.5)
        if self._loaded:
            self._shelf.put_back(self.name, self._words)


class Library(House):
    """A house with a registry of books under a crowd."""

    def __init__(self, stage: Stage, max_live: int = 10) -> None:
        super().__init__(stage)
        self.shelf, door = Shelf(), Door("books")
        self.registry: Registry[str] = Registry(
            lambda title: Book(title, self.ledger, self.shelf),
            door,
            self.system,
            capacity=2,
            idle=60,
            max_live=max_live,
        )
        crowd = Crowd(name="books", door=door, drain=30.0, limit=Limit(2, 60))
        self.build([self.clerk("a"), crowd])

    def unload(self) -> None:
        self.registry.unload_since(trio.current_time())

    async def ask(self, title: str, message: str) -> object:
        return await self.ledger.ask(self.registry.ref(title), message)

    def tell(self, title: str, message: str) -> None:
        self.ledger.tell(self.registry.ref(title), message)

    def check(self) -> None:
        super().check()
        assert self.registry.live() == []
        assert self.shelf.most_open <= 1, "a book was open twice"
        assert not any(self.shelf.open.values()), "a book was not put back"
        for title, words in self.shelf.words.items():
            assert len(set(words)) == len(words), f"'{title}' has something twice: {words}"
        kept = {word for words in self.shelf.words.values() for word in words}
        done = {text for text, fates in self.ledger.fates.items() if "done" in fates}
        assert done <= kept, f"done, but not kept: {done - kept}"
