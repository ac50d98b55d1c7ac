"""A document as SQL writes it: every source by its own role, without Foja's Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.database.schema.rows import Admin

WITNESS, OTHER = "a" * 64, "b" * 64
TOKEN = {"token_b64": "MAA=", "gen_time": "2026-02-26T12:00:00Z"}
SOURCES = {"document": "api", "protection": "api", "job": "protect-document-v2", "tsa": "run-tsa"}


def later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@contextmanager
def acting(admin: Admin, role: str) -> Iterator[None]:
    """Act as a role meanwhile; the role of requests, which acts for no tenant by itself, for `default`."""
    admin.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
    unnamed = role == "foja_api" and not tenant_of(admin)
    if unnamed:
        admin.execute("set foja.tenant = 'default'")
    try:
        yield
    finally:
        admin.execute("reset role; set foja.tenant = ''" if unnamed else "reset role")


def tenant_of(admin: Admin) -> str | None:
    """Return the tenant that the session acts for."""
    row = admin.execute("select current_setting('foja.tenant', true)").fetchone()
    assert row
    return str(row[0]) if row[0] else None


def have_object(admin: Admin, sha256: str) -> None:
    """Let the store have an object, as far as the database knows."""
    if len(sha256) == 64:
        row = admin.execute("select foja.begin_object_v1(%s, 1)", [sha256.lower()]).fetchone()
        assert row is not None
        admin.execute("select foja.finish_object_v1(%s, %s)", [sha256.lower(), row[0]])


@dataclass
class Paper:
    """One document, written from SQL."""

    admin: Admin
    id: UUID = field(default_factory=uuid4)

    def append(self, kind: str, payload: dict[str, Any], source: str | None = None, **envelope: Any) -> Any:
        """Append one event as the role of its source; return its envelope."""
        source = source or SOURCES.get(kind.partition(".")[0]) or "build-artifact"
        if kind in ("artifact.finalized", "artifact.renewed"):
            have_object(self.admin, str(payload["sha256"]))
        event = {"kind": kind, "payload": payload, **envelope}
        with acting(self.admin, f"foja_{source.replace('-', '_')}"):
            row = self.admin.execute(
                "select append_document_entity_event(%s, %s, %s)", [self.id, Jsonb(event), source]
            ).fetchone()
        assert row is not None
        return row[0]

    def refusal(self, kind: str, payload: dict[str, Any], source: str | None = None, **envelope: Any) -> str:
        """Return the code an event is refused with; fail if it is not."""
        before = self.kinds()
        try:
            self.append(kind, payload, source, **envelope)
        except psycopg.Error as error:
            assert self.kinds() == before
            return error.diag.message_primary or ""
        raise AssertionError(f"{kind} was accepted")

    def request(self, *evidence: str, witness: str = WITNESS, **more: Any) -> Any:
        body = {"witness_hash": witness, "required_evidence": list(evidence or ["tsa"]), **more}
        return self.append("document.protected.requested", body)

    def ask(
        self, job: str = "run-tsa", attempt: int = 1, witness: str = WITNESS, deadline: str | None = None
    ) -> Any:
        body = {"witness_hash": witness, "attempt": attempt, "deadline": deadline or later(60)}
        return self.append(f"job.{job}.required", body)

    def confirm(self, witness: str = WITNESS, **more: Any) -> Any:
        return self.append("tsa.confirmed", {"witness_hash": witness, **TOKEN, **more})

    def kinds(self) -> list[str]:
        rows = self.admin.execute(
            "select kind from foja.event where entity_id = %s order by seq", [self.id]
        ).fetchall()
        return [kind for (kind,) in rows]

    def allow(self, *abilities: str) -> None:
        """Let the installation claim that it can produce these."""
        for each in abilities:
            self.admin.execute("insert into foja.ability values (%s) on conflict do nothing", [each])

    def anchored(self, network: str = "polygon", attempt: int = 1, **more: Any) -> Any:
        body = {"network": network, "witness_hash": WITNESS, "attempt": attempt, **more}
        return self.append(
            "anchor.confirmed", {**body, "confirmed_at": later(0)}, source=f"process-{network}-anchors"
        )
