from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from hermes_actors.errors import EXIT_CONFIG, ConfigError, StoreRefused, StoreTooNew
from hermes_actors.failpoints import FailpointHit, arm
from hermes_actors.store.connection import filesystem_of, open_writer, refuse_network
from hermes_actors.store.migrations import APPLICATION_ID, Migration, known
from hermes_actors.store.writer import Writer
from tests.hermes_actors.store.children import ROOT, attempt
from tests.hermes_actors.store.house import names_in, settings_in


def schema_of(path: str) -> list[tuple[object, ...]]:
    db = apsw.Connection(path)
    try:
        version = db.execute("PRAGMA user_version").get
        return [("version", version), *db.execute("SELECT type, name, sql FROM sqlite_schema")]
    finally:
        db.close()


def written_in(folder: Path) -> dict[str, bytes]:
    """Every file with something in it, but for the index that each process makes for itself."""
    files = {each.name: each.read_bytes() for each in folder.iterdir() if "-shm" not in each.name}
    return {name: content for name, content in files.items() if content}


def test_a_new_file_gets_every_step_and_says_whose_it_is(tmp_path: Path) -> None:
    db = open_writer(settings_in(tmp_path / "deep" / "down"))
    assert db.pragma("user_version") == len(known()) == 2
    assert db.pragma("application_id") == APPLICATION_ID
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("synchronous") == 2
    assert db.pragma("integrity_check") == "ok"
    db.close()


def test_an_older_file_is_brought_forward_with_its_content(tmp_path: Path) -> None:
    old = open_writer(settings_in(tmp_path), known()[:1])
    old.execute("INSERT INTO notes VALUES ('test', 'kept', '1', 0)")
    old.close()
    open_writer(settings_in(tmp_path)).close()
    assert names_in(settings_in(tmp_path).path) == ["kept"]
    assert schema_of(settings_in(tmp_path).path)[0] == ("version", 2)


@pytest.mark.parametrize("point", ["store.migrate.before", "store.migrate.middle"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_kill_in_the_middle_of_a_step_changes_nothing(
    tmp_path: Path, point: str, step: int
) -> None:
    untouched, killed = tmp_path / "untouched", tmp_path / "killed"
    open_writer(settings_in(untouched), known()[: step - 1]).close()
    child = subprocess.run(
        [sys.executable, "-m", "tests.hermes_actors.store.children", "migrate", str(killed)],
        cwd=ROOT,
        env={**os.environ, "HERMES_FAILPOINTS": f"{point}=kill@{step}"},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    assert schema_of(settings_in(killed).path) == schema_of(settings_in(untouched).path)
    open_writer(settings_in(killed)).close()
    assert schema_of(settings_in(killed).path)[0] == ("version", 2)


def test_a_step_that_fails_is_undone_and_tried_again_at_the_next_start(tmp_path: Path) -> None:
    broken = Migration(3, "broken", "CREATE TABLE half (x); CREATE TABLE half (x);")
    with pytest.raises(apsw.SQLError, match="already exists"):
        open_writer(settings_in(tmp_path), (*known(), broken))
    assert schema_of(settings_in(tmp_path).path)[0] == ("version", 2)
    good = Migration(3, "good", "CREATE TABLE half (x)")
    open_writer(settings_in(tmp_path), (*known(), good)).close()
    assert schema_of(settings_in(tmp_path).path)[0] == ("version", 3)


def test_a_failure_at_open_leaves_no_lock_behind(tmp_path: Path) -> None:
    arm("store.migrate.middle=raise@1")
    try:
        with pytest.raises(FailpointHit):
            open_writer(settings_in(tmp_path))
    finally:
        arm("")
    open_writer(settings_in(tmp_path)).close()


@pytest.mark.parametrize("with_log", [False, True])
def test_a_newer_file_is_refused_and_keeps_its_bytes(tmp_path: Path, with_log: bool) -> None:
    settings = settings_in(tmp_path)
    newer = open_writer(settings, (*known(), Migration(3, "future", "CREATE TABLE future (x)")))
    if with_log:
        newer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    newer.close()
    before = written_in(tmp_path)
    assert ("hermes.db-wal" in before) is with_log
    with pytest.raises(StoreTooNew, match="start the newer version again") as refused:
        open_writer(settings)
    assert refused.value.exit_code == EXIT_CONFIG == 78
    assert written_in(tmp_path) == before


def test_a_file_of_another_program_is_refused_and_keeps_its_bytes(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    theirs = apsw.Connection(settings.path)
    theirs.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    theirs.close()
    before = Path(settings.path).read_bytes()
    with pytest.raises(ConfigError, match="another program") as refused:
        open_writer(settings)
    assert refused.value.exit_code == 78
    assert Path(settings.path).read_bytes() == before
    assert list(written_in(tmp_path)) == ["hermes.db"]


def test_an_empty_file_is_taken_as_a_new_one(tmp_path: Path) -> None:
    Path(settings_in(tmp_path).path).touch()
    writer = Writer(settings_in(tmp_path))
    assert attempt(writer, "a") == "written"
    writer.close()


def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hermes.db").mkdir()
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreRefused, match="cannot be opened") as refused:
            open_writer(settings_in(folder))
        assert refused.value.kind == "unreachable"


MOUNTS = r"""
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
40 22 0:38 / /home rw shared:2 - nfs4 server:/home rw
41 40 0:39 / /home/ann/local\040disk rw shared:3 - xfs /dev/vdb rw
42 22 0:40 / /homestead rw - cifs //server/x rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/hermes.db", "ext4"),
        ("/home/ann/hermes.db", "nfs4"),
        ("/home/ann/local disk/hermes.db", "xfs"),
        ("/homestead/hermes.db", "cifs"),
        ("/homes/hermes.db", "ext4"),
    ],
)
def test_the_filesystem_of_a_path_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert filesystem_of(path, MOUNTS) == kind


def test_a_network_filesystem_is_refused_and_a_local_or_unknown_one_is_not() -> None:
    for path in ("/home/ann/hermes.db", "/homestead/hermes.db"):
        with pytest.raises(ConfigError, match="network filesystem"):
            refuse_network(path, MOUNTS)
    refuse_network("/var/lib/hermes.db", MOUNTS)
    refuse_network("/home/ann/hermes.db", "")
