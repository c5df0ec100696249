"""Chat completions over the network: OpenAI, and everybody who speaks as they do."""

from __future__ import annotations

import functools

import httpx  # noqa: ASYNC127  see http_client.py
import msgspec

from adapters.http_client import Lanes
from adapters.models.openai_chat.reading import ChatReading
from adapters.models.openai_chat.wire import encode
from adapters.models.options import Options, address
from adapters.models.stream import Patience, StreamingModel
from adapters.models.trouble import Interpreter

HOME = "https://api.openai.com/v1"


def chat_completions(
    lanes: Lanes,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    options: Options | None = None,
    patience: Patience | None = None,
    interpreter: Interpreter,
) -> StreamingModel:
    """A model behind `/chat/completions`. Without a key none is sent, as local servers like it."""
    url = address(base_url or HOME, "v1", "chat/completions")
    options = msgspec.structs.replace(options or Options(), host=httpx.URL(url).host)
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    return StreamingModel(
        lanes,
        url,
        headers,
        interpreter,
        patience or Patience(),
        functools.partial(encode, options=options),
        ChatReading,
    )
