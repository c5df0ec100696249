from __future__ import annotations

from hermes_actors.store import messages, revisions, sessions
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.revisions import Rewound
from tests.hermes_actors.store.desk import Desk


def talk(desk: Desk, *texts: str, session: str = "s1") -> list[int]:
    """Questions and answers in turn."""
    roles = ("user", "assistant")
    lines = [
        NewMessage(role=roles[number % 2], content=text)  # type: ignore[arg-type]
        for number, text in enumerate(texts)
    ]
    return desk.do(messages.append(session, lines, now=2.0))


def told(desk: Desk, session: str = "s1") -> list[str | None]:
    return [each.content for each in desk.ask(messages.transcript(session))]


def test_a_transcript_comes_back_in_order_with_every_field(desk: Desk) -> None:
    desk.session()
    line = NewMessage(
        role="assistant",
        content="half \ud800 and \0 null",
        tool_calls='[{"id":"c1"}]',
        reasoning="because",
        token_count=3,
        partial=True,
    )
    talk(desk, "first")
    desk.do(messages.append("s1", [line], now=1.0))
    first, second = desk.ask(messages.transcript("s1"))
    assert (first.content, second.content) == ("first", "half \ufffd and \0 null")
    assert (second.tool_calls, second.reasoning, second.token_count, second.partial) == (
        '[{"id":"c1"}]',
        "because",
        3,
        True,
    )
    assert desk.ask(sessions.get("s1")).message_count == 2


def test_the_word_null_is_a_word(desk: Desk) -> None:
    desk.session()
    talk(desk, "null", "", "1", "true")
    assert told(desk) == ["null", "", "1", "true"]


def test_undo_takes_back_whole_turns_and_says_what_the_first_was(desk: Desk) -> None:
    desk.session()
    talk(desk, "q1", "a1", "q2", "a2", "q3", "a3")
    assert desk.do(revisions.rewind("s1", 2, now=9.0)) == Rewound(2, 4, "q2")
    assert told(desk) == ["q1", "a1"]
    assert desk.do(revisions.rewind("s1", 9, now=9.0)) == Rewound(1, 2, "q1")
    assert desk.do(revisions.rewind("s1", 1, now=9.0)) == Rewound(0, 0, None)
    assert desk.ask(sessions.get("s1")).rewinds == 2


def test_summing_up_replaces_the_transcript_and_keeps_what_it_names(desk: Desk) -> None:
    desk.session()
    *_, tail, last = talk(desk, "q1", "a1", "q2", "a2")
    summary = NewMessage(role="user", content="[summary of q1]")
    desk.do(revisions.compact("s1", seen=last, replacement=[summary, tail, last], now=9.0))
    assert told(desk) == ["[summary of q1]", "q2", "a2"]
    assert desk.sql("SELECT content, active, compacted FROM messages ORDER BY id") == [
        ("q1", 0, 1),
        ("a1", 0, 1),
        ("q2", 0, 0),
        ("a2", 0, 0),
        ("[summary of q1]", 1, 0),
        ("q2", 1, 0),
        ("a2", 1, 0),
    ]


def test_a_summary_of_an_older_transcript_is_refused_whole(desk: Desk) -> None:
    desk.session()
    desk.session("s2")
    *_, last = talk(desk, "q1", "a1")
    (elsewhere,) = talk(desk, "other", session="s2")
    summary = NewMessage(role="user", content="[summary]")
    stale = revisions.compact("s1", seen=last - 1, replacement=[summary], now=9.0)
    assert desk.refusal(stale) == "conflict"
    foreign = revisions.compact("s1", seen=last, replacement=[summary, elsewhere], now=9.0)
    assert desk.refusal(foreign) == "missing"
    twice = revisions.compact("s1", seen=last, replacement=[last, last], now=9.0)
    assert desk.refusal(twice) == "missing"


def test_pages_and_neighbours_are_told_in_order(desk: Desk) -> None:
    desk.session()
    ids = talk(desk, "1", "2", "3", "4", "5")
    assert [each.content for each in desk.ask(messages.page("s1", limit=2))] == ["4", "5"]
    older = desk.ask(messages.page("s1", before=ids[3], limit=2))
    assert [each.content for each in older] == ["2", "3"]
    near = desk.ask(messages.around(ids[2], each_side=1))
    assert [each.content for each in near] == ["2", "3", "4"]
    assert desk.ask(messages.around(99)) == []


def test_a_line_for_a_session_that_does_not_exist_is_refused(desk: Desk) -> None:
    lost = messages.append("nowhere", [NewMessage(role="user", content="x")], now=1.0)
    assert desk.refusal(lost) == "invalid"
