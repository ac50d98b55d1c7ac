"""Parse the project's own documentation."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser import build_parser

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "foja"
ENGLISH, SPANISH = ROOT / "README.md", ROOT / "README.es.md"
READMES = [ENGLISH, SPANISH]
PARSER = build_parser()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

# What the pages write for an id that the reader replaces.
PLACEHOLDERS = {"ENTITY": str(UUID(int=1)), "DOC": str(UUID(int=2))}
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str

    def lines(self) -> list[list[str]]:
        """Return the arguments of every command in the block, without redirections."""
        commands = [shlex.split(line, comments=True) for line in self.text.splitlines()]
        return [_before(words, ">") for words in commands if words]


def docs(name: str) -> Path:
    """Return a page in docs/."""
    return ROOT / "docs" / f"{name}.md"


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [Block(*found) for found in _FENCE.findall(page.read_text())]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def section(page: Path, heading: str) -> str:
    """Return the prose under a heading, up to the next heading of the same level."""
    level = heading.partition(" ")[0]
    return prose(page).partition(f"\n{heading}\n")[2].partition(f"\n{level} ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row, heads included, rulers not."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(text: str) -> list[str]:
    """Return the texts in backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def inline(page: Path) -> list[str]:
    """Return the texts in backticks outside of fenced blocks."""
    return quoted(prose(page))


def commands(page: Path, program: str) -> list[list[str]]:
    """Return the shell commands of a page that call a program, without its name."""
    shells = [block for block in blocks(page) if block.language == "sh"]
    found = [words for shell in shells for words in shell.lines() if Path(words[0]).name == program]
    return [[PLACEHOLDERS.get(word, word) for word in words[1:]] for words in found]


def verbs(parser: ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every verb of a command line."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                yield (*path, name)
                yield from verbs(inner, (*path, name))


def _before(words: list[str], end: str) -> list[str]:
    return words[: words.index(end)] if end in words else words
