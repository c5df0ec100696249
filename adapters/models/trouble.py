"""What a provider's refusal means, and what to tell the person who waits.

Pure: a status, headers and a body in, a `ModelFailed` out. The kind decides whether another try
can help. The words name the cause and the next step; a provider's own words are quoted in one
short line, except when it refuses the key, for then it likes to quote the key.
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from adapters.models.canonical import UNREADABLE
from hermes_actors.ports import ModelFailed, ModelTrouble
from hermes_actors.redact import Redactor

Decoded = TypeVar("Decoded")

_QUOTE = 300
_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens"
    r"|input (is )?too long|reduce the length|max_tokens.{0,60}context"
    r"|exceeds? the (maximum|available|model).{0,40}(context|tokens)",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content[ _]?(filter|policy)|responsible ?ai|flagged|safety system", re.I)
_BILLING = re.compile(r"insufficient[_ ](quota|credit|balance|funds)|credit balance|billing", re.I)
_BUSY = re.compile(r"overloaded|capacity|temporarily unavailable|server[_ ]error", re.I)
_RATE = re.compile(r"rate[ _-]?limit|too many requests", re.I)

_NEXT_STEP: dict[ModelTrouble, str] = {
    "rate_limited": "Wait a moment and try again, or add model.fallbacks.",
    "overloaded": "The trouble is on the provider's side: try again in a minute.",
    "unreachable": "Check the network and model.base_url, then try again.",
    "timeout": "Try again, or raise the timeouts in [model].",
    "unauthorized": "Check model.api_key and whether the key may use this model.",
    "billing": "Top up the account with the provider, or use another key.",
    "context_overflow": "The conversation is too long for this model: /compress or /new helps.",
    "content_filter": "The provider refuses this content: rephrase it, or use another model.",
    "bad_request": "Check model.name and model.base_url.",
    "bad_reply": "Try again; if it stays so, check that model.base_url speaks this protocol.",
}


class ErrorDetail(msgspec.Struct):
    """The part that most providers agree on."""

    message: Any = None
    type: Any = None
    code: Any = None
    status: Any = None


class _ErrorBody(msgspec.Struct):
    error: ErrorDetail | str | None = None
    message: Any = None
    detail: Any = None
    type: Any = None
    code: Any = None


def told(kind: ModelTrouble, cause: str, retry_after: float | None = None) -> ModelFailed:
    """A failure in words: the cause as one sentence, then what to do about it."""
    return ModelFailed(kind, f"{cause.rstrip('. ')}. {_NEXT_STEP[kind]}", retry_after)


class Interpreter:
    """Reads the refusals of one provider. `who` is its name in the words for the user."""

    def __init__(self, who: str, redactor: Redactor) -> None:
        self.who, self._redactor = who, redactor

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFailed:
        """What an answer other than 200 means."""
        if 300 <= status < 400:
            return told("bad_request", f"{self.who} redirects to another address (HTTP {status})")
        detail = detail_of(body)
        kind = _kind_of(status, _words(detail))
        return self._failure(kind, f"HTTP {status}", detail, wait_of(headers))

    def interrupted(self, detail: ErrorDetail | str | None) -> ModelFailed:
        """What an error inside a stream means that had begun well."""
        detail = ErrorDetail(message=detail) if isinstance(detail, str) else detail or ErrorDetail()
        status = next((each for each in (detail.code, detail.status) if _is_status(each)), 0)
        kind = _kind_of(int(status), _words(detail))
        return self._failure(kind, "an error in the middle of the answer", detail, None)

    def decoded(self, decoder: msgspec.json.Decoder[Decoded], data: bytes) -> Decoded:
        """The value of a piece of JSON, or the failure that it is none."""
        try:
            return decoder.decode(data)
        except UNREADABLE as error:
            raise self.garbled(str(error)[:200]) from error

    def garbled(self, why: str) -> ModelFailed:
        """The answer is not what this protocol says it should be."""
        return told("bad_reply", f"{self.who} sent an answer that cannot be read: {why}")

    def _failure(
        self, kind: ModelTrouble, how: str, detail: ErrorDetail, wait: float | None
    ) -> ModelFailed:
        quote = "" if kind == "unauthorized" else self._quoted(detail)
        return told(kind, f"{self.who} {_SAYS[kind]} ({how}){quote}", wait)

    def _quoted(self, detail: ErrorDetail) -> str:
        text = " ".join(str(detail.message or "").split())
        text = self._redactor.text(re.sub(r"<[^>]{0,200}>", "", text))
        return f": {text[:_QUOTE]}" if text else ""


_SAYS: dict[ModelTrouble, str] = {
    "rate_limited": "says that there were too many requests",
    "overloaded": "is overloaded or broken",
    "unreachable": "cannot be reached",
    "timeout": "took too long",
    "unauthorized": "does not accept the key",
    "billing": "wants to be paid first",
    "context_overflow": "cannot take a conversation of this length",
    "content_filter": "has blocked the content",
    "bad_request": "does not understand the request",
    "bad_reply": "sent an answer that cannot be read",
}


def wait_of(headers: Mapping[str, str]) -> float | None:
    """The wait that the provider asks for, in seconds; None when it does not say."""
    if (number := _number(headers.get("retry-after-ms"))) is not None:
        return number / 1000
    written = headers.get("retry-after")
    if written is None or (number := _number(written)) is not None:
        return number if written is not None else None
    until, now = _moment(written), _moment(headers.get("date"))
    return max(0.0, until - now) if until is not None and now is not None else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return min(max(number, 0.0), 1e9) if number == number else None


def _moment(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp()
    except ValueError:
        return None


def detail_of(body: bytes) -> ErrorDetail:
    """What a provider says about an error, in whichever of the usual shapes."""
    try:
        found = msgspec.json.decode(body, type=_ErrorBody)
    except UNREADABLE:
        return ErrorDetail(message=body[:2000].decode("utf-8", "replace"))
    if isinstance(found.error, ErrorDetail):
        return found.error
    words = found.error or found.message or found.detail
    return ErrorDetail(message=words, type=found.type, code=found.code)


def _words(detail: ErrorDetail) -> str:
    return f"{detail.code} {detail.type} {detail.status} {str(detail.message)[:2000]}"


def _is_status(value: Any) -> bool:
    return bool(re.fullmatch("[45][0-9]{2}", str(value), re.ASCII))


def _kind_of(status: int, words: str) -> ModelTrouble:
    if status in (401, 403):
        return "content_filter" if _FILTER.search(words) else "unauthorized"
    if status == 402 or (status in (0, 400, 429) and _BILLING.search(words)):
        return "billing"
    if status == 413 or (status in (0, 400, 422, 500) and _OVERFLOW.search(words)):
        return "context_overflow"
    if status in (0, 400, 422) and _FILTER.search(words):
        return "content_filter"
    if status == 429 or (status in (0, 400) and _RATE.search(words)):
        return "rate_limited"
    if status == 408:
        return "timeout"
    if status in (409, 425) or status >= 500 or (status == 0 and _BUSY.search(words)):
        return "overloaded"
    return "bad_request" if status else _without_status(words)


def _without_status(words: str) -> ModelTrouble:
    if re.search(r"authentication|api[ _]key|permission", words, re.I):
        return "unauthorized"
    return "bad_request" if re.search(r"invalid_request|not_found", words) else "overloaded"
