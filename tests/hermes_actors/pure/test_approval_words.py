"""An approval is said, never guessed."""

from __future__ import annotations

import pytest

from hermes_actors.pure.approval_words import Choice, Verdict, approve, deny, one_word


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("yes", "once"),
        (" OK! ", "once"),
        ("👍", "once"),
        ("n", "deny"),
        ("No.", "deny"),
        ("always", "always"),
        ("session", "session"),
    ],
)
def test_one_word_is_an_answer(text: str, choice: Choice) -> None:
    assert one_word(text) == Verdict(choice)


@pytest.mark.parametrize("text", ["", "yes please", "ok, but first look", "nope", "yesterday"])
def test_talk_is_not_an_answer(text: str) -> None:
    assert one_word(text) is None


def test_approve_says_how_far_and_how_long() -> None:
    assert approve("") == Verdict("once")
    assert approve("all") == Verdict("once", True)
    assert approve("Session") == Verdict("session")
    assert approve("all always") == Verdict("always", True)


@pytest.mark.parametrize("argument", ["alwyas", "all session always", "1", "session all"])
def test_an_approval_that_is_not_understood_approves_nothing(argument: str) -> None:
    assert approve(argument) is None


def test_a_denial_is_one_whatever_follows() -> None:
    assert deny("") == Verdict("deny")
    assert deny("all") == Verdict("deny", True)
    assert deny("all not today") == Verdict("deny", True, "not today")
    assert deny("too risky") == Verdict("deny", False, "too risky")
    assert deny("allow") == Verdict("deny", False, "allow")
