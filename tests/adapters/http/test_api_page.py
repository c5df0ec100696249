"""The examples of docs/api.md, run as they stand against a gateway in a process of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.adapters.http.test_front import WITH_THE_KEY
from tests.supervisors.process import PATIENCE, GatewayProcess

PAGE = Path(__file__).parents[3] / "docs" / "api.md"


def examples() -> list[str]:
    """Every shell block after the one that sets URL and KEY."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert "export URL" in blocks[0]
    return blocks[1:]


def promises(example: str) -> list[str]:
    """What its comments say that the output holds."""
    return re.findall(r"^# → (.*)$", example, re.MULTILINE)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples use curl")
def test_every_example_does_what_the_page_says(tmp_path: Path) -> None:
    with GatewayProcess(tmp_path / "home") as gateway:
        url = gateway.wait_until_up()
        environ = {"URL": url, "KEY": (gateway.home / "api.key").read_text().strip()}
        for example in examples():
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", example],
                env={**environ, "PATH": "/usr/local/bin:/usr/bin:/bin"},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert promises(example)
            for promise in promises(example):
                assert promise in done.stdout, (example, done.stdout)


def test_the_page_names_every_route_and_no_other() -> None:
    named = set(re.findall(r"(?:GET|POST) (/[a-z0-9/{}_]+)|\$URL(/[a-z0-9/]+)", PAGE.read_text()))
    paths = {re.sub(r"\{\w+\}", "{}", one or other) for one, other in named} - {"/v1/runs/"}
    known = {re.sub(r"\{\w+\}", "{}", path) for _, path in WITH_THE_KEY}
    assert known - paths == {"/v1/health", "/v1/models/{}", "/api/sessions/{}"}
    assert paths <= known
