"""The glossary names what is public: in Python, SQL, JSON and on the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import psycopg
import pytest

import foja
from foja.app import App
from tests.docs.pages import PARSER, ROOT, SOURCE, docs, prose, quoted, rows, section, verbs

GLOSSARY = docs("glossary")
COLUMNS = ("term", "meaning", "Python", "SQL", "JSON", "CLI")
FIELDS = "## Fields of JSON documents"

# Words of earlier versions. They name nothing in the code or in the glossary any more.
RETIRED = {
    *("company", "desk", "door", "friend", "grammar", "hear", "heard", "lacking", "nobody", "paper"),
    *("parcel", "patiently", "picture", "saying", "sheet", "somebody", "sparingly", "speak"),
    *("staff", "stubbornly", "talk", "telling", "unsaid", "voice", "whoever", "wish"),
}

TABLES = """
select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('foja', 'public') and c.relkind in ('r', 'p', 'v', 'm', 'c')
union
select n.nspname || '.' || t.typname from pg_type t join pg_namespace n on n.oid = t.typnamespace
where n.nspname in ('foja', 'public') and t.typtype in ('d', 'e', 'r')
"""
GRANTED = """
select distinct n.nspname || '.' || p.proname from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where n.nspname in ('foja', 'public') and a.grantee <> p.proowner
"""
OBJECTS = f"""
{TABLES} union select n.nspname || '.' || p.proname from pg_proc p
join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('foja', 'public')
"""


def terms() -> list[dict[str, str]]:
    """Return every row of the glossary's term tables."""
    table = rows(prose(GLOSSARY).partition(FIELDS)[0])
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in table if cells[0] != "term"]


def column(name: str) -> list[str]:
    """Return the quoted names of one column."""
    return [each for term in terms() for each in quoted(term[name])]


def unknown(names: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return the names that are not known."""
    return set(names) - set(known)


def known_python() -> set[str]:
    return {word for name in column("Python") for word in re.findall(r"\w+", name)}


def known_sql() -> set[str]:
    names = [*column("SQL"), *quoted(prose(docs("sql")))]
    words = [re.match(r"(?:(foja|public)\.)?(\w+)", name) for name in names]
    return {f"{found[1] or 'public'}.{found[2]}" for found in words if found}


def known_fields() -> set[str]:
    return {*column("JSON"), *quoted(section(GLOSSARY, FIELDS))}


def fields(document: Any) -> Iterator[str]:
    """Yield the names of all fields of a JSON document; payloads and policies have their own schemas."""
    if isinstance(document, Mapping):
        for name, value in document.items():
            yield name
            if name not in {"payload", "policy", "on_death"}:
                yield from fields(value)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from fields(value)


def identifiers(code: str) -> Iterator[str]:
    """Yield every name that a module defines or uses."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Name():
                yield node.id
            case ast.Attribute():
                yield node.attr
            case ast.arg() | ast.keyword() if node.arg:
                yield node.arg
            case ast.alias():
                yield from (node.asname or node.name).split(".")


def words(name: str) -> set[str]:
    """Return the words of an identifier, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def retired(names: Iterable[str]) -> set[str]:
    """Return the names that contain a retired word, also in the plural."""
    found = {name: words(name) for name in names}
    return {
        name
        for name, parts in found.items()
        if (parts | {part.removesuffix("s") for part in parts}) & RETIRED
    }


def test_a_term_appears_once() -> None:
    found = [term["term"] for term in terms()]
    assert len(found) > 60
    assert len(found) == len(set(found))


def test_every_term_has_a_meaning_and_a_name() -> None:
    for term in terms():
        assert term["meaning"]
        assert any(term[name] != "–" for name in COLUMNS[2:]), term["term"]


def test_every_exported_name_is_in_the_glossary() -> None:
    assert unknown(foja.__all__, known_python()) == set()
    assert unknown([*foja.__all__, "Wish"], known_python()) == {"Wish"}


def test_every_table_view_type_and_granted_function_is_in_the_glossary_or_the_page_on_sql(
    admin: psycopg.Connection[Any],
) -> None:
    names = {name for query in (TABLES, GRANTED) for (name,) in admin.execute(query).fetchall()}
    assert unknown(names, known_sql()) == set()
    admin.execute("create table foja.wish (id int)")
    admin.execute("create view public.wishes as select 1 as id")
    admin.execute("create function foja.grant_wish() returns int language sql return 1")
    names |= {name for query in (TABLES, GRANTED) for (name,) in admin.execute(query).fetchall()}
    assert unknown(names, known_sql()) == {"foja.wish", "public.wishes", "foja.grant_wish"}


def test_every_object_that_the_glossary_or_the_page_on_sql_names_exists(
    admin: psycopg.Connection[Any],
) -> None:
    existing = {name for (name,) in admin.execute(OBJECTS).fetchall()}
    settings = {"foja.tenant", "foja.slot_token"}
    named = {name for name in known_sql() if name.startswith("foja.")}
    assert unknown(named, existing | settings) == set()


def test_every_verb_is_in_the_glossary() -> None:
    existing = {f"foja {' '.join(path)}" for path in verbs(PARSER)}
    named = {name for name in column("CLI") if name.startswith("foja ")}
    assert unknown(existing, named) == set()
    assert unknown(named, existing) == set()
    assert unknown([*existing, "foja wish"], named) == {"foja wish"}


async def test_every_field_of_events_jobs_and_documents_is_in_the_glossary(app: App) -> None:
    document = await app.documents.add(b"We agree.", name="contract.txt")
    await document.protect(["tsa"])
    conversation = await app.conversations.open()
    chunk = await conversation.emit("message_chunk", {"text": "h"}, turn="t1", block_index=0, event_index=0)
    await app.work(until_idle=True)
    view = (await document.view()).document()
    jobs = [job.document() for job in await app.jobs.list()]
    events = [event.envelope() for event in await document.events()]
    assert view["evidence"]
    assert view["timeline"]
    assert jobs
    names = {*fields(view), *fields(jobs), *fields(events), *fields(chunk.envelope())}
    assert unknown(names, known_fields()) == set()
    assert unknown([*names, "wish"], known_fields()) == {"wish"}


@pytest.mark.parametrize("bundle", ["plain", "conversation", "renewed"])
def test_every_field_of_a_report_is_in_the_glossary(bundle: str) -> None:
    folder = ROOT / "tests" / "vectors" / "bundles"
    report = foja.verify(folder / f"{bundle}.asice", trust=[(folder / "trust.txt").read_text()])
    names = {*fields(report.document())}
    assert {"verdict", "not_checked"} <= names
    assert unknown(names, known_fields()) == set()


def test_no_retired_word_names_anything() -> None:
    modules = {path.relative_to(SOURCE): path.read_text() for path in SOURCE.rglob("*.py")}
    names = {path: [*identifiers(code), *path.with_suffix("").parts] for path, code in modules.items()}
    assert {str(path): found for path in names if (found := retired(names[path]))} == {}


def test_no_retired_word_is_in_the_glossary() -> None:
    assert retired(re.findall(r"[a-z_]+", GLOSSARY.read_text().lower())) == set()


@pytest.mark.parametrize(
    "code", ["door = 1", "def back_door(): ...", "class DoorBell: ...", "f(doors=2)", "a.DOOR", "import door"]
)
def test_a_retired_word_is_noticed(code: str) -> None:
    assert len(retired(identifiers(code))) == 1
