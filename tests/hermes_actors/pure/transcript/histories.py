"""Random histories: mostly plausible, often broken, sometimes absurd."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

IDS = ("a", "b", "c", "a_2", "b_2", "", "x:1", "é", "a" * 41, "a" * 65, "functions.look:0")
NAMES = ("look", "look", "read_file", "", "no such", "x" * 65, "mcp__a__b")
BROKEN = ("", "{", "[]", "NaN", '{"a": NaN}', '{"a": "\ud800"}', '{"a": "\\ud800"}')
ARGUMENTS = ("{}", "{}", '{"a": 1}', '{"a": "\\ud83d\\ude00"}', *BROKEN)
TEXTS = ("hi", "go on", "", " \n", "\ud800 half", "😀", "[stopped]")

calls = st.builds(ToolCall, *map(st.sampled_from, (IDS, NAMES, ARGUMENTS)))
texts = st.sampled_from(TEXTS)
messages = st.one_of(
    st.builds(UserMessage, texts),
    st.builds(AssistantMessage, texts, st.lists(calls, max_size=3).map(tuple), texts),
    st.builds(ToolMessage, st.sampled_from(IDS), texts),
)
histories = st.lists(messages, max_size=10).map(tuple)


def random_call(dice: random.Random, careful: bool) -> ToolCall:
    if careful:
        return ToolCall(f"c{dice.randrange(1000)}", "look", "{}")
    return ToolCall(dice.choice(IDS), dice.choice(NAMES), dice.choice(ARGUMENTS))


def random_step(dice: random.Random, careful: bool) -> Iterator[Message]:
    """A message of one side, with results that fit more or less."""
    words = dice.choice(("hi", "go on")) if careful else dice.choice(TEXTS)
    kind = dice.random()
    if kind < 0.35:
        yield UserMessage(words)
    elif kind < 0.6:
        yield AssistantMessage(words)
    elif kind < 0.95:
        wanted = tuple(random_call(dice, careful) for _ in range(dice.randint(1, 3)))
        yield AssistantMessage(dice.choice(("", words)), wanted)
        results: list[Message] = [ToolMessage(call.id, words) for call in wanted]
        if not careful:
            dice.shuffle(results)
            results = results[: dice.randint(0, 3)]
        yield from results
    else:
        yield ToolMessage(dice.choice(IDS), words)


def random_history(dice: random.Random) -> tuple[Message, ...]:
    careful = dice.random() < 0.4
    steps = dice.choice((0, 1, 2, 3, 4, 6, 9))
    return tuple(each for _ in range(steps) for each in random_step(dice, careful))
