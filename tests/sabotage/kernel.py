"""Breaks of the actor kernel."""

from __future__ import annotations

from tests.sabotage.break_ import Break

_LIFE = "hermes_actors/runtime/life.py"
_MAILBOX = "hermes_actors/runtime/mailbox.py"
_REF = "hermes_actors/runtime/ref.py"
_SYSTEM = "hermes_actors/runtime/system.py"
_REGISTRY = "hermes_actors/runtime/registry.py"


def _in(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/hermes_actors/runtime/{file}.py::test_{name}" for name in names)


BREAKS = (
    Break(
        "clean-up is not shielded, so a shutdown cuts it",
        _LIFE,
        "with trio.move_on_after(self._clean_up_after, shield=True) as grace:",
        "with trio.move_on_after(self._clean_up_after) as grace:",
        _in("test_life", "clean_up_runs_when_everything_is_cancelled_from_outside"),
    ),
    Break(
        "the shield of the clean-up has no deadline",
        _LIFE,
        "with trio.move_on_after(self._clean_up_after, shield=True) as grace:",
        "with trio.CancelScope(shield=True) as grace:",
        _in("test_life", "a_clean_up_that_hangs_is_cut_after_its_grace"),
    ),
    Break(
        "a cancellation from outside is swallowed",
        _LIFE,
        "        if foreign is not None:\n            raise foreign\n",
        "",
        _in("test_life", "clean_up_runs_when_everything_is_cancelled_from_outside"),
    ),
    Break(
        "control goes through the queue of work",
        _REF,
        "return box is not None and box.life is not None and box.life.signal(message)",
        "return box is not None and box.put(message) is None  # type: ignore",
        _in("test_life", "control_is_heard_in_the_senders_step_past_any_queue"),
    ),
    Break(
        "a late interrupt hits newer work",
        _LIFE,
        "if number is not None and number != self.in_hand:",
        "if number is not None and self.in_hand is None:",
        _in("test_life", "an_interrupt_for_another_number_is_a_no_op"),
    ),
    Break(
        "the flag of an interrupt stays up for the next message",
        _LIFE,
        "self.in_hand, self.interrupted_by = envelope.number, None",
        "self.in_hand = envelope.number",
        _in("test_life_edges", "an_interrupt_wins_over_work_that_ends_without_noticing_it"),
    ),
    Break(
        "work that ends without noticing its interrupt still answers",
        _LIFE,
        "            if self.interrupted_by is not None:\n                return  # too late",
        "            if self._ending and self._told:\n                return  # too late",
        _in("test_life_edges", "an_interrupt_wins_over_work_that_ends_without_noticing_it"),
    ),
    Break(
        "whoever asked the work in hand hangs when it crashes",
        _LIFE,
        "self._disappoint(self._why_cut(why))",
        "self._why_cut(why)",
        _in("test_asking", "a_crash_ends_the_life_and_tells_the_asker"),
    ),
    Break(
        "answers that were put off are forgotten when the actor ends",
        _LIFE,
        "for reply in tuple(self._owed or ()):",
        "for reply in ():",
        _in(
            "test_life_edges",
            "replies_put_off_by_work_that_returned_stay_open_and_are_refused_at_the_end",
        ),
    ),
    Break(
        "an actor that owes an answer is unloaded",
        _LIFE,
        "busy = len(self._box) or self.nursery.child_tasks or self._owed",
        "busy = len(self._box) or self.nursery.child_tasks",
        _in("test_life_edges", "an_actor_that_owes_an_answer_is_not_idle"),
    ),
    Break(
        "an actor with waiting work is unloaded",
        _LIFE,
        "busy = len(self._box) or self.nursery.child_tasks or self._owed",
        "busy = self.nursery.child_tasks or self._owed",
        _in("test_life_edges", "an_actor_with_waiting_work_is_not_idle"),
    ),
    Break(
        "a crash in a plain handler strikes whoever called",
        _LIFE,
        "self._call(self._actor.on_drain)",
        "self._actor.on_drain()",
        _in("test_life_edges", "a_crash_in_on_drain_is_the_actors_not_that_of_who_closes"),
    ),
    Break(
        "the spawner's context leaks into a child",
        _LIFE,
        "Context().run(lambda: self.nursery.start_soon(async_fn, *args, name=name))",
        "self.nursery.start_soon(async_fn, *args, name=name)",
        _in("test_life", "nothing_of_the_spawners_context_reaches_a_child"),
    ),
    Break(
        "a bug that shows during a cancellation is masked by it",
        "hermes_actors/runtime/crash.py",
        "return simplest(rest), cancelled",
        "return None, cancelled",
        _in("test_crash", "a_crash_is_told_from_the_cancellation_that_came_with_it"),
    ),
    Break(
        "work begins after the stop",
        _MAILBOX,
        "            await trio.lowlevel.checkpoint_if_cancelled()\n",
        "",
        _in("test_life_edges", "a_message_sent_just_before_a_stop_does_not_begin_after_it"),
    ),
    Break(
        "a drain waits for ever for a message that was taken back",
        _MAILBOX,
        "            if self.refusing is not None:\n                raise Woken\n",
        "",
        _in(
            "test_life_edges",
            "a_drain_ends_even_if_its_last_message_was_taken_back_in_the_same_step",
        ),
    ),
    Break(
        "a full box starves everybody else",
        _MAILBOX,
        "        if self._lane:\n            await trio.lowlevel.checkpoint()\n",
        "",
        _in("test_life", "a_flooded_actor_does_not_starve_the_others"),
    ),
    Break(
        "the work lane has no bound",
        _MAILBOX,
        "if len(self._lane) >= self.capacity:",
        "if len(self._lane) >= 10 * self.capacity:",
        _in("test_life", "a_full_lane_refuses_a_tell_and_says_how_full"),
    ),
    Break(
        "a question is not withdrawn with its asker",
        _MAILBOX,
        "        self._box.withdraw(self.number)\n",
        "",
        _in(
            "test_asking",
            "a_cancelled_asker_withdraws_a_question_that_has_not_begun",
            "a_cancelled_asker_cuts_the_work_that_was_to_answer_it",
        ),
    ),
    Break(
        "a retired address still takes messages",
        _MAILBOX,
        "self.refusing = self.closed = reason",
        "self.closed = reason",
        _in("test_asking", "a_finished_actor_answers_at_once"),
    ),
    Break(
        "whoever waits at a closed box waits for ever",
        _SYSTEM,
        "envelope.reply.refuse(ActorGone(box.name, reason))",
        "pass",
        _in("test_asking", "a_finished_actor_answers_at_once"),
    ),
    Break(
        "whoever waits for a life that clings waits for ever",
        _SYSTEM,
        "            box.life.forsake(reason)\n",
        "            pass\n",
        _in(
            "test_life_edges",
            "closing_an_address_whose_life_clings_to_it_answers_who_waits_for_it",
        ),
    ),
    Break(
        "an accepted message vanishes without a dead letter",
        _SYSTEM,
        "self.bury(box.name, envelope.message, reason)",
        "pass",
        _in("test_asking", "watchers_hear_of_the_end_once_and_late_ones_at_once"),
    ),
    Break(
        "watchers are not told",
        _SYSTEM,
        "watcher.signal(Down(box.name, reason))",
        "pass",
        _in("test_asking", "watchers_hear_of_the_end_once_and_late_ones_at_once"),
    ),
    Break(
        "an address is activated twice while its first life is starting",
        _REGISTRY,
        "return box if box is not None else self._activate(address)",
        "return box if box is not None and box.life is not None else self._activate(address)",
        _in("test_registry", "a_thousand_first_messages_make_one_activation"),
    ),
    Break(
        "a message that arrives while unloading is lost",
        _REGISTRY,
        "if ended.how is How.UNLOADED and len(box):",
        "if ended.how is How.CANCELLED and len(box):",
        _in(
            "test_registry",
            "a_message_that_arrives_while_unloading_is_handled_by_the_successor",
        ),
    ),
    Break(
        "leaving actors take up room",
        _REGISTRY,
        "return len(self._boxes) - len(self._leaving) < self._max_live",
        "return len(self._boxes) < self._max_live",
        _in("test_registry_edges", "leaving_actors_make_room_before_they_have_left"),
    ),
    Break(
        "an address that keeps crashing is never quarantined",
        _REGISTRY,
        "self._quarantined[address] = ended.reason",
        "pass",
        _in(
            "test_registry",
            "an_address_that_keeps_crashing_is_quarantined_and_can_be_released",
        ),
    ),
    Break(
        "a reader of the journal that fails, fails its writer",
        "hermes_actors/journal.py",
        "            self._drop(reader, failure)\n",
        "            raise failure\n",
        (
            "tests/hermes_actors/test_journal.py"
            "::test_a_reader_that_raises_is_dropped_once_and_the_writer_never_notices",
        ),
    ),
)
