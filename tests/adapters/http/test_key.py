from __future__ import annotations

import stat
from pathlib import Path

import pytest

from adapters.http.key import Keyring, key_in


def test_a_key_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    key = key_in(tmp_path)
    assert len(key) >= 32
    assert key_in(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "api.key").stat().st_mode) == 0o600


def test_two_homes_have_two_keys(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert key_in(tmp_path) != key_in(tmp_path / "other")


@pytest.mark.parametrize(
    ("header", "opens"),
    [
        ("Bearer right-key", True),
        ("bearer  right-key ", True),
        ("Bearer wrong-key", False),
        ("Bearer ", False),
        ("Basic right-key", False),
        ("right-key", False),
        ("Bearer right-key-and-more", False),
        ("Bearer \udcff", False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_right_bearer_key_opens(header: str | None, opens: bool) -> None:
    assert Keyring("right-key").opens(header) is opens
