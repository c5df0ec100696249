"""The key of the HTTP API: configured, or made once and kept in the home folder."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

KEY_FILE = "api.key"


def key_in(home: Path) -> str:
    """The key of this home, made on first use. Only the owner can read the file."""
    path = home / KEY_FILE
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(file, "w", encoding="ascii") as fresh:
        key = secrets.token_urlsafe(32)
        fresh.write(key + "\n")
        fresh.flush()
        os.fsync(fresh.fileno())
    return key


class Keyring:
    """Compares keys in constant time, and keeps only a digest of the right one."""

    def __init__(self, key: str) -> None:
        self._digest = _digest(key)

    def opens(self, authorization: str | None) -> bool:
        """Whether an `Authorization` header carries the right bearer key."""
        scheme, _, given = (authorization or "").partition(" ")
        same = hmac.compare_digest(_digest(given.strip()), self._digest)
        return scheme.lower() == "bearer" and same


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
