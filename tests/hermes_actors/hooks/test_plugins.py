"""A plugin counts whole or not at all, and takes only names that are free."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_actors.hooks import Catalogue, PluginContext, RegistrationRefused

from .doubles import STOPPED, World

RESERVED = {
    "reserved_tools": ["terminal"],
    "reserved_commands": ["stop"],
    "reserved_adapters": ["telegram"],
}


class Shop:
    """A catalogue on a bus of its own."""

    def __init__(self) -> None:
        self.world = World()
        self.catalogue = Catalogue(self.world.bus, **RESERVED)

    def contents(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """Names of tools, commands, adapters, and labels of handlers."""
        shelf = self.catalogue
        labels = [each.label for each in self.world.bus.health()]
        return list(shelf.tools), list(shelf.commands), list(shelf.adapters), labels


NOTHING: tuple[list[str], list[str], list[str], list[str]] = ([], [], [], [])


def speak(*_: Any) -> str:
    """Say something."""
    return "something"


async def test_a_plugin_brings_hooks_tools_commands_and_adapters() -> None:
    shop = Shop()

    def register(ctx: PluginContext) -> None:
        async def on_stop(run_id: str) -> None:
            shop.world.log.append(run_id)

        ctx.hook("agent_loop_stopped", on_stop)
        ctx.tool("speak", speak, toolset="voice", idempotent=True)
        ctx.command("/say", speak, args_hint="WORDS")
        ctx.adapter("pigeon", speak, label="Carrier pigeon")

    shop.catalogue.install("acme", register)
    await shop.world.bus.fire(STOPPED)
    assert shop.world.log == ["r1"]
    tool, command = shop.catalogue.tools["speak"], shop.catalogue.commands["say"]
    assert (tool.owner, tool.toolset, tool.idempotent, tool.handler) == (
        "acme",
        "voice",
        True,
        speak,
    )
    assert (command.owner, command.args_hint, command.description) == (
        "acme",
        "WORDS",
        "Say something.",
    )
    assert shop.catalogue.adapters["pigeon"].label == "Carrier pigeon"


def test_each_of_the_four_is_a_decorator_too_and_leaves_the_function_alone() -> None:
    shop = Shop()

    def register(ctx: PluginContext) -> None:
        @ctx.hook("agent_loop_stopped")
        def on_stop(**_: Any) -> str:
            return "still a function"

        @ctx.tool("speak", description="Say something")
        def tool(arguments: dict[str, Any]) -> str:
            return "spoken"

        @ctx.command("say")
        def command(raw_args: str) -> str:
            return raw_args

        @ctx.adapter("pigeon")
        def build() -> None: ...

        assert (on_stop(), tool({}), command("x")) == ("still a function", "spoken", "x")

    shop.catalogue.install("acme", register)
    tools, commands, adapters, labels = shop.contents()
    assert (tools, commands, adapters) == (["speak"], ["say"], ["pigeon"])
    assert len(labels) == 1


def test_what_was_registered_before_a_plugin_raised_is_forgotten() -> None:
    shop = Shop()

    def register(ctx: PluginContext) -> None:
        ctx.hook("agent_loop_stopped", lambda **_: None)
        ctx.tool("speak", speak)
        ctx.command("say", speak)
        ctx.adapter("pigeon", speak)
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        shop.catalogue.install("acme", register)
    assert shop.contents() == NOTHING
    shop.catalogue.install("other", lambda ctx: ctx.tool("speak", speak))  # the name is free again
    assert shop.catalogue.tools["speak"].owner == "other"


def test_a_mistake_raises_at_its_line_and_a_plugin_may_live_with_it() -> None:
    shop = Shop()

    def register(ctx: PluginContext) -> None:
        try:
            ctx.hook("agent_loop_exploded", lambda **_: None)
        except RegistrationRefused:
            ctx.hook("agent_loop_stopped", lambda **_: None)

    shop.catalogue.install("acme", register)
    assert len(shop.contents()[3]) == 1


async def asynchronous(ctx: PluginContext) -> None:
    ctx.tool("speak", speak)


def yielding(ctx: PluginContext) -> Any:
    ctx.tool("speak", speak)
    yield


async def yielding_asynchronously(ctx: PluginContext) -> Any:
    ctx.tool("speak", speak)
    yield  # noqa: ASYNC900


@pytest.mark.parametrize("register", [asynchronous, yielding, yielding_asynchronously])
def test_a_register_that_would_never_run_is_refused(register: Any) -> None:
    shop = Shop()
    with pytest.raises(RegistrationRefused, match="must be a plain function"):
        shop.catalogue.install("acme", register)
    assert shop.contents() == NOTHING


@pytest.mark.parametrize("method", ["hook", "tool", "command", "adapter"])
def test_registering_after_register_has_returned_is_refused(method: str) -> None:
    shop = Shop()
    kept: list[PluginContext] = []
    shop.catalogue.install("acme", kept.append)
    name = "agent_loop_stopped" if method == "hook" else "speak"
    with pytest.raises(RegistrationRefused, match="'acme' registers after 'register' has returned"):
        getattr(kept[0], method)(name, lambda **_: None, **_words(method))
    assert shop.contents() == NOTHING


def _words(method: str) -> dict[str, str]:
    return {"description": "words"} if method == "tool" else {}


def test_registering_late_is_refused_after_a_failed_register_too() -> None:
    shop, kept = Shop(), []

    def register(ctx: PluginContext) -> None:
        kept.append(ctx)
        raise LookupError

    with pytest.raises(LookupError):
        shop.catalogue.install("acme", register)
    with pytest.raises(RegistrationRefused, match="after 'register' has returned"):
        kept[0].tool("speak", speak)


@pytest.mark.parametrize(
    ("method", "name", "spelled"),
    [
        ("tool", "terminal", "terminal"),
        ("command", "stop", "/stop"),
        ("adapter", "telegram", "telegram"),
    ],
)
def test_built_in_names_cannot_be_taken(method: str, name: str, spelled: str) -> None:
    shop = Shop()
    with pytest.raises(RegistrationRefused) as caught:
        shop.catalogue.install("acme", lambda ctx: getattr(ctx, method)(spelled, speak))
    assert str(caught.value) == (
        f"the {method} '{name}' of 'acme' is already taken by 'hermes-actors'"
    )


@pytest.mark.parametrize("method", ["tool", "command", "adapter"])
def test_a_name_is_taken_once_by_one_plugin_or_two(method: str) -> None:
    shop = Shop()
    shop.catalogue.install("first", lambda ctx: getattr(ctx, method)("speak", speak))
    with pytest.raises(RegistrationRefused, match="of 'second' is already taken by 'first'"):
        shop.catalogue.install("second", lambda ctx: getattr(ctx, method)("speak", speak))

    def twice(ctx: PluginContext) -> None:
        getattr(ctx, method)("shout", speak)
        getattr(ctx, method)("shout", speak)

    with pytest.raises(RegistrationRefused, match="of 'third' is already taken by 'third'"):
        shop.catalogue.install("third", twice)


def test_the_same_name_may_be_a_tool_and_a_command_and_an_adapter() -> None:
    shop = Shop()

    def register(ctx: PluginContext) -> None:
        ctx.tool("speak", speak)
        ctx.command("speak", speak)
        ctx.adapter("speak", speak)

    shop.catalogue.install("acme", register)
    assert shop.contents()[:3] == (["speak"], ["speak"], ["speak"])


def test_handlers_are_called_in_the_order_in_which_plugins_were_installed() -> None:
    shop = Shop()

    def one(**_: Any) -> None: ...

    def two(**_: Any) -> None: ...

    shop.catalogue.install("b", lambda ctx: ctx.hook("agent_loop_stopped", one))
    shop.catalogue.install("a", lambda ctx: ctx.hook("agent_loop_stopped", two))
    assert [label.partition("/")[0] for label in shop.contents()[3]] == ["b", "a"]


def test_a_plugin_reads_its_own_settings_and_has_none_by_default() -> None:
    shop, seen = Shop(), []
    shop.catalogue.install("plain", lambda ctx: seen.append(dict(ctx.settings)))
    shop.catalogue.install("set", lambda ctx: seen.append(dict(ctx.settings)), {"loud": True})
    assert seen == [{}, {"loud": True}]
