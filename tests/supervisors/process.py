"""A real gateway in a real process, for tests that send it real signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

PATIENCE = 30.0


class GatewayProcess:
    """Started on entering, killed on leaving if it is still there."""

    def __init__(self, home: Path, config: str = "", *, plugins: Path | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        file = home / "test.toml"
        file.write_text(config or "[adapters.api_server]\nport = 0\n", encoding="utf-8")
        paths = [str(plugins)] if plugins else []
        self._command = [sys.executable, "-m", "supervisors.main", "gateway"]
        self._command += ["--home", str(home), "--config", str(file)]
        self._environ = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.getcwd()])}
        self.home, self.welcome = home, ""
        self._errors: list[str] = []
        self._heard = threading.Condition()

    def __enter__(self) -> GatewayProcess:
        self.process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()

    def wait_until_up(self) -> str:
        """Read the welcome; the address it names."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.welcome += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://[^ ]+", self.welcome)
        assert found is not None, f"no welcome; it said: {self.welcome!r} {self.errors()!r}"
        return found[0]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code. Fails if the process does not end."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def errors(self) -> str:
        """What it has written to standard error so far."""
        return "".join(self._errors)

    def wait_for_error(self, words: str) -> None:
        """Wait until the log says this."""
        with self._heard:
            assert self._heard.wait_for(lambda: words in self.errors(), PATIENCE), self.errors()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._heard:
                self._errors.append(line)
                self._heard.notify_all()


def command(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run one `hermes-actors` command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "supervisors.main", *arguments, "--home", str(home)],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
