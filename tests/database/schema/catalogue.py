"""Walk the catalogue of a database as a role: what it may read, write and call, and what it finds of others.

Reusable: `walk` returns every open door; a test compares them with a short list that somebody reviewed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

Admin = psycopg.Connection[Any]
SCHEMAS = ["foja", "public"]
DENIED = "42501"
WRITES = ("insert", "update", "delete", "truncate")

RELATIONS: LiteralString = """
    select c.oid::regclass::text, exists (select from pg_attribute a where a.attrelid = c.oid
        and a.attname = 'tenant' and not a.attisdropped)
    from pg_class c
    where c.relnamespace = any (%s::text[]::regnamespace[]) and c.relkind in ('r', 'v', 'p', 'm', 'f')
    order by 1"""
MAY_WRITE: LiteralString = """
    select p from unnest(%s::text[]) p where has_table_privilege(%s, %s::regclass, p)
    union select p || ' of a column' from unnest(array['insert', 'update']) p
    where has_any_column_privilege(%s, %s::regclass, p) and not has_table_privilege(%s, %s::regclass, p)"""
FUNCTIONS: LiteralString = """
    select p.oid::regproc::text from pg_proc p
    where p.pronamespace = any (%s::text[]::regnamespace[]) and p.prorettype <> 'trigger'::regtype
        and has_schema_privilege(%s, p.pronamespace, 'usage') and has_function_privilege(%s, p.oid, 'execute')
    order by 1"""
UNSAFE: LiteralString = """
    select 'definer without a pinned search_path: ' || p.oid::regproc from pg_proc p
    where p.pronamespace = any (%(schemas)s::text[]::regnamespace[]) and p.prosecdef
        and not exists (select from unnest(p.proconfig) c where c like 'search_path=pg_catalog%%')
    union all
    select 'view without security_invoker: ' || c.oid::regclass from pg_class c
    where c.relnamespace = any (%(schemas)s::text[]::regnamespace[]) and c.relkind = 'v'
        and not 'security_invoker=true' = any (coalesce(c.reloptions, '{}'))
    union all
    select 'rows of tenants without forced row level security: ' || c.oid::regclass from pg_class c
    where c.relnamespace = any (%(schemas)s::text[]::regnamespace[]) and c.relkind in ('r', 'p')
        and not (c.relrowsecurity and c.relforcerowsecurity)
        and exists (select from pg_attribute a
            where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped)
        and exists (select from pg_roles r where r.rolname in ('anon', 'authenticated', 'foja_api')
            and has_any_column_privilege(r.oid, c.oid, 'select'))
    order by 1"""


@dataclass(frozen=True)
class Visitor:
    """A role, and the tenant that it acts for, if any."""

    role: str
    tenant: str | None = None

    def __str__(self) -> str:
        return f"{self.role} of {self.tenant}" if self.tenant else self.role


def walk(admin: Admin, visitor: Visitor, secrets: Collection[str]) -> set[str]:
    """Return what is open to a visitor, as words; `secrets` are texts that only other tenants have."""
    return {
        *readable(admin, visitor, secrets),
        *writable(admin, visitor),
        *callable_functions(admin, visitor),
    }


def unsafe(admin: Admin) -> list[str]:
    """Return definers whose path is not pinned, views that do not ask for the reader's rights, and tables."""
    return [found for (found,) in admin.execute(UNSAFE, {"schemas": SCHEMAS})]


def readable(admin: Admin, visitor: Visitor, secrets: Collection[str]) -> Iterator[str]:
    """Yield each relation that shows rows of others, has no tenant, or needs none to show rows."""
    for name, bound in admin.execute(RELATIONS, [SCHEMAS]).fetchall():
        with acting(admin, visitor):
            try:
                rows = [row for (row,) in admin.execute(_rows_of(name))]
            except psycopg.errors.InsufficientPrivilege:
                continue
        if any(secret in row for secret in secrets for row in rows):
            yield f"shows others: {name}"
        elif not bound:
            yield f"read: {name}"
        if rows and visitor.tenant is None:
            yield f"rows: {name}"


def writable(admin: Admin, visitor: Visitor) -> Iterator[str]:
    """Yield each relation that the visitor may write without a function."""
    role = visitor.role
    for name, _ in admin.execute(RELATIONS, [SCHEMAS]).fetchall():
        for (verb,) in admin.execute(MAY_WRITE, [list(WRITES), role, name, role, name, role, name]):
            yield f"{verb}: {name}"


def callable_functions(admin: Admin, visitor: Visitor) -> Iterator[str]:
    """Yield each function that the visitor may call."""
    for (name,) in admin.execute(FUNCTIONS, [SCHEMAS, visitor.role, visitor.role]).fetchall():
        yield f"call: {name}"


@contextmanager
def acting(admin: Admin, visitor: Visitor) -> Iterator[None]:
    """Act as a visitor inside a transaction that is rolled back."""
    with admin.transaction(force_rollback=True):
        values = {"role": visitor.role, "tenant": visitor.tenant or ""}
        admin.execute(
            "select set_config('role', %(role)s, true), set_config('foja.tenant', %(tenant)s, true)", values
        )
        yield


def _rows_of(name: str) -> bytes:
    """Return the query for all rows of a relation, each as text. The catalogue has quoted its name."""
    return f"select x::text from {name} x".encode()
