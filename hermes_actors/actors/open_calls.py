"""The tool calls that a run has under way, and what is to be said of each if the run is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hermes_actors.pure.stop_report import CutOff
from hermes_actors.pure.transcript import ACTED, LEFT_BEHIND


class OpenCalls:
    """Remembers calls by id while they run; one that was cut stays remembered."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, bool]] = {}
        self._uncuttable: set[str] = set()
        self._fates: dict[str, str] = {}

    @contextmanager
    def under_way(self, call_id: str, name: str, *, remote: bool = False) -> Iterator[None]:
        """Around a tool call: one that is cut inside this block is named in the stop report."""
        self._open[call_id] = name, remote
        try:
            yield
        except Exception:
            del self._open[call_id]  # it ended by itself, if badly
            raise
        del self._open[call_id]

    def settled(self, call_id: str) -> None:
        """A call that was cut has been answered in another way, so a later stop did not cut it."""
        if call_id not in self._uncuttable:  # that one still acts
            self._open.pop(call_id, None)

    def cannot_be_cut(self, call_id: str) -> None:
        """The call goes on where no cancellation reaches it: a stop says that it may still act."""
        self._uncuttable.add(call_id)
        self._fates[call_id] = LEFT_BEHIND

    def acted(self, call_id: str) -> None:
        """The call has done its work; a stop that loses its result must not call it undone."""
        self._fates[call_id] = ACTED

    @property
    def names(self) -> tuple[str, ...]:
        """What is under way."""
        return tuple(name for name, _ in self._open.values())

    @property
    def fates(self) -> Mapping[str, str]:
        """What the model is told of calls without a result, where more is known than "stopped"."""
        return self._fates

    @property
    def cut(self) -> Mapping[str, tuple[str, bool]]:
        """Once the run is over: the name of each call that was cut, and whether it was remote."""
        return self._open

    def cut_off(self, *, model_call: bool, queued: int, dropped: int) -> CutOff:
        """The same for people, with what else a stop has to say."""
        calls = [(name, id in self._uncuttable, far) for id, (name, far) in self._open.items()]
        return CutOff(
            model_call=model_call,
            tools=tuple(name for name, loose, far in calls if not (loose or far)),
            unconfirmed=tuple(name for name, loose, _ in calls if loose),
            remote_calls=tuple(name for name, _, far in calls if far),
            queued=queued,
            dropped=dropped,
        )
