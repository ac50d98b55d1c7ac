"""The drawing in ARCHITECTURE.md is the tree of packages and root modules."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, SOURCE, blocks

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
    """Return the path of every package and every root module of the source."""
    packages = {f"{path.parent.relative_to(SOURCE)}/" for path in SOURCE.glob("*/**/__init__.py")}
    return packages | {path.name for path in SOURCE.glob("[a-z]*.py")}


def test_the_drawing_is_the_tree() -> None:
    assert sorted(drawn(DRAWING)) == sorted(tree())


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("  jobs/", "  tasks/"),
        ("  app.py", "  wiring.py"),
        ("    lanes/", "    roads/"),
        ("  threads/", "  — —"),
    ],
)
def test_another_drawing_is_noticed(line: str, other: str) -> None:
    changed = DRAWING.replace(line, other, 1)
    assert changed != DRAWING
    assert sorted(drawn(changed)) != sorted(tree())
