"""What can go wrong, and whose turn it is to act.

    HermesError
    ├── Refusal              may well happen; the asker is answered and nothing is lost
    │   ├── MailboxFull      the work lane has no room: slow down, or say so to your own caller
    │   ├── ActorGone        no answer will come: the actor ended, crashed, or the work was cut
    │   ├── Overloaded       there is no room for one more of these: try later
    │   └── StoreRefused     the store could not take it; what it did not confirm, it did not keep
    ├── Unrecoverable        trying again cannot help; the process ends with `exit_code`
    │   ├── ConfigError      the configuration is wrong (78)
    │   ├── StoreTooNew      a newer version has written this file (78)
    │   └── HomeLocked       another gateway owns this home (75)
    └── Escalation           a supervisor has given up; every cause is kept

A refusal is a value in the shape of an exception: whoever asked decides what it means. Anything
that is not in this tree and leaves an actor is a crash, and a supervisor reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_OK = 0
EXIT_TRY_AGAIN = 75
EXIT_CONFIG = 78


class HermesError(Exception):
    """The root of every error that this project raises on purpose."""


class Refusal(HermesError):
    """The answer is no, and it is safe to go on."""


class MailboxFull(Refusal):
    """The work lane of an actor is full; the message was not taken."""

    def __init__(self, name: str, capacity: int) -> None:
        super().__init__(f"mailbox of '{name}' is full ({capacity} messages wait)")
        self.name, self.capacity = name, capacity


class ActorGone(Refusal):
    """The question will never be answered, or the message never handled."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"'{name}' will not answer: {reason}")
        self.name, self.reason = name, reason


class Overloaded(Refusal):
    """A limit on how many may exist at once is reached; nothing was started."""


class StoreRefused(Refusal):
    """The store did not commit this. `kind` says why in one word, the message in a sentence."""

    def __init__(self, kind: str, explanation: str) -> None:
        super().__init__(explanation)
        self.kind = kind


class Unrecoverable(HermesError):
    """Restarting will not help; the process ends with `exit_code` and the message as its reason."""

    exit_code = EXIT_TRY_AGAIN


class ConfigError(Unrecoverable):
    """Every problem of a configuration at once, each with file, key, reason and nearest name."""

    exit_code = EXIT_CONFIG

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class StoreTooNew(Unrecoverable):
    """The file was written by a newer version; opening it could destroy what we do not know."""

    exit_code = EXIT_CONFIG


class HomeLocked(Unrecoverable):
    """Another gateway holds the lock of this home folder."""


class Escalation(HermesError):
    """A supervisor has used up its restarts. `causes` holds each crash, oldest first."""

    def __init__(self, supervisor: str, child: str, causes: Sequence[BaseException]) -> None:
        super().__init__(
            f"supervisor '{supervisor}' gave up: '{child}' crashed {len(causes)} times; "
            f"last: {causes[-1]!r}"
            if causes
            else f"supervisor '{supervisor}' gave up on '{child}'"
        )
        self.supervisor, self.child, self.causes = supervisor, child, tuple(causes)
