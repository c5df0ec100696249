from __future__ import annotations

import io
import threading

from hermes_actors.logs import LineWriter

PATIENCE = 30.0


class StuckStream(io.StringIO):
    """Takes nothing until it is released, like a pipe that nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.released = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        self.released.wait(PATIENCE)
        return super().write(text)


class BrokenStream(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError("nobody reads")


def test_lines_arrive_whole_and_in_order() -> None:
    stream = io.StringIO()
    writer = LineWriter(stream)
    for number in range(1000):
        writer.write(f"line {number}")
    writer.close(PATIENCE)
    assert stream.getvalue().splitlines() == [f"line {number}" for number in range(1000)]


def test_a_reader_who_stops_costs_lines_and_never_the_writer() -> None:
    stream = StuckStream()
    writer = LineWriter(stream, most=2)
    writer.write("first")
    stream.entered.wait(PATIENCE)
    for number in range(5):
        writer.write(f"then {number}")
    assert writer.flush(0.0) is False
    stream.released.set()
    writer.close(PATIENCE)
    lost = "(3 log lines were lost because nobody read them in time)"
    assert stream.getvalue().splitlines() == ["first", "then 0", "then 1", lost]


def test_a_broken_stream_ends_the_log_and_nothing_else() -> None:
    writer = LineWriter(BrokenStream())
    writer.write("into the void")
    assert writer.flush(PATIENCE)
    writer.write("again")
    writer.close(PATIENCE)
