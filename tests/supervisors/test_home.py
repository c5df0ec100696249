from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_actors.errors import ConfigError, HomeLocked
from supervisors.home import Home, Presence, is_held, presence, write_private


def test_a_home_is_made_private_and_is_held_until_closed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "home"
    with Home(path) as home:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert is_held(path)
        home.close()
        assert not is_held(path)


def test_a_second_holder_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    with Home(tmp_path), pytest.raises(HomeLocked, match=f"process {os.getpid()}.*--home"):
        Home(tmp_path)


def test_looking_at_a_home_neither_takes_nor_makes_anything(tmp_path: Path) -> None:
    assert presence(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    with Home(tmp_path) as home:
        home.announce("1.0", "http://127.0.0.1:1")
        found = presence(tmp_path)
        assert found is not None
        assert (found.pid, found.version, found.url) == (os.getpid(), "1.0", "http://127.0.0.1:1")
    assert presence(tmp_path) is None


def test_a_holder_that_has_not_spoken_yet_is_seen_as_present(tmp_path: Path) -> None:
    with Home(tmp_path):
        assert presence(tmp_path) == Presence(pid=0, since=0.0, version="", url=None)


def test_what_a_dead_holder_announced_is_not_believed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.announce("1.0", "http://127.0.0.1:1")
    left = (tmp_path / "gateway.json").read_bytes()
    home.close()
    write_private(tmp_path / "gateway.json", left)
    assert presence(tmp_path) is None


def test_a_process_that_we_start_does_not_inherit_the_lock(tmp_path: Path) -> None:
    home = Home(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "print('here', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=False,
    )
    try:
        # A moment of its start it shares our files; once it speaks, that moment is over.
        assert child.stdout is not None
        child.stdout.readline()
        home.close()
        assert not is_held(tmp_path)
    finally:
        child.communicate(b"\n")


def test_a_home_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--home"):
        Home(tmp_path / "file" / "home")


def test_a_private_file_is_replaced_whole_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "x", b"first, and longer")
    write_private(tmp_path / "x", b"second")
    assert (tmp_path / "x").read_bytes() == b"second"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
