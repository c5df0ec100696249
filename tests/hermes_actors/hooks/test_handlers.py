"""Handlers are checked when they are registered, while their author is watching."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks import RegistrationRefused
from hermes_actors.hooks.handlers import Handler

from .doubles import PROMPT, STOPPED, World


def refusal_of(function: Any, hook: str = "agent_loop_stopped") -> str:
    with pytest.raises(RegistrationRefused) as caught:
        Handler.of(hook, function, "test")
    return str(caught.value)


def test_an_unknown_hook_is_refused_with_the_nearest_name() -> None:
    assert refusal_of(lambda **_: None, "agent_loop_stoped") == (
        "there is no hook 'agent_loop_stoped'; did you mean 'agent_loop_stopped'?"
    )
    assert refusal_of(lambda **_: None, "zzz") == "there is no hook 'zzz'"


def test_an_argument_that_the_hook_does_not_have_is_refused_with_the_nearest_name() -> None:
    def handler(sesion_key: str = "") -> None: ...

    assert refusal_of(handler).endswith(
        "takes 'sesion_key', which the hook 'agent_loop_stopped' does not have; "
        "did you mean 'session_key'?"
    )


def test_taking_the_rest_does_not_excuse_a_misspelled_name() -> None:
    def handler(run: str, **rest: Any) -> None: ...

    assert "takes 'run'" in refusal_of(handler)


def test_an_argument_by_position_only_is_refused() -> None:
    def positional(run_id: str, /) -> None: ...

    assert "takes 'run_id' by position only" in refusal_of(positional)


async def async_generator(**_: Any) -> Any:
    yield 1  # noqa: ASYNC900


def plain_generator(**_: Any) -> Any:
    yield 1


class YieldingObject:
    def __call__(self, **_: Any) -> Any:
        yield 1


@pytest.mark.parametrize("generator", [async_generator, plain_generator, YieldingObject()])
def test_a_handler_that_yields_is_refused_because_it_would_never_run(
    generator: Callable[..., Any],
) -> None:
    assert refusal_of(generator).endswith("is a generator; it must return, not yield")


def test_what_cannot_be_called_or_does_not_say_its_arguments_is_refused() -> None:
    assert refusal_of(42) == "a handler is a function, not int"
    assert "wrap it in a function" in refusal_of(dict.update)


@pytest.mark.parametrize(
    ("function", "wants"),
    [
        (lambda: None, set()),
        (lambda run_id, cause: None, {"run_id", "cause"}),
        (lambda *, run_id="": None, {"run_id"}),
        (lambda *_args: None, set()),
        (lambda telemetry_schema_version: None, {"telemetry_schema_version"}),
        (lambda run_id, **_: None, None),
    ],
)
def test_a_handler_is_given_what_it_names_or_all(
    function: Callable[..., Any], wants: set[str] | None
) -> None:
    handler = Handler.of("agent_loop_stopped", function, "test")
    offered = {*STOPPED.__struct_fields__, "telemetry_schema_version"}
    assert set(handler.arguments(STOPPED)) == (offered if wants is None else wants)
    function(**handler.arguments(STOPPED))


def test_each_call_gets_a_copy_of_its_own_and_what_nobody_wants_is_not_copied() -> None:
    class Uncopyable:
        """No plain data: copying it would raise."""

    history: Any = (Uncopyable(),)
    event = type(PROMPT)(
        user_message="hello",
        conversation_history=history,
        is_first_turn=True,
        model="demo",
        platform="chat",
        session_key="s",
        agent_id="main",
    )
    modest = Handler.of("pre_llm_call", lambda user_message: None, "test")
    assert modest.arguments(event) == {"user_message": "hello"}
    assert modest.arguments(event) is not modest.arguments(event)
    with pytest.raises(TypeError):
        Handler.of("pre_llm_call", lambda **_: None, "test").arguments(event)


async def test_an_event_that_is_no_plain_data_is_our_fault_and_costs_nobody_a_chance(
    autojump_clock: MockClock,
) -> None:
    world, broken = World(failures=1, cool_down=60), True

    async def flaky(**_: Any) -> str:
        if broken:
            raise ValueError
        return "recovered"

    world.on("pre_llm_call", flaky)
    assert await world.bus.transform(PROMPT) is None
    broken = False
    await trio.sleep(60)
    bad: Any = (object(),)
    with pytest.raises(TypeError):
        await world.bus.transform(type(PROMPT)(**{**_fields(), "conversation_history": bad}))
    assert await world.bus.transform(PROMPT) == "recovered"  # its one trial was still to be had


def _fields() -> dict[str, Any]:
    return {name: getattr(PROMPT, name) for name in PROMPT.__struct_fields__}


async def test_methods_partials_and_callable_objects_are_handlers_too() -> None:
    world = World()

    class Plugin:
        async def method(self, run_id: str) -> None:
            world.log.append(f"method {run_id}")

        async def __call__(self, run_id: str) -> None:
            world.log.append(f"object {run_id}")

    class Plain:
        def __call__(self, run_id: str) -> None:
            world.log.append(f"plain object {run_id}")

    async def partial(store: str, run_id: str) -> None:
        world.log.append(f"{store} {run_id}")

    world.on("agent_loop_stopped", Plugin().method)
    world.on("agent_loop_stopped", Plugin())
    world.on("agent_loop_stopped", Plain())
    world.on("agent_loop_stopped", functools.partial(partial, store="by name"))
    world.on("agent_loop_stopped", functools.partial(partial, "by position"))
    world.on("agent_loop_stopped", functools.partial(Plugin()))
    await world.bus.fire(STOPPED)
    assert sorted(world.log) == [
        "by name r1",
        "by position r1",
        "method r1",
        "object r1",
        "object r1",
        "plain object r1",
    ]


def test_a_handler_is_called_by_its_owners_and_its_own_name() -> None:
    def outer() -> Callable[..., None]:
        def inner(**_: Any) -> None: ...

        return inner

    labels = [
        Handler.of("agent_loop_stopped", each, "acme").label
        for each in (refusal_of_nothing, functools.partial(refusal_of_nothing), Quiet(), outer())
    ]
    assert labels == [
        "acme/refusal_of_nothing",
        "acme/refusal_of_nothing",
        "acme/Quiet",
        "acme/test_a_handler_is_called_by_its_owners_and_its_own_name.<locals>.outer.<locals>.inner",
    ]


def refusal_of_nothing(**_: Any) -> None: ...


class Quiet:
    def __call__(self, **_: Any) -> None: ...
