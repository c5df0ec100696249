"""Breaks of what stands around the actors: hooks, configuration, secrets, the process itself."""

from __future__ import annotations

from tests.sabotage.break_ import Break

_BUS = "hermes_actors/hooks/bus.py"
_STAGE = "hermes_actors/hooks/stage.py"
_HOME = "supervisors/home.py"
_WATCHDOG = "supervisors/watchdog.py"
_SHUTDOWN = "supervisors/shutdown.py"


def _hooks(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/hermes_actors/hooks/{file}.py::test_{name}" for name in names)


def _process(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/supervisors/{file}.py::test_{name}" for name in names)


BREAKS = (
    Break(
        "a policy that fails lets everything pass",
        _BUS,
        "label, action = listener.handler.label, event.when_in_doubt",
        'label, action = listener.handler.label, "allow"',
        _hooks("test_bus_faults", "a_policy_that_fails_is_an_objection_with_its_name_on_it"),
    ),
    Break(
        "an observer has all the time in the world",
        _STAGE,
        "if not await _all_ended(calls, patience - grace):",
        'if not await _all_ended(calls, float("inf")):',
        _hooks("test_bus_faults", "an_observer_that_fails_costs_its_budget_and_silences_nobody"),
    ),
    Break(
        "whoever leaves a hook leaves its handlers running",
        _STAGE,
        "            for call in calls:\n                call.give_up()\n",
        "",
        _hooks("test_stage", "a_caller_who_leaves_gives_up_on_all_of_its_calls"),
    ),
    Break(
        "a thread that starts late still touches the handler",
        _STAGE,
        "None if self._given_up else self.handler.function(**self._arguments)",
        "self.handler.function(**self._arguments)",
        _hooks(
            "test_stage",
            "a_thread_that_begins_after_its_call_was_given_up_does_not_touch_the_handler",
        ),
    ),
    Break(
        "the breaker never opens",
        "hermes_actors/pure/breaker.py",
        "if self.failures < self.limit:",
        "if self.failures < 100 * self.limit:",
        (
            "tests/hermes_actors/pure/test_breaker.py"
            "::test_the_fifth_failure_in_a_row_opens_it_and_the_fourth_does_not",
        ),
    ),
    Break(
        "an unknown key of the configuration is accepted",
        "hermes_actors/config/decode.py",
        'self._wrong(key, "unknown key", self._meant(name, fields))',
        "pass",
        ("tests/hermes_actors/config/test_decode.py::test_the_whole_file_refuses_an_unknown_key",),
    ),
    Break(
        "a secret in base64 passes the redactor",
        "hermes_actors/redact.py",
        "    yield from _base64_forms(raw)\n",
        "",
        (
            "tests/hermes_actors/test_redact.py::test_a_secret_inside_something_that_became"
            "_base64_leaves_no_whole_group_of_itself",
        ),
    ),
    Break(
        "a turn inherits the identity of whoever spawned it",
        "hermes_actors/context.py",
        "    Context().run(start)\n",
        "    start()\n",
        (
            "tests/hermes_actors/test_context.py"
            "::test_a_spawned_turn_inherits_nothing_from_whoever_spawns_it",
        ),
    ),
    Break(
        "two gateways share one home",
        _HOME,
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        _process("test_home", "a_second_holder_is_refused_and_told_what_to_do"),
    ),
    Break(
        "a tool that outlives the gateway keeps its home locked",
        _HOME,
        "        file = os.open(path / LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)\n",
        "        file = os.open(path / LOCK_FILE, os.O_CREAT | os.O_RDWR, 0o600)\n"
        "        os.set_inheritable(file, True)\n",
        _process("test_home", "a_process_that_we_start_does_not_inherit_the_lock"),
    ),
    Break(
        "the watchdog barks and does not bite",
        _WATCHDOG,
        "        self._end(EXIT_TRY_AGAIN)\n",
        "",
        _process("test_watchdog", "it_writes_where_everyone_stands_and_ends_the_process_with_75"),
    ),
    Break(
        "a later alarm postpones the watchdog",
        _WATCHDOG,
        "if self._due is None or due < self._due:",
        "if True:",
        _process(
            "test_watchdog",
            "an_earlier_due_time_stands_and_an_even_earlier_one_replaces_it",
        ),
    ),
    Break(
        "a second signal is not heard",
        _SHUTDOWN,
        '            self._cut(f"{reason} again")\n',
        "            pass\n",
        _process("test_shutdown", "asked_twice_it_cuts_at_once_and_a_third_time_changes_nothing"),
    ),
    Break(
        "the watchdog is armed only when Trio gets round to it",
        _SHUTDOWN,
        "            self._watchdog.arm(\n                self._deadlines.total,",
        "            str().format(\n                self._deadlines.total,",
        _process("test_shutdown", "a_signal_arms_the_watchdog_before_trio_hears_of_it"),
    ),
)
