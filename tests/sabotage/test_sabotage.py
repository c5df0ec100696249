"""The list of breaks is kept up to date, and the workshop itself can be trusted.

All of them together take some minutes: that is `make sabotage`. Here every break must still fit
the code, name tests that exist, and a sample of each kind of outcome is really tried.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.sabotage.__main__ import chosen, main
from tests.sabotage.all_breaks import ALL
from tests.sabotage.break_ import Break, StaleBreak
from tests.sabotage.workshop import ROOT, Verdict, copy_of_the_tree, try_break

ORDER = chosen(["children end in the order of their start"])[0]


def functions(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.why)
def test_every_break_still_fits_the_code_and_names_tests_that_exist(each: Break) -> None:
    broken = each.broken((ROOT / each.file).read_text())
    ast.parse(broken)
    assert each.tests
    for test in each.tests:
        file, _, name = test.partition("::")
        assert not name or name.partition("[")[0] in functions(ROOT / file), test


def test_there_are_breaks_enough_and_each_has_its_own_reason() -> None:
    assert len(ALL) >= 40
    assert len({each.why for each in ALL}) == len(ALL)


def test_a_break_whose_text_is_gone_or_ambiguous_says_so() -> None:
    stale = Break("why", "x.py", "old", "new", ("t",))
    with pytest.raises(StaleBreak, match=r"'why': x.py has its text 0 times"):
        stale.broken("something else")
    with pytest.raises(StaleBreak, match="2 times"):
        stale.broken("old and old")


def test_the_tree_itself_is_never_touched(tmp_path: Path) -> None:
    before = (ROOT / ORDER.file).read_text()
    with copy_of_the_tree() as copy:
        ORDER.apply(copy)
        assert (copy / ORDER.file).read_text() == ORDER.broken(before)
        assert ROOT not in copy.parents
    assert (ROOT / ORDER.file).read_text() == before


@pytest.mark.slow
def test_a_real_break_is_caught() -> None:
    assert try_break(ORDER).verdict is Verdict.CAUGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("for name in reversed(self._order):", "for name in self._order[::-1]:", Verdict.SURVIVED),
        ("for name in reversed(self._order):", "for name in", Verdict.UNFAIR),
        ("no such text", "whatever", Verdict.STALE),
    ],
)
def test_a_break_that_proves_nothing_is_not_called_caught(
    old: str, new: str, verdict: Verdict
) -> None:
    assert try_break(Break("a sample", ORDER.file, old, new, ORDER.tests)).verdict is verdict


def test_words_that_fit_no_break_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["there is no such break"]) == 2
    assert "no break is about" in capsys.readouterr().out
