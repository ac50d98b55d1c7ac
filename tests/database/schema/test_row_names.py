"""Each query whose rows have a class gives columns with the names of that class, in the same order."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

import foja
from foja.engine.driver.tenant_statement import positional
from foja.engine.sql import query

ROOT = Path(foja.__file__).parent
READERS = ("rows", "many", "row", "one", "ask", "ask_many")  # and what wraps these, if it names the query


class Declared(NamedTuple):
    """A call that names a query and the class of its rows."""

    query: str
    row: type
    place: str


def fields(row: type) -> tuple[str, ...]:
    """Return the names that a class takes, in order; none if it is not the class of a row."""
    if dataclasses.is_dataclass(row):
        return tuple(each.name for each in dataclasses.fields(row) if each.init)
    return getattr(row, "_fields", ())


def required(row: type) -> int:
    """Return how many of its names have no default."""
    return sum(each.default is each.empty for each in inspect.signature(row).parameters.values())


def names(call: ast.Call) -> set[str]:
    """Return the texts in the arguments of a call: `sql.query("clock")` or "clock" names a query."""
    found = (each for argument in call.args for each in ast.walk(argument) if isinstance(each, ast.Constant))
    return {each.value for each in found if isinstance(each.value, str)}


def declared(path: Path) -> Iterator[Declared]:
    """Yield the calls of a module with an argument that is the class of a row."""
    name = ".".join(("foja", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    tree = ast.parse(path.read_text())
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        wanted = queries() & names(call)
        reads = isinstance(call.func, ast.Attribute) and call.func.attr in READERS
        if not wanted and not reads:
            continue
        known = vars(importlib.import_module(name))
        rows = [known.get(each.id) for each in call.args if isinstance(each, ast.Name)]
        place = f"{path.relative_to(ROOT)}:{call.lineno}"
        for row in rows:
            if isinstance(row, type) and fields(row):
                assert wanted, f"{place}: which query has a {row.__name__}?"
                yield from (Declared(each, row, place) for each in wanted)


def queries() -> frozenset[str]:
    """Return the names of all queries."""
    from foja.engine.sql import _queries

    return frozenset(_queries())


def columns(admin: psycopg.Connection[Any], name: str) -> tuple[str, ...]:
    """Return the names of a query's columns, as the database describes the prepared statement."""
    statement, _, _ = positional(query(name))
    prepared = admin.pgconn.prepare(b"", statement)
    assert not prepared.error_message, f"{name}: {prepared.error_message.decode()}"
    described = admin.pgconn.describe_prepared(b"")
    return tuple((described.fname(at) or b"").decode() for at in range(described.nfields))


def fits(row: type, found: tuple[str, ...]) -> bool:
    """Return whether these columns have the names of a class; only fields with a default may be missing."""
    return found == fields(row)[: len(found)] and len(found) >= required(row)


def test_the_columns_of_a_query_have_the_names_of_its_row(admin: psycopg.Connection[Any]) -> None:
    found = [each for path in sorted(ROOT.rglob("*.py")) for each in declared(path)]
    differ = {
        f"{each.place} {each.query}": (fields(each.row), columns(admin, each.query))
        for each in found
        if not fits(each.row, columns(admin, each.query))
    }
    assert found
    assert not differ


class Evaluated(NamedTuple):
    """The columns of `alert_round`, one of them under another name."""

    version: int
    evaluated: str
    now: str


def test_a_column_with_another_name_does_not_fit(admin: psycopg.Connection[Any]) -> None:
    found = columns(admin, "alert_round")
    assert found == ("version", "evaluated_at", "now")
    assert not fits(Evaluated, found)
    assert not fits(Evaluated, found[:1])
