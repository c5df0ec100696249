"""Backups of a store in use, and what is saved from a damaged file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import trio

from hermes_actors.errors import StoreRefused
from hermes_actors.store import messages, search
from hermes_actors.store.__main__ import main
from hermes_actors.store.backup import back_up, damage
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.rescue import rescue
from tests.hermes_actors.store.desk import Desk
from tests.hermes_actors.store.house import names_in, note, running
from tests.hermes_actors.store.test_runs import begun


async def test_a_backup_of_a_store_in_use_is_whole_and_has_all_that_was_told(
    tmp_path: Path,
) -> None:
    copy = str(tmp_path / "copy.db")
    async with running(tmp_path) as house:
        await house.store.write(note("before"))
        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(house.store.write, note(f"meanwhile {number}"))
            await trio.to_thread.run_sync(back_up, house.settings.path, copy)
        await house.store.write(note("after"))
    assert damage(copy) == []
    kept = names_in(copy)
    assert "before" in kept
    assert "after" not in kept
    assert os.stat(copy).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "hermes.db"]


async def test_a_backup_can_be_used_in_place_of_the_store(tmp_path: Path) -> None:
    (old, new) = (tmp_path / "old", tmp_path / "new")
    async with running(old) as house:
        await house.store.write(note("a"))
        os.makedirs(new)
        back_up(house.settings.path, str(new / "hermes.db"))
    async with running(new) as house:
        await house.store.write(note("b"))
        assert house.on_disk() == ["a", "b"]


def test_a_backup_never_replaces_anything_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    taken, missing = tmp_path / "taken", tmp_path / "missing"
    taken.write_text("precious")
    with pytest.raises(StoreRefused, match="choose another name"):
        back_up(str(missing), str(taken))
    with pytest.raises(StoreRefused, match="cannot be opened"):
        back_up(str(missing), str(tmp_path / "copy"))
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]
    assert taken.read_text() == "precious"


# Rescue ---------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> Callable[[str, int], str]:
    """Makes a store with words in it, and overwrites one page in the middle of a table."""

    def make(table: str, number: int) -> str:
        desk = Desk(tmp_path)
        begun(desk, "m1")
        lines = [NewMessage(role="user", content=f"line {n} " + "x" * 900) for n in range(200)]
        desk.do(messages.append("s1", lines, now=2.0))
        for n in range(200):
            desk.do(note(f"n{n:03}", "x" * 900))
        path = desk.settings.path
        desk.close()
        _overwrite_leaf(path, table, number)
        return path

    return make


def test_what_lies_before_and_after_the_damage_is_saved_and_can_be_searched(
    tmp_path: Path, damaged: Callable[[str, int], str]
) -> None:
    path, folder = damaged("messages", 20), tmp_path / "new"
    assert damage(path) != []
    saved = rescue(path, str(folder / "hermes.db"))
    assert saved.damaged == ("messages",)
    assert 190 < saved.saved["messages"] < 201
    assert saved.saved["notes"] == 200
    desk = Desk(folder)
    assert damage(desk.settings.path) == []
    for words in ("line 1", "line 199"):
        assert len(desk.ask(search.search(f'"{words}"'))) == 1
    desk.close()


def test_words_whose_session_is_lost_get_a_new_one(
    tmp_path: Path, damaged: Callable[[str, int], str]
) -> None:
    path, folder = damaged("sessions", 0), tmp_path / "new"
    saved = rescue(path, str(folder / "hermes.db"))
    assert "sessions" in saved.damaged
    desk = Desk(folder)
    assert len(desk.ask(messages.transcript("s1"))) == 201
    assert desk.sql("SELECT session_key FROM sessions") == [("rescued:s1",)]
    desk.close()


def test_a_message_in_the_hand_of_a_lost_run_waits_again(
    tmp_path: Path, damaged: Callable[[str, int], str]
) -> None:
    path, folder = damaged("runs", 0), tmp_path / "new"
    rescue(path, str(folder / "hermes.db"))
    desk = Desk(folder)
    assert desk.sql("SELECT key, state, run_id FROM inbox") == [("m1", "queued", None)]
    desk.close()


def test_a_whole_file_is_saved_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    begun(desk, "m1", "m2")
    before = desk.everything()
    desk.close()
    saved = rescue(desk.settings.path, str(tmp_path / "new" / "hermes.db"))
    assert (saved.damaged, saved.let_go) == ((), 0)
    desk = Desk(tmp_path / "new")
    assert desk.everything() == before
    desk.close()


def test_the_commands_of_the_page_do_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damaged: Callable[[str, int], str]
) -> None:
    path = damaged("notes", 20)
    assert main(["check", path]) == 75
    assert "is damaged:" in capsys.readouterr().err
    assert main(["rescue", path, str(tmp_path / "saved.db")]) == 0
    assert "tables with gaps: notes" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "saved.db")]) == 0
    assert main(["backup", str(tmp_path / "saved.db"), str(tmp_path / "copy.db")]) == 0
    assert "the copy is whole" in capsys.readouterr().out
    Path(path).write_bytes(b"not a database at all, and long enough to be looked at" * 100)
    assert main(["rescue", path, str(tmp_path / "none.db")]) == 75
    assert "restore the last backup" in capsys.readouterr().err
    assert main(["help"]) == 64
    assert "usage:" in capsys.readouterr().err


def _overwrite_leaf(path: str, table: str, number: int) -> None:
    """Damage the leaf page with this number, in the order of the table."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    leaves = db.execute(
        "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
    )
    pages = [page for (page,) in leaves]
    db.close()
    with open(path, "r+b") as file:
        file.seek((pages[number] - 1) * 4096)
        file.write(b"\xff" * 4096)
