from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hermes_actors.store.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()
