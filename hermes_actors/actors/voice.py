"""The one mouth of a run: whatever people may read passes here, once.

Model text arrives in pieces and loses its thoughts on the way. Words that we say in the model's
place (a limit, an error, a stop) take the same road, so no surface can miss them and none can get
them twice. Nothing here waits, so a slow or broken surface cannot hold the run.
"""

from __future__ import annotations

from hermes_actors.actors.feed import Feed
from hermes_actors.happenings import (
    Origin,
    RunBegan,
    RunEnded,
    SegmentEnded,
    Thoughts,
    ToolBegan,
    ToolEnded,
    Words,
)
from hermes_actors.pure.think import ThinkScrubber, scrub
from hermes_actors.values import Delta, ModelNotice, ReasoningDelta, TextDelta

Told = RunBegan | RunEnded | ToolBegan | ToolEnded


class Voice:
    """Speaks for one run."""

    def __init__(self, feed: Feed, run: str) -> None:
        self._feed, self._run = feed, run
        self._scrubber = ThinkScrubber()
        self._heard: list[str] = []
        self._unkept: list[str] = []
        self._silent = True

    @property
    def silent(self) -> bool:
        """True until the first word that people can read."""
        return self._silent

    @property
    def segment(self) -> str:
        """The visible words of the reply that is arriving."""
        return "".join(self._heard)

    @property
    def unkept(self) -> str:
        """Visible words of the model that no stored line has yet: what a stop must not lose."""
        return "\n\n".join(filter(None, (*self._unkept, self.segment.strip())))

    def kept(self) -> None:
        """A line with all of these words was stored."""
        self._unkept.clear()

    def hear(self, delta: Delta) -> None:
        """Pass on the next piece of a model's reply."""
        match delta:
            case TextDelta(text):
                self._utter(self._scrubber.feed(text))
            case ReasoningDelta(text):
                self._feed.publish(Thoughts(self._run, text))
            case ModelNotice(text, restarts):
                self._notice(text, restarts)

    def end_segment(self) -> str:
        """The model has finished this reply; its visible words."""
        self._utter(self._scrubber.finish())
        self._scrubber = ThinkScrubber()
        said, self._heard = self.segment, []
        if said.strip():
            self._unkept.append(said.strip())
            self._feed.publish(SegmentEnded(self._run))
        return said

    def say(self, text: str, origin: Origin) -> str:
        """Words of our own, stripped and scrubbed; what of them is visible. Empty ones are not."""
        words = scrub(text).strip()
        if words:
            self._speak(words if self._silent else f"\n\n{words}", origin)
        return words

    def tell(self, what: Told) -> None:
        """Something that is no words."""
        self._feed.publish(what)

    def _notice(self, text: str, restarts: bool) -> None:
        """About the answer, not of it. If it begins again, only what follows is the answer."""
        if restarts:
            self._scrubber, self._heard = ThinkScrubber(), []
        if self.say(text, "notice"):
            self._speak("\n\n", "notice")

    def _utter(self, text: str) -> None:
        if text:
            self._heard.append(text)
            self._speak(text, "model")

    def _speak(self, text: str, origin: Origin) -> None:
        self._silent = self._silent and not text.strip()
        self._feed.publish(Words(self._run, text, origin))
