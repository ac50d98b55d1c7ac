"""Databases that are filled once, and copied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg

Admin = psycopg.Connection[Any]
Copied = Callable[[str], AbstractContextManager[str]]


@contextmanager
def filled(copied: Copied, template: str, fill: Callable[[Admin], object]) -> Iterator[str]:
    """Yield the name of a copy of `template` after `fill`; it has no connections."""
    with copied(template) as url:
        with psycopg.connect(url, autocommit=True) as conn:
            fill(conn)
        yield urlsplit(url).path[1:]


def rows_read(conn: Admin, *tables: str) -> int:
    """Return how many rows of these tables this transaction read so far, a scan as far too many."""
    counted = """select coalesce(sum(coalesce(seq_scan, 0) * 100000 + coalesce(idx_tup_fetch, 0)), 0)
        from pg_stat_xact_user_tables where relname = any (%s)"""
    [(count,)] = conn.execute(counted, ([*tables],)).fetchall()
    return int(count)


@contextmanager
def connected(copied: Copied, template: str) -> Iterator[Admin]:
    """Yield a connection to a copy, as the ledger's own ones, in a transaction that is rolled back."""
    with copied(template) as url, psycopg.connect(url, autocommit=True) as conn:
        conn.prepare_threshold = 1
        with conn.transaction(force_rollback=True):
            yield conn
