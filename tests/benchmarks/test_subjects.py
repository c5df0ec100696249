from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("pykka", reason="the benchmarks need the extra 'bench'")
pytest.importorskip("psutil", reason="the benchmarks need the extra 'bench'")

from benchmarks.__main__ import main
from benchmarks.actors import ask, control, idle, tell, tree
from benchmarks.child import ChildFailed, figures
from benchmarks.result import Result, at_most
from benchmarks.rounds import TINY, Size
from benchmarks.store import restart, writes
from benchmarks.subjects import SUBJECTS, Subject
from benchmarks.table import line

PARTS = {part.__name__: part.measure for part in (tell, ask, idle, tree, control, writes, restart)}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_every_part_runs_in_miniature_and_says_what_it_compares_with(part: Subject) -> None:
    found = list(part(TINY))
    assert found
    for result in found:
        assert result.beside, result.name
        assert result.value >= 0
        assert line("subject", result)


@pytest.mark.parametrize("name", ["start", "redactor"])
def test_the_other_subjects_run_in_miniature_too(name: str) -> None:
    found = list[Result](SUBJECTS[name](TINY))
    assert all(result.beside for result in found)
    assert found


def test_what_is_counted_rather_than_timed_holds_in_miniature_too() -> None:
    found = {result.name: result.value for part in (idle, control) for result in part.measure(TINY)}
    assert found["tasks kept by 10 passivated actors"] == 0
    assert found["messages ahead of control, 10 queued"] == 0


@pytest.mark.parametrize(
    ("value", "code", "words"), [(5, 0, "every target is met"), (6, 1, "2 missed")]
)
def test_a_missed_target_is_told_by_the_exit_code(
    value: float, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def speed(size: Size) -> Iterator[Result]:
        for name in ("first", "second"):
            yield Result(name=name, value=value, unit="s", beside="nothing", target=at_most(5))

    assert main(["speed"], {"speed": speed}) == code
    assert words in capsys.readouterr().out


def test_an_unknown_subject_is_refused_with_the_names_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["speed"])
    assert refused.value.code == 2
    assert "no subject is called 'speed'; there are: actors, store" in capsys.readouterr().err


def test_a_measuring_process_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(ChildFailed, match="invalid literal for int"):
        figures(idle.weigh_actors, "many")
