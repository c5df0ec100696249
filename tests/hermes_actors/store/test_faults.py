"""What can happen to a disk, with real files and real processes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import outcome
import pytest
import trio
import trio.testing

from hermes_actors.errors import StoreRefused
from hermes_actors.store import Read, Write, faults, notes
from hermes_actors.store.sql import Sql, run, value
from hermes_actors.store.writer import FilesVanished, Result, Writer
from hermes_actors.testing.event_log import EventLog
from tests.hermes_actors.store.children import attempt, end_child, run_child, start_child
from tests.hermes_actors.store.house import House, names_in, note, running, settings_in


def told(log: EventLog) -> list[str]:
    faults_told = log.of("store.refusing", "store.recovered")
    return [f"{entry.kind} {entry['fault']}" for entry in faults_told]


# Full -------------------------------------------------------------------------------------------


async def test_a_full_store_refuses_says_so_once_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    log = EventLog()
    async with running(tmp_path, log=log, max_pages=300) as house:
        while set(house.heard.values()) <= {"written"}:
            written = list(house.heard)
            await house.write(f"n{len(written):03}", note(f"n{len(written):03}", "x" * 50_000))
        with pytest.raises(StoreRefused, match="free some space") as refused:
            await house.store.write(note("still full", "x" * 50_000))
        assert house.on_disk() == written
        assert await house.store.write(notes.delete("test", written.pop()))
        await house.store.write(note("room again", "x" * 40_000))
        assert house.on_disk() == [*written, "room again"]
    assert refused.value.kind == "full"
    assert told(log) == ["store.refusing full", "store.recovered full"]


def test_one_write_that_is_too_large_does_not_refuse_its_neighbours(tmp_path: Path) -> None:
    writer = Writer(settings_in(tmp_path, max_pages=300))
    batch = [note("small"), note("huge", "x" * 5_000_000), note("other")]
    outcomes = [type(result).__name__ for result in writer.commit_together(batch)]
    assert outcomes == ["Value", "Error", "Value"]
    writer.close()
    assert names_in(settings_in(tmp_path).path) == ["other", "small"]


def test_a_batch_of_which_a_part_is_committed_is_never_tried_again_as_a_whole(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path)
    writer = Writer(settings)
    attempts = list[str]()

    def lose_everything(sql: Sql) -> None:
        """A full disk that takes the whole transaction with it; then the log vanishes too."""
        attempts.append("full")
        if len(attempts) == 2:
            os.unlink(settings.path + "-wal")
        run(sql, "ROLLBACK")
        raise apsw.FullError("database or disk is full")

    batch = [note("before"), Write(lose_everything), note("after")]
    kinds = [_kind(result) for result in writer.commit_together(batch)]
    assert kinds == ["written", "full", "moved"]
    with pytest.raises(FilesVanished):
        writer.commit_together([note("next")])
    writer.close()
    assert names_in(settings.path) == ["before"]


def test_a_limit_of_the_system_is_told_as_full_and_nothing_acked_is_missing(
    tmp_path: Path,
) -> None:
    *written, refused, again, recovered = run_child("full", str(tmp_path))
    assert set(written) == {"written"}
    assert (refused, again, recovered) == ("full", "full", "written")
    names = names_in(settings_in(tmp_path).path)
    assert names == [*(f"n{number:03}" for number in range(len(written))), "room again"]


# Locked, read-only ------------------------------------------------------------------------------


async def test_a_file_that_another_process_holds_is_refused_until_it_lets_go(
    tmp_path: Path,
) -> None:
    log = EventLog()
    async with running(tmp_path, log=log, busy_timeout=0.05) as house:
        await house.store.write(note("before"))
        child = await trio.to_thread.run_sync(start_child, "locked", str(tmp_path))
        with pytest.raises(StoreRefused, match="end the other program"):
            await house.store.write(note("meanwhile"))
        assert await house.store.read(notes.get("test", "before")) == 1
        await trio.to_thread.run_sync(end_child, child)
        await house.store.write(note("after"))
        assert house.on_disk() == ["after", "before"]
    assert told(log) == ["store.refusing busy", "store.recovered busy"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of this machine may enter."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-store-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_a_file_that_may_not_be_written_is_refused_until_it_may(open_folder: Path) -> None:
    Writer(settings_in(open_folder)).close()
    assert run_child("read_only", str(open_folder)) == ["readonly", "readonly", "written"]


# Damaged ----------------------------------------------------------------------------------------


async def test_a_damaged_file_is_refused_with_the_way_to_help_and_keeps_its_bytes(
    tmp_path: Path,
) -> None:
    path = settings_in(tmp_path).path
    await trio.to_thread.run_sync(_damage_header, path)
    before = _bytes(path)
    with pytest.raises(StoreRefused, match=r"docs/store\.md") as refused:
        Writer(settings_in(tmp_path))
    assert refused.value.kind == "corrupt"
    assert _bytes(path) == before


async def test_damage_in_the_middle_refuses_what_it_hits_and_the_store_lives_on(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path)
    writer = Writer(settings)
    for number in range(50):
        attempt(writer, f"n{number:03}", "x" * 3000)
    writer.close()
    good = _bytes(settings.path)
    _overwrite(settings.path, _without_page_of(settings.path, "notes"))
    log = EventLog()
    async with running(tmp_path, log=log) as house:
        with pytest.raises(StoreRefused, match="damaged"):
            await house.store.write(note("n000"))
        with pytest.raises(StoreRefused, match="damaged"):
            await house.store.read(notes.get("test", "n000"))
        assert (
            await house.store.read(Read(lambda sql: value(sql, "SELECT count(*) FROM runs"))) == 0
        )
        _overwrite(settings.path, good)
        await house.store.write(note("healed"))
        assert await house.store.read(notes.get("test", "n000")) == "x" * 3000
    assert told(log) == ["store.refusing corrupt", "store.recovered corrupt"]
    assert "healed" in names_in(settings.path)


# Moved, deleted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
async def test_a_deleted_file_beside_the_database_costs_nothing(
    tmp_path: Path, ending: str
) -> None:
    log = EventLog()
    async with running(tmp_path, log=log) as house:
        for name in ("a", "b"):
            await house.store.write(note(name))
        os.unlink(house.settings.path + ending)
        assert await house.store.read(notes.get("test", "a")) == 1
        await house.store.write(note("c"))
        assert house.on_disk() == ["a", "b", "c"]
        assert await house.store.read(notes.get("test", "c")) == 1
    assert len(log.of("store.reopening")) == 1
    assert names_in(house.settings.path) == ["a", "b", "c"]


async def test_a_moved_file_is_refused_and_never_silently_begun_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        await house.store.write(note("a"))
        path, away = house.settings.path, str(tmp_path / "away.db")
        os.rename(path, away)
        await _is_refused_as_moved(house)
        assert "hermes.db" not in os.listdir(tmp_path)
        os.rename(away, path)
        await house.store.write(note("b"))
    assert names_in(path) == ["a", "b"]


async def test_a_file_that_was_replaced_is_refused_and_the_newcomer_is_not_touched(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as house:
        await house.store.write(note("a"))
        path = house.settings.path
        await trio.to_thread.run_sync(shutil.copy, path, path + ".copy")
        os.replace(path + ".copy", path)
        newcomer = _bytes(path)
        await _is_refused_as_moved(house)
    assert _bytes(path) == newcomer


async def test_a_deleted_file_is_refused_and_the_process_lives(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        await house.store.write(note("a"))
        os.unlink(house.settings.path)
        for _ in range(3):
            await _is_refused_as_moved(house)
    assert house.ended is not None
    assert house.ended.how == "stopped"


async def test_a_fault_in_a_batch_refuses_everybody_in_it_and_no_one_is_told_success(
    tmp_path: Path,
) -> None:
    log = EventLog()
    async with running(tmp_path, log=log, trace=True) as house:
        os.rename(house.settings.path, house.settings.path + ".away")
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(house.write, f"n{number}", note(f"n{number}"))
        os.rename(house.settings.path + ".away", house.settings.path)
    assert set(house.heard.values()) == {"moved"}
    assert len(house.heard) == 20
    assert log.of("store.acked", "store.committed").kinds() == []
    assert told(log) == ["store.refusing moved"]


# What the engine may say --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.FullError("x"), "full"),
        (apsw.BusyError("x"), "busy"),
        (apsw.ReadOnlyError("x"), "readonly"),
        (apsw.CorruptError("x"), "corrupt"),
        (apsw.NotADBError("x"), "corrupt"),
        (apsw.IOError("x"), "io"),
        (apsw.CantOpenError("x"), "unreachable"),
        (apsw.TooBigError("x"), "too_big"),
        (apsw.ConstraintError("x"), "invalid"),
        (OSError(28, "x"), "full"),
        (OSError(122, "x"), "full"),
        (OSError(30, "x"), "readonly"),
        (OSError(2, "x"), "unreachable"),
        (OSError(5, "x"), "io"),
    ],
)
def test_every_fault_has_a_word_for_programs_and_a_sentence_for_people(
    error: Exception, kind: str
) -> None:
    told = faults.translate(error)
    assert isinstance(told, StoreRefused)
    assert told.kind == kind
    assert str(told).startswith("The store refused: ")


def test_a_quota_is_told_as_full_and_a_bug_stays_a_bug() -> None:
    quota = faults.translate(apsw.IOError("disk I/O error"), system_errno=122)
    assert isinstance(quota, StoreRefused)
    assert quota.kind == "full"
    bug = KeyError("x")
    assert faults.translate(bug) is bug


async def test_a_value_too_large_for_the_engine_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        with pytest.raises(StoreRefused) as refused:
            await house.store.write(Write(lambda sql: value(sql, "SELECT zeroblob(3000000000)")))
        assert refused.value.kind == "too_big"
        await house.store.write(note("a"))


# --------------------------------------------------------------------------------------------------


async def _is_refused_as_moved(house: House) -> None:
    with pytest.raises(StoreRefused, match="put it back") as refused:
        await house.store.write(note("lost"))
    assert refused.value.kind == "moved"


def _kind(result: Result) -> str:
    if isinstance(result, outcome.Value):
        return "written"
    return result.error.kind if isinstance(result.error, StoreRefused) else repr(result.error)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _overwrite(path: str, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.write(content)


def _damage_header(path: str) -> None:
    Writer(settings_in(Path(path).parent)).close()
    _overwrite(path, b"This is no longer a database.   ")


def _without_page_of(path: str, table: str) -> bytes:
    """The file's bytes, with the root page of a table overwritten."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    db.close()
    content = bytearray(_bytes(path))
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    return bytes(content)
