from __future__ import annotations

import signal
from pathlib import Path

import pytest

from hermes_actors.failpoints import Point
from hermes_actors.testing import Death, run_until_killed, take_census

LEDGER = "tests.hermes_actors.testing.programs.ledger"
SLEEPER = Path(__file__).with_name("programs") / "sleeper.py"
POINT = Point.STORE_COMMIT_BEFORE


def is_running(pid: int) -> bool:
    """Whether it runs: a zombie that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize("at_pass", [1, 2, 4])
def test_a_program_dies_exactly_where_it_is_told_to(at_pass: int, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    death = run_until_killed(LEDGER, str(ledger), "5", failpoint=POINT, at_pass=at_pass)
    assert death.killed
    kept = range(at_pass - 1)
    assert death.stdout == "".join(f"kept {number}\n" for number in kept)
    assert ledger.read_text() == "".join(f"{number}\n" for number in kept)


def test_a_program_that_does_not_pass_the_point_so_often_is_not_killed(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger")
    death = run_until_killed(LEDGER, ledger, "2", failpoint="store.commit.before", at_pass=3)
    assert death == Death(0, "kept 0\nkept 1\n", "")
    assert not death.killed
    assert run_until_killed(LEDGER, ledger, "0", failpoint=None) == Death(0, "", "")


def test_a_program_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    death = run_until_killed(LEDGER, str(tmp_path / "ledger"), "many", failpoint=POINT)
    assert (death.returncode, death.killed) == (1, False)
    assert "ValueError: invalid literal" in death.stderr


def test_a_program_that_does_not_end_is_ended_at_the_deadline_and_not_called_killed() -> None:
    before = take_census()["processes"]
    death = run_until_killed(SLEEPER, failpoint=POINT, within=0.5)
    assert (death.returncode, death.timed_out, death.killed) == (-signal.SIGKILL, True, False)
    assert death.stderr == "still here\n"
    assert take_census()["processes"] == before


@pytest.mark.parametrize("failpoint", [POINT, None], ids=["killed", "ended"])
def test_no_process_that_it_started_is_left_behind(failpoint: Point | None, tmp_path: Path) -> None:
    ledger, child = str(tmp_path / "ledger"), tmp_path / "child"
    death = run_until_killed(LEDGER, ledger, "1", str(child), failpoint=failpoint)
    assert death.killed == (failpoint is not None)
    assert not is_running(int(child.read_text()))


def test_the_programs_surroundings_can_be_added_to_but_not_its_failpoints(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(os.environ['COLOUR'], os.environ['HERMES_FAILPOINTS'])\n")
    surroundings = {"COLOUR": "red", "HERMES_FAILPOINTS": "nonsense"}
    death = run_until_killed(program, failpoint=None, env=surroundings)
    assert death == Death(0, "red \n", "")


def test_a_failpoint_that_does_not_exist_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match=r"no failpoint 'store\.comit\.before'; did you mean"):
        run_until_killed(LEDGER, failpoint="store.comit.before")
    with pytest.raises(ValueError, match=r"no failpoint 'xyz'; there are store\.open"):
        run_until_killed(LEDGER, failpoint="xyz")
