"""What plugins bring along is checked at the door and then ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hermes_actors.hooks import RegistrationRefused
from hermes_actors.hooks.contributions import (
    PluginAdapter,
    PluginCommand,
    PluginTool,
    checked_adapter,
    checked_command,
    checked_tool,
)


def described(*_: Any) -> str:
    """Say something.

    More than a model needs to know.
    """
    return "something"


def silent(*_: Any) -> None: ...


def tool(
    name: str = "speak", handler: Any = described, parameters: Any = None, description: str = ""
) -> PluginTool:
    return checked_tool(
        name,
        "acme",
        handler,
        description=description,
        parameters=parameters,
        toolset="plugins",
        idempotent=False,
    )


def command(name: str, handler: Any = described) -> PluginCommand:
    return checked_command(name, "acme", handler, description="", args_hint="[words]")


def adapter(name: str, factory: Any = described) -> PluginAdapter:
    return checked_adapter(name, "acme", factory, label="")


def refusal(make: Callable[..., object], *args: Any, **options: Any) -> str:
    with pytest.raises(RegistrationRefused) as caught:
        make(*args, **options)
    return str(caught.value)


def test_the_first_line_of_a_docstring_describes() -> None:
    assert tool().description == command("say").description == "Say something."
    assert tool(description="Speak up").description == "Speak up"


def test_a_tool_that_nobody_describes_is_refused() -> None:
    assert refusal(tool, handler=silent) == (
        "tool 'speak' has no description: no model would know its use"
    )


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "é", "a" * 65, "a\n"])
def test_a_tools_name_is_what_models_accept(name: str) -> None:
    assert "cannot be the name of this tool" in refusal(tool, name)
    assert tool("a" * 64).name == "a" * 64


@pytest.mark.parametrize("name", ["", "/", "//x", "Say", "1st", "a b", "a" * 33])
def test_a_commands_name_is_short_and_lower_case(name: str) -> None:
    assert "cannot be the name of this command" in refusal(command, name)


def test_a_command_is_the_same_with_and_without_its_slash() -> None:
    assert command("/say") == command("say")


def test_an_adapter_is_called_by_its_label_or_else_by_its_name() -> None:
    assert adapter("pigeon").label == "pigeon"
    assert "cannot be the name of this adapter" in refusal(adapter, "Carrier Pigeon")


@pytest.mark.parametrize("make", [tool, command, adapter])
def test_what_cannot_be_called_is_refused(make: Callable[..., object]) -> None:
    assert refusal(make, "speak", 42).endswith("'speak' needs a function, not int")


def test_without_parameters_a_tool_takes_none() -> None:
    assert tool().parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, [], "object"])
def test_parameters_are_the_schema_of_an_object(schema: Any) -> None:
    assert 'need "type": "object"' in refusal(tool, parameters=schema)


def test_parameters_are_plain_data_and_a_copy() -> None:
    mine: dict[str, Any] = {"type": "object", "properties": {"words": {"type": "string"}}}
    ours = tool(parameters=mine)
    mine["properties"].clear()
    assert ours.parameters["properties"] == {"words": {"type": "string"}}
    assert "the parameters of tool 'speak'" in refusal(
        tool, parameters={"type": "object", "default": object()}
    )
    endless: dict[str, Any] = {"type": "object"}
    endless["again"] = endless
    assert "the parameters of tool 'speak'" in refusal(tool, parameters=endless)
