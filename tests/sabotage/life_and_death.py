"""Breaks of supervision."""

from __future__ import annotations

from tests.sabotage.break_ import Break

_SUPERVISOR = "supervisors/supervisor.py"
_CROWD = "supervisors/crowd.py"
_POLICY = "supervisors/policy.py"


def _in(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/supervisors/{file}.py::test_{name}" for name in names)


BREAKS = (
    Break(
        "an escalation loses all causes but the last",
        _SUPERVISOR,
        "self._give_up(place, self._budget.causes())",
        "self._give_up(place, self._budget.causes()[-1:])",
        _in("test_supervisor", "intensity_is_exact_and_every_cause_is_kept"),
    ),
    Break(
        "an escalation loses those that crash while it ends them",
        _SUPERVISOR,
        "            self._failure.causes += (error,)\n",
        "            pass\n",
        _in("test_supervisor_edges", "an_escalation_names_those_that_crash_while_it_ends_them"),
    ),
    Break(
        "the restart limit is off by one",
        _POLICY,
        "<= self.limit.restarts",
        "< self.limit.restarts",
        _in("test_policy", "the_budget_is_exact_to_the_count"),
    ),
    Break(
        "the period is longer than it says",
        _POLICY,
        ">= self.limit.period",
        "> self.limit.period",
        _in("test_policy", "a_restart_is_forgotten_exactly_when_its_period_is_over"),
    ),
    Break(
        "a crash costs a restart even where a sibling's restart covers it",
        _SUPERVISOR,
        "elif any(place.spec.name in due.names for due in self._due):",
        "elif False:",
        _in("test_supervisor_edges", "two_children_that_crash_in_one_step_cost_one_restart"),
    ),
    Break(
        "children end in the order of their start",
        _SUPERVISOR,
        "for name in reversed(self._order):",
        "for name in self._order:",
        _in("test_supervisor", "children_start_in_order_and_end_in_reverse"),
    ),
    Break(
        "a restart ends the rest in the order of their start",
        _SUPERVISOR,
        "for name in reversed(names):",
        "for name in names:",
        _in("test_supervisor", "each_strategy_restarts_its_own_circle_in_order"),
    ),
    Break(
        "rest_for_one restarts one",
        _POLICY,
        "order[at:] if strategy",
        "order[at : at + 1] if strategy",
        _in("test_policy", "who_is_restarted_together"),
    ),
    Break(
        "a mere start resets the backoff",
        _SUPERVISOR,
        "place.attempt = 0 if ended.thrived else place.attempt",
        "place.attempt = 0",
        _in("test_supervisor", "restarts_back_off_and_only_proof_of_life_resets_the_delay"),
    ),
    Break(
        "the backoff has no jitter",
        "hermes_actors/pure/backoff.py",
        "return self.ceiling(attempt) * dice()",
        "return self.ceiling(attempt)",
        _in("test_policy", "backoff_doubles_up_to_its_ceiling_with_full_jitter"),
    ),
    Break(
        "the end of a child has no deadline",
        _SUPERVISOR,
        "            with trio.move_on_after(grace):\n                await place.over.wait()\n",
        "            await place.over.wait()\n",
        _in(
            "test_supervisor",
            "a_child_that_swallows_cancellation_is_reported_and_the_rest_still_ends",
        ),
    ),
    Break(
        "a child gets a second life while the first one clings",
        _SUPERVISOR,
        "await place.over.wait()  # never two lives in one place, however long one clings",
        "await trio.lowlevel.checkpoint()",
        _in("test_supervisor_clinging", "nobody_is_born_twice_when_the_first_life_will_not_end"),
    ),
    Break(
        "a child that was just told to start is forgotten by the shutdown",
        _SUPERVISOR,
        "        if not place.over.is_set():\n            place.ending = True\n",
        "        if place.running is not None:\n            place.ending = True\n",
        _in("test_supervisor_edges", "a_child_that_was_just_told_to_start_ends_in_its_turn"),
    ),
    Break(
        "closing in good order lets nobody finish",
        _SUPERVISOR,
        "if running is not None and drain > 0 and not self._hurry and self._failure is None:",
        "if False:",
        _in("test_supervisor", "draining_gives_each_child_its_own_time"),
    ),
    Break(
        "a second signal does not hurry a drain",
        _SUPERVISOR,
        "        self._patience.cancel(reason)\n",
        "",
        _in("test_supervisor_clinging", "a_second_order_does_not_wait_out_the_drain_of_who_clings"),
    ),
    Break(
        "what no restart can help is tried again and again",
        _POLICY,
        "leaves = [] if error is None else every_cause(error)",
        "leaves: list[BaseException] = []",
        _in("test_supervisor", "an_error_that_no_restart_helps_goes_up_at_once"),
    ),
    Break(
        "a cancellation takes the first child away before the last has tidied up",
        "supervisors/shelter.py",
        "self._shield = trio.CancelScope(shield=True)",
        "self._shield = trio.CancelScope()",
        _in(
            "test_supervisor_edges",
            "a_cut_lets_the_last_child_tidy_up_before_it_ends_the_first",
        ),
    ),
    Break(
        "a retired child comes back with its sibling",
        _SUPERVISOR,
        "        return not place.retired\n",
        "        return True\n",
        _in(
            "test_supervisor_edges",
            "a_retired_child_is_not_brought_back_by_a_siblings_restart",
        ),
    ),
    Break(
        "addresses stay open when the tree has ended",
        _SUPERVISOR,
        '        retire(root.spec, system, "the gateway has ended")\n',
        "        pass\n",
        _in(
            "test_supervisor_edges",
            "a_tree_that_is_cancelled_before_it_starts_answers_who_waits_at_its_addresses",
        ),
    ),
    Break(
        "a guest past its limit comes back for ever",
        _CROWD,
        "return self._abandon(member)",
        "pass",
        _in("test_crowd", "a_guest_past_its_limit_is_abandoned_with_every_cause"),
    ),
    Break(
        "a crowd that closes sits out a backoff",
        _CROWD,
        "            await self._down.wait()\n        member.attempt += 1\n",
        "            await trio.sleep_forever()\n        member.attempt += 1\n",
        _in("test_crowd", "a_crowd_that_is_told_to_end_does_not_sit_out_a_backoff"),
    ),
    Break(
        "whoever is adopted inherits the context of who invited",
        _CROWD,
        "Context().run(self._nursery.start_soon, self._keep, member, ended)",
        "self._nursery.start_soon(self._keep, member, ended)",
        _in("test_crowd", "nothing_of_whoever_invites_reaches_the_guest"),
    ),
    Break(
        "a crowd drops what an address on its way out had accepted",
        _CROWD,
        "return self._reason is None or (len(box) > 0 and not self._cut)",
        "return self._reason is None",
        (
            "tests/hermes_actors/runtime/test_registry_edges.py::test_what_waits_for_a_successor"
            "_is_still_done_when_the_house_closes_in_good_order",
        ),
    ),
)
