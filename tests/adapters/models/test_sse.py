"""Server-sent events, however they are cut and however their lines end."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.sse import SseEvent, SseParser, TooLong

TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
EVENTS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=4)), max_size=6)


def parsed(*pieces: bytes) -> list[SseEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.finish()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(
    EVENTS,
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=20),
)
def test_any_events_survive_any_cutting_and_any_kind_of_line_end(
    events: list[tuple[str, list[str]]], end: str, mark: bool, places: list[int]
) -> None:
    lines = []
    for kind, data in events:
        lines += [": a comment", f"event: {kind}", *(f"data: {line}" for line in data), "id: 7", ""]
    written = ("\ufeff" if mark else "") + "".join(line + end for line in lines)
    wanted = [SseEvent(kind, "\n".join(data).encode()) for kind, data in events]
    assert parsed(*cut(written.encode(), places)) == wanted


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_noise_gives_the_same_events_however_it_is_cut(noise: bytes, places: list[int]) -> None:
    assert parsed(*cut(noise, places)) == parsed(noise)


@pytest.mark.parametrize(
    ("written", "events"),
    [
        (b"data: a\n\n", [SseEvent("", b"a")]),
        (b"data:a\n\n", [SseEvent("", b"a")]),
        (b"data:  a\n\n", [SseEvent("", b" a")]),
        (b"data: a\ndata: b\n\n", [SseEvent("", b"a\nb")]),
        (b"data\n\n", [SseEvent("", b"")]),
        (b"event: x\n\ndata: a\n\n", [SseEvent("", b"a")]),
        (b": ping\n\n", []),
        (b"retry: 10\nwhat: ever\nnonsense\n\n", []),
        (b"data: no empty line at the end", [SseEvent("", b"no empty line at the end")]),
        (b"", []),
        (b"\xef\xbb", []),
        (b"data: a\r\rdata: b\r\r", [SseEvent("", b"a"), SseEvent("", b"b")]),
    ],
)
def test_small_cases(written: bytes, events: list[SseEvent]) -> None:
    assert parsed(written) == events
    assert parsed(*(bytes((byte,)) for byte in written)) == events


def test_an_event_is_given_out_as_soon_as_its_line_has_ended_even_by_a_bare_return() -> None:
    assert SseParser().feed(b"data: a\r\r") == [SseEvent("", b"a")]


def test_complete_lines_are_signs_of_life_and_bytes_are_not() -> None:
    parser = SseParser()
    parser.feed(b": still ")
    assert parser.lines == 0
    parser.feed(b"here\n")
    assert parser.lines == 1


def test_one_event_has_a_bound_in_one_line_or_in_many() -> None:
    with pytest.raises(TooLong, match="one event of the reply is longer than 100 bytes"):
        SseParser(most_event=100).feed(b"data: " + b"x" * 101)
    parser = SseParser(most_event=100)
    for _ in range(14):
        parser.feed(b"data: x\n")
    with pytest.raises(TooLong, match="one event"):
        parser.feed(b"data: x\n")


def test_many_events_within_the_bound_are_no_long_event() -> None:
    parser = SseParser(most_event=100)
    for _ in range(100):
        assert parser.feed(b"data: abc") == []
        assert parser.feed(b"defgh\n\n") == [SseEvent("", b"abcdefgh")]


def test_the_whole_reply_has_a_bound() -> None:
    parser = SseParser(most_bytes=1000)
    for _ in range(90):
        parser.feed(b"data: abc\n\n")
    with pytest.raises(TooLong, match="the reply is longer than 1,000 bytes"):
        parser.feed(b"data: abc\n\n")


@pytest.mark.timeout(30)  # copying the line with every piece takes minutes
def test_a_long_line_in_tiny_pieces_takes_linear_time() -> None:
    parser = SseParser()
    for _ in range(1_000_000):
        parser.feed(b"x")
    assert parser.feed(b"\n\n") == []
