"""From what a person typed to something the index understands, whatever was typed.

Every word reaches the index inside quotes, so nothing in it can be syntax. Phrases in quotes,
`AND`, `OR`, `NOT` between words, and a `*` at the end of a word keep their meaning. A word in a
script that is written without spaces goes to the index of three-letter pieces, and one that is
too short for that is looked for letter by letter.
"""

from __future__ import annotations

import re

import msgspec

LONGEST = 2048
_PIECE = 3
_MOST_TERMS = 64
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]")
_TOKEN = re.compile(r'"([^"]*)"|([^\s"]+)')


class Wanted(msgspec.Struct, frozen=True):
    """Three ways to look, all of which must succeed; None or empty where one is not needed."""

    words: str | None = None
    pieces: str | None = None
    letters: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Nothing that could be looked for was typed."""
        return self.words is None and self.pieces is None and not self.letters


def understand(typed: str) -> Wanted:
    """What to look for. Never fails: what makes no sense is left out."""
    terms = [_term(*found.groups()) for found in _TOKEN.finditer(_readable(typed))]
    unspaced = [term for term in terms if _UNSPACED.search(term)]
    if not unspaced:
        return Wanted(words=_expression(terms))
    spaced = [each for each in terms if not _UNSPACED.search(each) and each not in _OPERATORS]
    bare = [term.strip('"*') for term in unspaced]
    return Wanted(
        _expression(spaced),
        _expression([f'"{each}"' for each in bare if len(each) >= _PIECE]),
        tuple(each for each in bare if len(each) < _PIECE),
    )


def _readable(typed: str) -> str:
    cut = typed[:LONGEST]
    if cut.count('"') % 2:
        cut = cut.replace('"', " ")  # nobody can know where the phrase was to end
    return "".join(each if each.isprintable() else " " for each in cut)


def _term(phrase: str | None, word: str | None) -> str:
    """A quoted term, an operator, or '' for something without a letter or digit in it."""
    if word in _OPERATORS:
        return str(word)
    text = (phrase if word is None else word) or ""
    if not any(each.isalnum() for each in text):
        return ""
    prefix = "*" if word is not None and word.endswith("*") else ""
    return f'"{text.rstrip("*") if prefix else text}"{prefix}'


def _expression(terms: list[str]) -> str | None:
    """Terms with the operators between them, where these make sense; AND where there is none."""
    said: list[str] = []
    joint = "AND"
    for term in filter(None, terms[:_MOST_TERMS]):
        if term in _OPERATORS:
            joint = term
        else:
            said += [joint, term] if said else [term]
            joint = "AND"
    return " ".join(said) or None
