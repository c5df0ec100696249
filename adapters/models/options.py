"""What a provider has to know beside the request: how the owner set up this model."""

from __future__ import annotations

from typing import Literal

import httpx  # noqa: ASYNC127  see http_client.py
import msgspec

Effort = Literal["none", "low", "medium", "high"]


class Options(msgspec.Struct, frozen=True):
    """The owner's wishes. None means: whatever the provider does by itself."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: Effort | None = None
    host: str = ""


def address(base_url: str, version: str, path: str) -> str:
    """The full address of an endpoint, however much of it `base_url` already has.

    >>> address("http://localhost:11434", "v1", "chat/completions")
    'http://localhost:11434/v1/chat/completions'
    """
    url = httpx.URL(base_url.rstrip("/"))
    odd = "%" in url.host and ":" not in url.host  # letters that httpx had to escape
    if not url.host or odd or (url.port or 0) > 65_535:
        raise httpx.InvalidURL("it names no host that can exist")
    if url.path.endswith(f"/{path}"):
        return str(url)
    if url.path == "/":
        return f"{str(url).rstrip('/')}/{version}/{path}"
    return f"{url}/{path}"
