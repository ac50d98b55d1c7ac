"""All SQL: `schema/` builds the schema in numbered steps, `queries/` has the named queries."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import LiteralString

from foja.errors import SetupFailed

_NAME = re.compile(r"^-- name: *(\w+)\s*$", re.MULTILINE)


def query(name: str) -> LiteralString:
    """Return the text of a named query, with psycopg's placeholders."""
    try:
        # The text comes from this package only, so it is as safe as a literal.
        return _queries()[name]
    except KeyError:
        raise SetupFailed(
            f"no query is named {name!r}. Add it to foja/sql/queries, or correct the name."
        ) from None


@cache
def _queries() -> dict[str, str]:
    return read_queries(files("foja.engine.sql") / "queries")


def read_queries(folder: Traversable) -> dict[str, str]:
    """Return every query of a folder by its name; two of one name are refused."""
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".sql"):
            continue
        for name, text in _split(file.name, file.read_text(encoding="utf-8")):
            if name in found:
                raise SetupFailed(
                    f"{file.name} names a second query {name!r}. Give one of them another name."
                )
            found[name] = text
    return found


def _split(file: str, text: str) -> list[tuple[str, str]]:
    """Return the queries of one file, each without its name and its sentence."""
    parts = _NAME.split(text)
    if parts[0].strip():
        raise SetupFailed(f"{file} begins with text that has no name. Write `-- name: …` above it.")
    return [(name, _body(file, name, block)) for name, block in zip(parts[1::2], parts[2::2], strict=True)]


def _body(file: str, name: str, block: str) -> str:
    lines = block.strip().splitlines()
    sentences = [line for line in lines if line.startswith("--")]
    start = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
    if not sentences or start == 0 or start == len(lines):
        raise SetupFailed(
            f"the query {name!r} in {file} needs a comment that says what it is for, then its SQL."
        )
    return "\n".join(lines[start:])
