"""Named queries: each has a name, a sentence and a text, and no two share a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from foja.engine.sql import query, read_queries
from foja.errors import SetupFailed


def write(folder: Path, text: str, name: str = "a.sql") -> Path:
    (folder / name).write_text(text)
    return folder


def test_a_query_is_its_text_without_name_and_sentence(tmp_path: Path) -> None:
    one = "-- name: one\n-- Gives one.\nselect 1\n-- inside\n;\n"
    two = "-- name: two\n-- Gives\n-- two.\nselect %(two)s;\n"
    assert read_queries(write(tmp_path, f"{one}\n{two}")) == {
        "one": "select 1\n-- inside\n;",
        "two": "select %(two)s;",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select 1;", "has no name"),
        ("-- name: one\nselect 1;", "needs a comment"),
        ("-- name: one\n-- Gives one.\n", "needs a comment"),
        ("-- name: one\n-- A.\nselect 1;\n-- name: one\n-- B.\nselect 2;", "second query 'one'"),
    ],
)
def test_a_query_that_is_not_one_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match=says):
        read_queries(write(tmp_path, text))


def test_a_name_may_not_be_used_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, "-- name: one\n-- A.\nselect 1;")
    write(tmp_path, "-- name: one\n-- B.\nselect 2;", "b.sql")
    with pytest.raises(SetupFailed, match=r"b\.sql names a second query"):
        read_queries(tmp_path)


def test_every_packaged_query_can_be_read() -> None:
    assert query("applied_migrations").startswith("select number")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SetupFailed, match="'nope'"):
        query("nope")
