"""The store under its supervisor: a crash is survived by everybody who holds a `Store`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import trio
from trio.testing import MockClock

from hermes_actors.errors import ActorGone, StoreTooNew
from hermes_actors.failpoints import FailpointHit, Point, arm
from hermes_actors.runtime import Ended, System
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings, notes
from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.testing.invariants import assert_invariants
from supervisors.policy import hopeless
from supervisors.spec import Branch, worker
from supervisors.supervisor import Supervisor, run_tree
from tests.hermes_actors.store.house import names_in, note, settings_in

POINTS = [point.value for point in Point if point.value.startswith("store.")]


class Gateway:
    """A tree with nothing but a store in it."""

    def __init__(self, settings: StoreSettings) -> None:
        self.log, self.ended = EventLog(), list[Ended]()
        self.system, self.ready = System(recorded(self.log)), trio.Event()
        readers = Readers(settings)
        spec = worker("store", lambda: StoreActor(settings, readers, self.system.journal))
        self.root = Supervisor(Branch(name="root", children=(spec,)), self.system)
        self.store = Store(spec.ref, readers)

    async def run(self) -> None:
        self.ended.append(await run_tree(self.root, self.system, self.ready.set))
        self.ready.set()

    async def insist(self, name: str) -> list[str]:
        """Ask until it is written; what was said on the way."""
        said: list[str] = []
        await trio.lowlevel.checkpoint()
        while len(said) < 5:
            try:
                await self.store.write(note(name))
            except (ActorGone, FailpointHit) as no:
                said.append(type(no).__name__)
            else:
                break
        return said


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    arm("")


@pytest.mark.parametrize("point", POINTS)
async def test_a_crash_at_any_point_is_survived_and_what_is_asked_again_is_kept_once(
    tmp_path: Path, autojump_clock: MockClock, point: str
) -> None:
    gateway = Gateway(settings_in(tmp_path, inline=True, trace=True))
    arm(f"{point}=raise@1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gateway.run)
        await gateway.ready.wait()
        said = await gateway.insist("a")
        assert len(said) <= 1, said
        await trio.sleep(5.0)  # idle time: the log is folded back, and may crash doing so
        await gateway.insist("b")
        assert await gateway.store.read(notes.get("test", "a")) == 1
        gateway.root.stop("the test is over")
    assert names_in(settings_in(tmp_path).path) == ["a", "b"]
    assert_invariants(gateway.log)


async def test_a_file_of_a_newer_version_ends_the_gateway_with_its_reason(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    db = apsw.Connection(settings_in(tmp_path).path)
    db.execute("PRAGMA application_id = 0x4845524D; PRAGMA user_version = 99; CREATE TABLE t (x)")
    db.close()
    gateway = Gateway(settings_in(tmp_path, inline=True))
    with trio.fail_after(10):
        await gateway.run()
    (ended,) = gateway.ended
    reason = hopeless(ended.error)
    assert isinstance(reason, StoreTooNew)
    assert reason.exit_code == 78
    assert len(gateway.log.of("actor.crashed", actor="store")) == 1
