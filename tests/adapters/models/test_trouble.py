"""What refusals mean, and that their words help without telling secrets."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from adapters.models.trouble import Interpreter, told, wait_of
from hermes_actors.ports import ModelTrouble
from hermes_actors.redact import Redactor

SOMEBODY = Interpreter("openai/gpt", Redactor(["hunter2-hunter2"]))


def kind_of(status: int, error: Any = None) -> str:
    body = json.dumps({"error": error}).encode() if error is not None else b""
    return SOMEBODY.refused(status, {}, body).kind


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (301, None, "bad_request"),
        (400, {"message": "unknown field"}, "bad_request"),
        (400, {"code": "context_length_exceeded"}, "context_overflow"),
        (
            400,
            {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
            "context_overflow",
        ),
        (400, {"message": "the request exceeds the available context size"}, "context_overflow"),
        (400, {"message": "Your credit balance is too low"}, "billing"),
        (400, {"code": "content_filter"}, "content_filter"),
        (401, {"message": "Incorrect API key provided"}, "unauthorized"),
        (402, None, "billing"),
        (403, {"message": "not allowed"}, "unauthorized"),
        (403, {"message": "blocked by the content policy"}, "content_filter"),
        (404, {"message": "The model `x` does not exist"}, "bad_request"),
        (408, None, "timeout"),
        (413, None, "context_overflow"),
        (422, {"message": "bad schema"}, "bad_request"),
        (429, {"message": "Rate limit reached"}, "rate_limited"),
        (429, {"code": "insufficient_quota"}, "billing"),
        (500, None, "overloaded"),
        (502, "Bad Gateway", "overloaded"),
        (503, None, "overloaded"),
        (504, None, "overloaded"),
        (529, {"type": "overloaded_error"}, "overloaded"),
    ],
)
def test_every_status_has_a_kind(status: int, error: Any, kind: str) -> None:
    assert kind_of(status, error) == kind


def test_the_words_name_who_what_and_the_next_step() -> None:
    failure = SOMEBODY.refused(503, {}, b'{"error": {"message": "Try\\n later"}}')
    assert str(failure) == (
        "openai/gpt is overloaded or broken (HTTP 503): Try later. "
        "The trouble is on the provider's side: try again in a minute."
    )


def test_a_page_in_place_of_an_error_is_cut_to_its_words() -> None:
    page = b"<html><body><h1>502 Bad Gateway</h1></body></html>" + b"x" * 5000
    words = str(SOMEBODY.refused(502, {}, page))
    assert "502 Bad Gateway" in words
    assert "<" not in words
    assert len(words) < 500


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_a_secret_that_the_provider_repeats_is_not_repeated_again(status: int) -> None:
    for secret in ("hunter2-hunter2", "sk-abcdefghijklmnop1234"):
        echo = json.dumps({"error": {"message": f"bad key {secret} used"}}).encode()
        assert secret not in str(SOMEBODY.refused(status, {}, echo))


def test_a_refused_key_is_never_quoted_not_even_in_part() -> None:
    echo = json.dumps({"error": {"message": "Incorrect API key: sk-ab****wxyz"}}).encode()
    assert "wxyz" not in str(SOMEBODY.refused(401, {}, echo))


@pytest.mark.parametrize("kind", get_args(ModelTrouble))
def test_every_kind_has_words_of_advice(kind: ModelTrouble) -> None:
    words = str(told(kind, "It failed."))
    assert words.startswith("It failed. ")
    assert len(words) > len("It failed. ") + 10


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, 1e9),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        (
            {
                "retry-after": "Wed, 18 Nov 2026 11:00:30 GMT",
                "date": "Wed, 18 Nov 2026 11:00:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 18 Nov 2026 10:00:00 GMT",
                "date": "Wed, 18 Nov 2026 11:00:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Wed, 18 Nov 2026 11:00:30 GMT"}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_of(headers) == seconds
