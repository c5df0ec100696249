from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_actors.store import messages, revisions, search
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.query_text import Wanted, understand
from hermes_actors.store.search import Filter
from tests.hermes_actors.store.desk import Desk


def say(desk: Desk, *texts: str, session: str = "s1") -> list[int]:
    lines = [NewMessage(role="user", content=text) for text in texts]
    return desk.do(messages.append(session, lines, now=2.0))


def found(desk: Desk, typed: str, **more: Any) -> list[str]:
    return [hit.snippet for hit in desk.ask(search.search(typed, order="oldest", **more))]


def test_words_are_found_and_marked_where_they_stand(desk: Desk) -> None:
    desk.session()
    say(desk, "The Café opens at nine", "nothing here", "a cafe and a bar")
    assert found(desk, "cafe") == ["The >>>Café<<< opens at nine", "a >>>cafe<<< and a bar"]
    assert found(desk, "cafe bar") == ["a >>>cafe<<< and a >>>bar<<<"]
    assert found(desk, "cafe NOT bar") == ["The >>>Café<<< opens at nine"]
    assert found(desk, "nine OR bar") == ["The Café opens at >>>nine<<<", "a cafe and a >>>bar<<<"]
    assert found(desk, '"a bar"') == ["a cafe and >>>a bar<<<"]
    assert found(desk, "op*") == ["The Café >>>opens<<< at nine"]
    assert found(desk, "zebra") == []


def test_scripts_without_spaces_are_found_by_pieces_and_by_letters(desk: Desk) -> None:
    desk.session()
    say(desk, "今天天气很好", "明天下雨", "東京タワーに行く hello", "서울날씨 좋아요")
    assert found(desk, "天气很") == ["今天>>>天气很<<<好"]
    assert found(desk, "下雨") == ["明天>>>下雨<<<"]
    assert found(desk, "タワー hello") == ["東京>>>タワー<<<に行く hello"]
    assert found(desk, "タワー goodbye") == []
    assert found(desk, "서울날") == [">>>서울날<<<씨 좋아요"]
    assert found(desk, "天 好") == ["今>>>天<<<天气很好"]


def test_what_was_taken_back_is_not_found_and_what_was_summed_up_is_found_once(
    desk: Desk,
) -> None:
    desk.session()
    *_, last = say(desk, "apple pie", "apple cake")
    summary = NewMessage(role="user", content="[summary]")
    desk.do(revisions.compact("s1", seen=last, replacement=[summary, last], now=3.0))
    assert found(desk, "apple") == [">>>apple<<< pie", ">>>apple<<< cake"]
    desk.do(revisions.rewind("s1", 1, now=4.0))
    assert found(desk, "apple") == [">>>apple<<< pie"]


def test_a_search_can_be_narrowed_and_ordered(desk: Desk) -> None:
    desk.session("s1", platform="chat")
    desk.session("s2", platform="web", agent_id="coder")
    say(desk, "fig one")
    say(desk, "fig two", session="s2")
    desk.do(messages.append("s2", [NewMessage(role="meta", content="fig meta")], now=2.0))
    both = desk.ask(search.search("fig", order="newest"))
    assert [(hit.session_id, hit.platform, hit.agent_id) for hit in both] == [
        ("s2", "web", "coder"),
        ("s1", "chat", "main"),
    ]
    for where in (
        Filter(session_id="s1"),
        Filter(agent_id="main"),
        Filter(platform="chat"),
        Filter(not_in=("s2",)),
    ):
        assert found(desk, "fig", where=where) == [">>>fig<<< one"]
    assert found(desk, "fig", where=Filter(roles=("meta",))) == [">>>fig<<< meta"]
    assert len(found(desk, "fig", limit=1)) == 1


def test_long_lines_are_cut_around_the_match(desk: Desk) -> None:
    desk.session()
    say(desk, "x " * 200 + "needle" + " y" * 200, "好" * 100 + "下雨" + "好" * 100)
    (hit,) = found(desk, "needle")
    assert ">>>needle<<<" in hit
    assert len(hit) < 120
    (hit,) = found(desk, "下雨")
    assert hit == "…" + "好" * 40 + ">>>下雨<<<" + "好" * 40 + "…"


NONSENSE = (
    *('"', '""', "AND", "NOT", "a AND", "OR b", "NOT x", "*", "a*b*", "(", "a:b", "^a", "-"),
    *("{a b}", "NEAR(a b)", "content:x", "'; DROP TABLE messages; --", "a\0b", "x" * 5000),
    "a " * 2000,
)


@pytest.mark.parametrize("typed", NONSENSE)
def test_nothing_that_can_be_typed_is_an_error(desk: Desk, typed: str) -> None:
    desk.session()
    say(desk, "a b c", "下雨")
    desk.ask(search.search(typed))


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(typed=st.text(alphabet=st.sampled_from('ab"*()-^:{}+., \0\n天气ANDORT\ud800é'), max_size=30))
def test_no_mixture_of_signs_is_an_error(desk: Desk, typed: str) -> None:
    desk.ask(search.search(typed))


def test_every_word_reaches_the_index_inside_quotes() -> None:
    assert understand('foo.bar AND "b c" x-y') == Wanted('"foo.bar" AND "b c" AND "x-y"')
    assert understand("OR a OR OR b AND") == Wanted('"a" OR "b"')
    assert understand('un"closed phrase') == Wanted('"un" AND "closed" AND "phrase"')
    assert understand("天气 OR 天气很 word") == Wanted('"word"', '"天气很"', ("天气",))
    assert understand("!!! ***").nothing


def test_tool_names_and_arguments_are_found_too(desk: Desk) -> None:
    desk.session()
    line = NewMessage(role="assistant", tool_calls='[{"name":"weather","args":"Oslo"}]')
    desk.do(messages.append("s1", [line], now=1.0))
    (hit,) = found(desk, "oslo")
    assert ">>>Oslo<<<" in hit
