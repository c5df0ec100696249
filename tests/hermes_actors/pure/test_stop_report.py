"""Every ending has its words, and a stop says what was cancelled."""

from __future__ import annotations

import pytest

from hermes_actors.pure.endings import ENDINGS, OK, Ending, ending
from hermes_actors.pure.stop_report import NOTHING_RUNS, CutOff, reason_in_words, stop_report

STOP = ending("user_stop")


@pytest.mark.parametrize("each", ENDINGS, ids=lambda each: each.reason)
def test_every_ending_has_a_text_a_status_and_a_reason(each: Ending) -> None:
    report = stop_report(each)
    assert report.text.strip()
    assert report.status == f"{each.state} · {each.reason}"
    assert report.reason == reason_in_words(each)
    assert report.reason.strip()


def test_no_two_endings_read_alike() -> None:
    assert len({stop_report(each).text for each in ENDINGS}) == len(ENDINGS)
    assert len({stop_report(each).reason for each in ENDINGS}) == len(ENDINGS)


@pytest.mark.parametrize("reason", ["guardrail", "budget", "max_iterations", "denied"])
def test_a_halt_names_its_limit(reason: str) -> None:
    halted = next(each for each in ENDINGS if each.reason == reason)
    assert reason in stop_report(halted).text


def test_a_stop_is_proven_by_what_was_cancelled() -> None:
    cut = CutOff(
        model_call=True,
        tools=("web_search", "web_search"),
        processes=("sleep 99",),
        remote_calls=("locate",),
        subagents=("research",),
        queued=2,
    )
    report = stop_report(STOP, cut)
    assert report.text == (
        "Stopped. Cancelled: the model call, 2 tool calls (web_search ×2), 1 process (sleep 99), "
        "1 remote call (locate), 1 sub-agent (research). Nothing of this run is active any more, "
        "and nothing was sent after the stop. 2 messages still queued; /stop all drops them too."
    )
    assert report.status == (
        "stopped · user_stop · the model call · 2 tool calls (web_search ×2) · "
        "1 process (sleep 99) · 1 remote call (locate) · 1 sub-agent (research) · 2 queued"
    )


def test_what_could_not_be_cut_is_said_and_nothing_is_claimed() -> None:
    text = stop_report(STOP, CutOff(unconfirmed=("ocr",))).text
    assert "may still have an effect: ocr" in text
    assert "Nothing of this run is active" not in text


def test_dropped_messages_are_counted() -> None:
    text = stop_report(STOP, CutOff(dropped=1)).text
    assert text.endswith("1 queued message dropped.")


def test_a_crash_claims_nothing_about_what_the_dead_process_did() -> None:
    assert "nothing was sent" not in stop_report(ending("crash")).text


def test_better_words_replace_the_general_ones_and_keep_the_proof() -> None:
    report = stop_report(ending("guardrail"), CutOff(tools=("a",)), "terminal is stuck.")
    assert report.text == "terminal is stuck. Cancelled: 1 tool call (a)."


def test_a_completed_run_has_nothing_to_prove() -> None:
    assert stop_report(OK, CutOff(queued=3), "Here you are.").text == "Here you are."


def test_long_lists_and_long_names_stay_one_line() -> None:
    names = tuple(f"cmd {n}\n" + "x" * 99 for n in range(50))
    text = stop_report(STOP, CutOff(processes=names)).text
    assert "and 42 more" in text
    assert "\n" not in text
    assert len(text) < 700


def test_nothing_to_stop_is_said() -> None:
    assert "nothing to stop" in NOTHING_RUNS
