"""The bytes of an answer, as chat completions have them."""

from __future__ import annotations

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"connection: keep-alive\r\n\r\n"
)
_CHUNK = (
    b'{"id":"answer","object":"chat.completion.chunk","created":1,"model":"fake","choices":[%b]%b}'
)
_USAGE = b'{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}'
_WHOLE = (
    b'{"id":"answer","object":"chat.completion","created":1,"model":"fake","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"%b"},"finish_reason":"stop"}],"usage":%b}'
)
MODELS = b'{"object":"list","data":[{"id":"fake","object":"model","created":1,"owned_by":"fake"}]}'


def piece(number: int) -> bytes:
    """One more word, as a chunk of the body."""
    words = b'{"index":0,"delta":{"content":"word%d "},"finish_reason":null}' % number
    return _event(_CHUNK % (words, b""))


def end() -> bytes:
    """Why it ended, what it cost, and the end of the body."""
    last = b'{"index":0,"delta":{},"finish_reason":"stop"}'
    cost = b',"usage":%b' % _USAGE
    return _event(_CHUNK % (last, b"")) + _event(_CHUNK % (b"", cost)) + _event(b"[DONE]") + _LAST


def whole(deltas: int) -> bytes:
    """The same for one who did not ask for a stream."""
    words = b"".join(b"word%d " % number for number in range(deltas))
    return plain(_WHOLE % (words, _USAGE))


def plain(body: bytes) -> bytes:
    """A JSON body with its head."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


def _event(data: bytes) -> bytes:
    event = b"data: %b\n\n" % data
    return b"%x\r\n%b\r\n" % (len(event), event)


_LAST = b"0\r\n\r\n"
