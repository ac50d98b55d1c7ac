"""The drawing in ARCHITECTURE.md is the tree: the floors, their packages, and the modules of the root."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, SOURCE, blocks

# Packages of the root that are no floor.
ONE_THING = {SOURCE / "client", SOURCE / "integrations"}
DRAWING = blocks(ROOT / "ARCHITECTURE.md")[0].text
# Two spaces per level, names separated by one space, then a sentence after at least two spaces.
LINE = re.compile(r"^(?P<indent>(?:  )+)(?P<names>\w+(?:/|\.py)(?: \w+(?:/|\.py))*)(?:  +\S.*)?$")


def drawn(drawing: str) -> list[str]:
    """Return the path of every package and module of a drawing."""
    paths: list[str] = []
    parents = [""]
    for line in drawing.splitlines():
        if found := LINE.match(line):
            names, level = found["names"].split(), len(found["indent"]) // 2
            del parents[level:]
            paths += [f"{parents[-1]}{name}" for name in names]
            parents.append(paths[-1])
    return paths


def tree() -> set[str]:
    """Return the path of every floor, of each of its packages, and of every root module of the source."""
    floors = {path.parent for path in SOURCE.glob("*/__init__.py")} - ONE_THING
    packages = floors | ONE_THING | {path.parent for floor in floors for path in floor.glob("*/__init__.py")}
    modules = [*SOURCE.glob("[a-z]*.py"), *(SOURCE / "domains").glob("[a-z]*.py")]
    return {f"{path.relative_to(SOURCE)}/" for path in packages} | {
        str(path.relative_to(SOURCE)) for path in modules
    }


def test_the_drawing_is_the_tree() -> None:
    assert sorted(drawn(DRAWING)) == sorted(tree())


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("    jobs/", "    tasks/"),
        ("  app.py", "  wiring.py"),
        ("    ledger/", "    journal/"),
        ("    threads/", "    — —"),
    ],
)
def test_another_drawing_is_noticed(line: str, other: str) -> None:
    changed = DRAWING.replace(line, other, 1)
    assert changed != DRAWING
    assert sorted(drawn(changed)) != sorted(tree())
