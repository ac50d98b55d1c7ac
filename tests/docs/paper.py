"""The project's own paper, taken apart."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

ROOT = Path(__file__).parent.parent.parent
ENGLISH, SPANISH = ROOT / "README.md", ROOT / "README.es.md"
OPERATIONS = ROOT / "docs" / "operations.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
READMES = [ENGLISH, SPANISH]

# What the paper writes where a reader puts something of his own.
STAND_INS = {"ENTITY": str(UUID(int=1)), "DOC": str(UUID(int=2))}
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced piece of a page."""

    language: str
    text: str

    def lines(self) -> list[list[str]]:
        """Return the words of every command in it, up to where its output goes."""
        commands = [shlex.split(line, comments=True) for line in self.text.splitlines()]
        return [_before(words, ">") for words in commands if words]


def blocks(page: Path) -> list[Block]:
    """Return the fenced pieces of a page, in order."""
    return [Block(*found) for found in _FENCE.findall(page.read_text())]


def prose(page: Path) -> str:
    """Return a page without its fenced pieces."""
    return _FENCE.sub("", page.read_text())


def inline(page: Path) -> list[str]:
    """Return what stands between backticks outside of fenced pieces."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def commands(page: Path, program: str) -> list[list[str]]:
    """Return the lines of shell pieces that call a program, without its name."""
    shells = [block for block in blocks(page) if block.language == "sh"]
    found = [words for shell in shells for words in shell.lines() if Path(words[0]).name == program]
    return [[STAND_INS.get(word, word) for word in words[1:]] for words in found]


def verbs(parser: ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every verb of a command line, with those it stands under."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield (*path, name)
                yield from verbs(inner, (*path, name))


def _before(words: list[str], end: str) -> list[str]:
    return words[: words.index(end)] if end in words else words
