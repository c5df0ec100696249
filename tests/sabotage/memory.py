"""Breaks of the store: what it says must be true after the power fails."""

from __future__ import annotations

from tests.sabotage.break_ import Break

_WRITER = "hermes_actors/store/writer.py"
_ACTOR = "hermes_actors/store/actor.py"
_MIGRATIONS = "hermes_actors/store/migrations.py"
_CONNECTION = "hermes_actors/store/connection.py"


def _in(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/hermes_actors/store/{file}.py::test_{name}" for name in names)


BREAKS = (
    Break(
        "success is told before anything is committed",
        _ACTOR,
        "results, pages = await self._commit([write for write, _ in asked])",
        "results, pages = [outcome.Value(None) for _ in asked], 0",
        _in("test_actor", "whoever_is_answered_finds_it_in_the_file"),
    ),
    Break(
        "a batch that is lost is told as a success",
        _WRITER,
        "return [outcome.Error(refused) for _ in writes]",
        "return [outcome.Value(None) for _ in writes]",
        _in(
            "test_faults",
            "a_fault_in_a_batch_refuses_everybody_in_it_and_no_one_is_told_success",
        ),
    ),
    Break(
        "a refused write leaves traces",
        _WRITER,
        '            db.execute("ROLLBACK TO one")\n',
        "",
        _in("test_actor", "a_refused_write_leaves_no_trace_and_harms_no_neighbour"),
    ),
    Break(
        "a batch in hand is torn by a stop",
        _ACTOR,
        "with trio.move_on_after(self._settings.patience, shield=True):",
        "with trio.move_on_after(self._settings.patience):",
        _in("test_actor", "a_stop_finishes_the_batch_in_hand_and_refuses_the_rest"),
    ),
    Break(
        "a disk that hangs hangs the store",
        _ACTOR,
        "with trio.move_on_after(self._settings.patience, shield=True):",
        "with trio.CancelScope(shield=True):",
        _in("test_actor", "a_disk_that_hangs_is_given_up_and_the_asker_is_told"),
    ),
    Break(
        "one large write refuses its neighbours",
        _WRITER,
        "if full and len(writes) > 1:",
        "if full and not writes:",
        _in("test_faults", "one_write_that_is_too_large_does_not_refuse_its_neighbours"),
    ),
    Break(
        "a file that was replaced is written to",
        _WRITER,
        "if (now := self._look())[0] != self._identity[0]:",
        "if (now := self._look())[0] is None:",
        _in("test_faults", "a_file_that_was_replaced_is_refused_and_the_newcomer_is_not_touched"),
    ),
    Break(
        "a migration that fails stays half done",
        _MIGRATIONS,
        '            db.execute("ROLLBACK")\n',
        '            db.execute("COMMIT")\n',
        _in("test_migrations", "a_step_that_fails_is_undone_and_tried_again_at_the_next_start"),
    ),
    Break(
        "a file of a newer version is opened and written",
        _CONNECTION,
        "    if version > newest:\n",
        "    if version > newest + 1_000_000:\n",
        _in("test_migrations", "a_newer_file_is_refused_and_keeps_its_bytes"),
    ),
    Break(
        "the same message twice is two turns",
        "hermes_actors/store/inbox.py",
        "        return Accepted(_same(known, new), False)\n",
        "        return Accepted(_same(known, new), True)\n",
        _in("test_inbox", "the_same_key_twice_is_one_message_and_the_second_time_is_told_so"),
    ),
    Break(
        "a message may crash its session for ever",
        "hermes_actors/store/recovery.py",
        "message.strikes >= most_strikes",
        "message.strikes > 10 * most_strikes",
        _in(
            "test_recovery",
            "the_third_crash_makes_a_message_a_dead_letter_and_lets_the_next_one_pass",
        ),
    ),
)
