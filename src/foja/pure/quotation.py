"""Words of others in our sentences: always a quotation that what is quoted cannot end.

Names, reasons, kinds, subjects and paths come from outside. One function quotes them for every report, page,
certificate and command, so that none of them reads as a sentence of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from typing import Final
from unicodedata import bidirectional, category, normalize

OPEN, CLOSE = "“", "”"
LONGEST: Final = 120  # characters within a sentence
LONGEST_LINE: Final = 200  # characters on a line of their own
_FEW_WORDS, _FEW_CHARACTERS = 4, 40
_MOST_MARKS: Final = 3  # combining marks on one letter; more would cover what stands above and below
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_JOINERS: Final = "\u200c\u200d"  # of emoji and of some scripts
_BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"  # letters without ink
_LIKE_QUOTES: Final = "`„‚⹂´¨ʹʺʻʼʽˈˊˋ˝ˮ՛՝׳״′″‴‵‶‷⁗❛❜❝❞❟❠〃〝〞〟＂＇｀𝅏"
_FROM_RIGHT: Final = frozenset(("R", "AL", "AN"))
_PLAIN: Final = re.compile("(?:[!#-&(-_a-~]+ )*[!#-&(-_a-~]+")  # nothing in it has to change
QUOTATION: Final = f"{_ISOLATE}?{OPEN}[^{OPEN}{CLOSE}{_ISOLATE}{_END_ISOLATE}]*{CLOSE}{_END_ISOLATE}?"
_ISOLATED: Final = re.compile(f"({_ISOLATE}{OPEN}[^{OPEN}{CLOSE}\u2066-\u2069]*{CLOSE}{_END_ISOLATE})")


class Foreign(str):
    """A text from outside. Formatted into a sentence it is a quotation; anywhere else it is itself."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format(quoted(self), spec)


def quoted(text: str, longest: int = LONGEST, *, straight: bool = False) -> str:
    """Return a text from outside as a quotation in one line, cut, escaped, and isolated if right to left.

    With `straight` it keeps straight quotation marks, as JSON has them: they do not end a quotation.
    """
    if len(text) <= longest and _PLAIN.fullmatch(text):
        return OPEN + text + CLOSE
    start = text[: 4 * longest]
    shown = " ".join("".join(each if straight and each == '"' else _one(each) for each in start).split())
    shown = re.sub("'{2,}", "'", _few_marks(shown))
    if len(shown) > longest or len(text) > len(start):
        shown = f"{shown[:longest]}…"
    quotation = f"{OPEN}{shown}{CLOSE}"
    turns = any(bidirectional(each) in _FROM_RIGHT for each in shown)
    return f"{_ISOLATE}{quotation}{_END_ISOLATE}" if turns else quotation


def quoted_lines(text: str) -> str:
    """Return a text from outside as a quotation of several lines, for a place where nothing follows."""
    if "\n" not in text and _PLAIN.fullmatch(text):
        return OPEN + text + CLOSE
    lines = text.replace("\r\n", "\n").split("\n")
    shown = ("".join(each if each == '"' else _one(each) for each in line) for line in lines)
    return OPEN + "\n".join(re.sub("'{2,}", "'", _few_marks(line)) for line in shown) + CLOSE


def is_short(text: str) -> bool:
    """Return whether a text from outside is a few words, which may stand within a sentence."""
    return len(text) <= _FEW_CHARACTERS and len(text.split()) <= _FEW_WORDS


def visible(text: str, replace: Callable[[str], str] | None = None) -> str:
    """Return a text without control characters; only a whole quotation may have a direction of its own."""
    if text.isprintable():
        return str(text)
    replace, parts = replace or _printable, _ISOLATED.split(text)
    return "".join(part if at % 2 else "".join(map(replace, part)) for at, part in enumerate(parts))


@lru_cache(maxsize=4096)
def _one(character: str) -> str:
    """Return a character as a quotation may show it."""
    if (
        character in _LIKE_QUOTES
        or category(character) in ("Pi", "Pf")
        or '"' in normalize("NFKC", character)
    ):
        return "'"
    if category(character) in ("Zs", "Zl", "Zp") or character in _BLANKS:
        return " "
    return character if character in _JOINERS else _printable(character)


def _printable(character: str) -> str:
    return character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _few_marks(text: str) -> str:
    """Return a text with few combining marks on each letter, and none at its beginning."""
    kept = []
    for marks, run in groupby(text, _is_mark):
        kept.append("".join(run)[: _MOST_MARKS if marks else None])
    shown = "".join(kept)
    return f"\N{DOTTED CIRCLE}{shown}" if shown and _is_mark(shown[0]) else shown


def _is_mark(character: str) -> bool:
    return category(character).startswith("M")
