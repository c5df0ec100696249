"""OpenAI's responses over the network."""

from __future__ import annotations

import functools

from adapters.http_client import Lanes
from adapters.models.openai_responses.reading import ResponseReading
from adapters.models.openai_responses.wire import encode
from adapters.models.options import Options, address
from adapters.models.stream import Patience, StreamingModel
from adapters.models.trouble import Interpreter

HOME = "https://api.openai.com/v1"


def responses(
    lanes: Lanes,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    options: Options | None = None,
    patience: Patience | None = None,
    interpreter: Interpreter,
) -> StreamingModel:
    """A model behind `/responses`."""
    return StreamingModel(
        lanes,
        address(base_url or HOME, "v1", "responses"),
        {"authorization": f"Bearer {api_key}"} if api_key else {},
        interpreter,
        patience or Patience(),
        functools.partial(encode, options=options or Options()),
        ResponseReading,
    )
