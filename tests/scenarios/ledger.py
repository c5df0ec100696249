"""Who sent what, and what became of it: the books that a sweep is checked against.

Every message has one line. A sender writes that it was sent and what it heard; the actor writes
what it did. When all is over, `balance` finds each promise that the two sides do not agree on.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import trio

from hermes_actors.errors import Refusal
from hermes_actors.runtime import Actor, Ref, System

ENDS = ("done", "cut", "crashed", "refused", "dropped")


class Ledger:
    """Messages are texts, and each text is sent once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.told: list[str] = []
        self.heard: dict[str, list[str]] = defaultdict(list)
        self.fates: dict[str, list[str]] = defaultdict(list)
        self.asked: list[str] = []

    def tell(self, ref: Ref[Any], message: str) -> bool:
        """Send work; a refusal is an answer to the sender, and so not a loss."""
        try:
            ref.tell(message)
        except Refusal:
            return False
        self.told.append(message)
        return True

    async def ask(self, ref: Ref[Any], message: str) -> object:
        """Ask, and write down the one thing that came of it."""
        self.asked.append(message)
        try:
            answer = await ref.ask(message)
        except Refusal as no:
            self.heard[message].append("refused")
            return no
        except trio.Cancelled:
            self.heard[message].append("withdrawn")
            raise
        self.heard[message].append("answered")
        return answer

    async def ask_for_a_while(self, ref: Ref[Any], message: str, seconds: float) -> None:
        """Ask with a deadline, and leave when it has passed."""
        with trio.move_on_after(seconds):
            await self.ask(ref, message)

    # ---------------------------------------------------------------------------------------

    def balance(self) -> list[str]:
        """Every promise that was not kept, in words."""
        return [
            *(problem for message in self.told for problem in self._of_told(message)),
            *(problem for message in self.asked for problem in self._of_asked(message)),
        ]

    def _of_told(self, message: str) -> list[str]:
        fates = self._ends(message)
        if len(fates) != 1:
            return [f"'{message}' was accepted and came to {fates or 'nothing'}"]
        return self._begun_once(message)

    def _of_asked(self, message: str) -> list[str]:
        heard, fates = self.heard[message], self._ends(message)
        problems = self._begun_once(message)
        if len(heard) != 1:
            problems.append(f"whoever asked '{message}' heard {heard or 'nothing'}")
        if heard == ["answered"] and fates != ["done"]:
            problems.append(f"'{message}' was answered, but it came to {fates or 'nothing'}")
        if len(fates) > 1:
            problems.append(f"'{message}' came to {fates}")
        return problems

    def _begun_once(self, message: str) -> list[str]:
        begun = self.fates[message].count("began")
        return [f"'{message}' began {begun} times"] if begun > 1 else []

    def _ends(self, message: str) -> list[str]:
        buried = sum(letter.message == message for letter in self.system.dead_letters())
        return [fate for fate in self.fates[message] if fate in ENDS] + ["buried"] * buried


class Clerk(Actor[str]):
    """Does what the first word of a message says, and writes down what became of it.

    `quick` returns at once; `slow` takes two steps and a second; `crash` raises after a step;
    `no` refuses; `long` waits for ever; `child` lets a task of its own answer later.
    """

    def __init__(self, name: str, ledger: Ledger) -> None:
        self.name, self.ledger = name, ledger

    async def started(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive(self, message: str) -> object:
        fates = self.ledger.fates[message]
        fates.append("began")
        try:
            answer = await self.work(message.split()[0], message)
        except Refusal:
            fates.append("refused")
            raise
        except Exception:
            fates.append("crashed")
            raise
        except trio.Cancelled:
            fates.append("cut")
            raise
        fates.append("done")
        return answer

    async def work(self, kind: str, message: str) -> object:
        match kind:
            case "slow":
                await trio.lowlevel.checkpoint()
                await trio.sleep(1)
            case "long":
                await trio.sleep_forever()
            case "crash":
                await trio.lowlevel.checkpoint()
                raise ValueError(message)
            case "no":
                raise Refusal(message)
            case "child":
                self.spawn(self.answer_later, self.reply_later(), message)
        return f"{self.name}: {message}"

    async def answer_later(self, reply: Any, message: str) -> None:
        await trio.sleep(1)
        if reply is not None:
            reply.answer(f"{self.name}, later: {message}")

    def on_dropped(self, message: str) -> None:
        self.ledger.fates[message].append("dropped")

    async def stopped(self) -> None:
        await trio.lowlevel.checkpoint()
        self.ledger.system.journal.note("clerk.tidied", actor=self.name)
