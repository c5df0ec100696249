"""What a session hears: wakes as work, and control, which acts in the sender's own step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from hermes_actors.errors import Refusal
from hermes_actors.pure.endings import Stopped


class Wake(msgspec.Struct, frozen=True):
    """Something waits in the inbox of this conversation."""


class Between(Wake, frozen=True):
    """Do this while no turn runs, before the next message is taken; asked, it answers the result.

    `cuts` stops a turn that is in the way, for this reason. Without it the asker is refused as
    `Busy` while there is one.
    """

    do: Callable[[], Awaitable[object]]
    cuts: Stopped | None = None


class Busy(Refusal):
    """A run is in progress, and what was asked has to wait for its end."""


class StopRun(msgspec.Struct):
    """Control: stop the run in progress. The session fills in `hit`, in the sender's step.

    `run_id` None means whatever runs now; a stop that names a run which is over hits nothing.
    `drop_queued` is for a run that is hit: what waits behind it is withdrawn with it.
    """

    reason: Stopped
    run_id: str | None = None
    drop_queued: bool = False
    hit: str | None = None


class Steer(msgspec.Struct):
    """Control: tell the run in progress something that waits in the inbox as row `inbox`.

    The session fills in `taken`. Even then the row stays queued until a tool result that carries
    the words is kept: the two become true together, or neither does.
    """

    inbox: int
    text: str
    run_id: str
    taken: bool = False


class Decided(msgspec.Struct):
    """Control: a question to a person has its answer in the store, for whoever waits for it."""

    approval: str


class Look(msgspec.Struct):
    """Control: how is it? The session fills in the answer, in the asker's step."""

    state: str = "idle"
    run_id: str | None = None
    phase: str = ""
    keys: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def busy(self) -> bool:
        """A run is in progress, or about to have ended."""
        return self.state in ("running", "stopping")
