"""Where commands are carried out: one function each, found by name.

Whether a command may act now is the table's decision. What it cannot do is said in plain words; a
refusal is an answer here, never a crash.
"""

from __future__ import annotations

from collections.abc import Mapping

import trio

from hermes_actors.actors.commands import (
    approvals,
    background,
    branching,
    conversations,
    information,
    plugins,
    resuming,
    stopping,
    why,
)
from hermes_actors.actors.commands.asked import Act, Answer, Asked, Office
from hermes_actors.actors.receipts import Address
from hermes_actors.actors.signals import Busy
from hermes_actors.errors import Refusal
from hermes_actors.pure.approval_words import Verdict
from hermes_actors.pure.commands import Command, Reaction, refusal
from hermes_actors.values import Inbound

BEING_DONE = "That is being done already."
REMEMBERED = 1000
ACTS: Mapping[str, Act] = {
    "stop": stopping.stop,
    "new": conversations.new,
    "undo": conversations.undo,
    "title": conversations.title,
    "resume": resuming.resume,
    "sessions": resuming.list_sessions,
    "branch": branching.branch,
    "status": information.status,
    "help": information.explain,
    "usage": information.usage,
    "model": information.model,
    "why": why.why,
    "approve": approvals.approve,
    "deny": approvals.deny,
    "background": background.background,
}


class Desk:
    """Carries out commands: itself is the router's `act`, `word` its `word`.

    A platform that was not told in time sends a message again. The same command under the same key
    is one command, or else a repeated /stop could hit the next run. We know the latest keys only:
    a repeat that comes after a restart is done again.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._done: dict[tuple[str, str], Answer] = {}

    async def __call__(self, command: Command, address: Address, inbound: Inbound) -> Answer:
        """Do it, or say why not."""
        await trio.lowlevel.checkpoint_if_cancelled()
        key = address.session_key, inbound.key
        if key in self._done:
            await trio.lowlevel.cancel_shielded_checkpoint()
            return self._done[key]
        self._remember(key, BEING_DONE)
        try:
            self._done[key] = await self._act(Asked(self._office, command, address, inbound))
        except BaseException:
            self._done.pop(key, None)  # not done, so whoever sends it again shall have it done
            raise
        return self._done[key]

    def _remember(self, key: tuple[str, str], answer: Answer) -> None:
        if len(self._done) >= REMEMBERED:
            del self._done[next(iter(self._done))]
        self._done[key] = answer

    async def _act(self, asked: Asked) -> Answer:
        command = asked.command
        if command.reaction(busy=asked.look().busy) is Reaction.REFUSE:
            await trio.lowlevel.checkpoint()
            return refusal(command)
        try:
            return await ACTS.get(command.name, plugins.run)(asked)
        except Busy:
            return refusal(command)
        except Refusal as no:
            self._office.house.journal.note(
                "command.refused", command=command.name, session=asked.key, reason=str(no)
            )
            return f"/{command.name} could not be done: {no}"

    async def word(self, verdict: Verdict, address: Address, inbound: Inbound) -> str | None:
        """One word in place of `/approve` or `/deny`; None: nothing was asked, so it is talk."""
        name = "deny" if verdict.choice == "deny" else "approve"
        command = Command(self._office.table.specs[name])
        said = await approvals.answer(Asked(self._office, command, address, inbound), verdict)
        return None if said == approvals.NOTHING_ASKED else said
