from __future__ import annotations

import itertools

import pytest

from hermes_actors.journal import Entry, Journal


def ticking() -> Journal:
    """A journal whose clock moves by one with each entry."""
    ticks = itertools.count(10)
    return Journal(clock=lambda: float(next(ticks)))


def test_entries_are_numbered_and_timed_in_the_order_of_writing() -> None:
    journal = ticking()
    journal.note("a", run="r1")
    journal.note("b")
    assert journal.recent() == [Entry(1, 10.0, "a", {"run": "r1"}), Entry(2, 11.0, "b", {})]
    assert journal.recent()[0]["run"] == "r1"


def test_only_the_last_entries_are_remembered() -> None:
    journal = Journal(remember=2)
    for kind in "abc":
        journal.note(kind)
    assert [(entry.number, entry.kind) for entry in journal.recent()] == [(2, "b"), (3, "c")]


def test_every_reader_hears_of_an_entry_in_the_writers_step_until_it_leaves() -> None:
    journal, heard = Journal(), list[str]()
    leave = journal.subscribe(lambda entry: heard.append(entry.kind))
    journal.note("a")
    leave()
    leave()
    journal.note("b")
    assert heard == ["a"]


def test_a_reader_that_raises_is_dropped_once_and_the_writer_never_notices() -> None:
    heard: list[str] = []

    def broken(entry: Entry) -> None:
        raise OSError("disk full")

    journal = Journal(broken, lambda entry: heard.append(entry.kind))
    journal.note("a")
    journal.note("b")
    assert heard == ["journal.reader_dropped", "a", "b"]
    dropped = journal.recent()[1]
    assert (dropped["error"], "broken" in dropped["reader"]) == ("OSError", True)


def test_a_reader_that_leaves_and_then_raises_does_not_fail_the_writer() -> None:
    journal = Journal()

    def reader(entry: Entry) -> None:
        leave()
        raise OSError("on my way out")

    leave = journal.subscribe(reader)
    journal.note("a")
    assert [entry.kind for entry in journal.recent()] == ["a"]


def test_a_reader_may_write_and_does_not_hear_itself() -> None:
    journal, heard = Journal(), list[str]()
    journal.subscribe(lambda entry: journal.note(f"echo of {entry.kind}"))
    journal.subscribe(lambda entry: heard.append(entry.kind))
    journal.note("a")
    assert heard == ["echo of a", "a"]
    assert [entry.kind for entry in journal.recent()] == ["a", "echo of a"]


def test_an_error_with_a_broken_repr_does_not_fail_the_writer() -> None:
    class Unspeakable(Exception):
        def __repr__(self) -> str:
            raise RuntimeError

    def broken(entry: Entry) -> None:
        raise Unspeakable

    Journal(broken).note("a")


def test_what_is_not_an_error_passes_through() -> None:
    def unplugged(entry: Entry) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Journal(unplugged).note("a")
