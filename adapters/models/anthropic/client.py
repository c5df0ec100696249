"""Anthropic's messages over the network, and everybody who speaks as they do."""

from __future__ import annotations

import functools

import httpx  # noqa: ASYNC127  see http_client.py

from adapters.http_client import Lanes
from adapters.models.anthropic.reading import MessageReading
from adapters.models.anthropic.wire import encode
from adapters.models.options import Options, address
from adapters.models.stream import Patience, StreamingModel
from adapters.models.trouble import Interpreter

HOME = "https://api.anthropic.com"
VERSION = "2023-06-01"


def messages(
    lanes: Lanes,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    options: Options | None = None,
    patience: Patience | None = None,
    interpreter: Interpreter,
) -> StreamingModel:
    """A model behind `/v1/messages`. `base_url` may end in `/v1` or before it."""
    base = (base_url or HOME).rstrip("/")
    versioned = base.endswith(("/v1", "/messages"))
    url = address(base if versioned else f"{base}/v1", "v1", "messages")
    headers = {"anthropic-version": VERSION}
    if api_key:
        headers["x-api-key"] = api_key
    if api_key and httpx.URL(url).host != httpx.URL(HOME).host:
        headers["authorization"] = f"Bearer {api_key}"  # what those who imitate it look at
    return StreamingModel(
        lanes,
        url,
        headers,
        interpreter,
        patience or Patience(),
        functools.partial(encode, options=options or Options()),
        MessageReading,
    )
