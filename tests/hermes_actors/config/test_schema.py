"""What follows from the values of a configuration: the model and the toolsets of each agent."""

from __future__ import annotations

from hermes_actors.config import Config, Secret
from hermes_actors.config.keys import all_keys, fields_of
from hermes_actors.config.problems import listed, nearest, shortened, under
from hermes_actors.config.schema import AgentProfile, ModelChoice, ModelSettings, ToolSettings

KEY = Secret("key-of-the-house")
HOUSE = ModelSettings(provider="openai", name="large", base_url="http://one", api_key=KEY)


def model_of(choice: ModelChoice) -> ModelSettings:
    return Config(model=HOUSE, agents={"a": AgentProfile(model=choice)}).model_of("a")


def test_an_agent_that_chooses_nothing_has_the_model_of_the_house() -> None:
    assert model_of(ModelChoice()) == HOUSE
    assert Config(model=HOUSE).model_of("nobody") == HOUSE


def test_an_agent_may_choose_another_model_at_the_same_address_and_keeps_the_key() -> None:
    model = model_of(ModelChoice(name="small", temperature=0.0))
    assert (model.name, model.temperature, model.api_key) == ("small", 0.0, KEY)


def test_no_key_travels_to_another_provider_or_address() -> None:
    moved = model_of(ModelChoice(provider="anthropic"))
    assert (moved.provider, moved.name, moved.base_url, moved.api_key) == (
        "anthropic",
        None,
        None,
        None,
    )
    elsewhere = model_of(ModelChoice(base_url="http://two"))
    assert (elsewhere.name, elsewhere.base_url, elsewhere.api_key) == ("large", "http://two", None)


def test_naming_the_same_provider_or_address_again_changes_nothing() -> None:
    assert model_of(ModelChoice(provider="openai", base_url="http://one")) == HOUSE


def test_an_agent_may_have_no_toolsets_at_all() -> None:
    agents = {"own": AgentProfile(toolsets=("web",)), "none": AgentProfile(toolsets=())}
    config = Config(tools=ToolSettings(toolsets=("core",)), agents=agents)
    assert [config.toolsets_of(each) for each in ("own", "none", "main")] == [
        ("web",),
        (),
        ("core",),
    ]


def test_every_key_is_listed_once_and_the_place_for_plugins_is_not() -> None:
    keys = [key for key, _ in all_keys(Config)]
    assert len(keys) == len({*keys})
    assert {"default_agent", "model.fallbacks[].name", "agents.<name>.model.name"} <= {*keys}
    assert not any("others" in key for key in keys)


def test_two_configurations_share_no_table_that_could_be_changed() -> None:
    for kind in (Config, AgentProfile, ToolSettings):
        for field in fields_of(kind).values():
            assert not isinstance(field.default, dict | list), field


def test_strange_names_are_quoted_shortened_and_kept_in_one_line() -> None:
    assert under("a", "b-c_1") == "a.b-c_1"
    assert under("", "two words") == '"two words"'
    assert under("a", 'x"\n\u202e') == 'a."x\\"\\n\\u202e"'
    assert len(shortened("ü" * 1000)) == 80


def test_the_nearest_name_is_found_across_case_and_dashes_but_never_forced() -> None:
    names = ["api_key", "base_url"]
    assert [nearest(each, names) for each in ("API-KEY", "baseurl", "zzz", "", "x" * 10**6)] == [
        "api_key",
        "base_url",
        None,
        None,
        None,
    ]
    assert listed(names) == "'api_key', 'base_url'"
