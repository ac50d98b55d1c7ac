"""The tables of the guards: the audit compares them with the events, a rebuild repairs them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from foja.app import App
from foja.engine.observe.audit import audit
from foja.engine.observe.findings import Anomaly
from foja.pure.models.documents.events import DOCUMENT, Evidence
from foja.pure.models.documents.rules import Policy
from tests.database.documents.papers import OTHER, WITNESS, Paper, acting, later
from tests.database.schema.rows import Admin
from tests.rules.models.test_documents_played import play
from tests.rules.played_documents import Played

HOUR = Policy(attempts=2, windows=dict.fromkeys(Evidence, timedelta(hours=1)))
STRAY = uuid4()
DAMAGE = [
    "delete from foja.attempt where evidence = 'polygon'",
    "delete from foja.attempt",
    "update foja.attempt set deadline = deadline + interval '1 year' where evidence = 'polygon'",
    "update foja.attempt set state = 'failed' where evidence = 'polygon'",
    "update foja.attempt set state = 'open' where evidence = 'tsa'",
    "update foja.attempt set asked_seq = 7 where evidence = 'polygon'",
    "update foja.attempt set submitted_seq = 7 where evidence = 'polygon'",
    "insert into foja.attempt select entity_id, 'rekor', 'x', 1, 9, now(), 'open', tenant from foja.document",
    "delete from foja.document",
    "update foja.document set closed = 'revoked'",
    "update foja.document set finalized = true",
    "update foja.document set stage = 'initial'",
    "update foja.document set required_evidence = '{tsa}'",
    "update foja.document set witness_hash = repeat('b', 64)",
    "update foja.document set requested_seq = null",
    "update foja.document set witness_status = 'required'",
    "update foja.document set renew_before = now()",
    "update foja.document set predecessor = gen_random_uuid()",
    f"insert into foja.attempt values ('{STRAY}', 'tsa', repeat('a', 64), 1, 1, now(), 'open', 'default')",
    f"insert into foja.document (entity_id, tenant) values ('{STRAY}', 'default')",
]


@dataclass
class Recorded(Played):
    """A simulation whose every event is appended to the database, under its guards."""

    paper: Paper = field(kw_only=True)

    def append(self, kind: str, body: dict[str, Any], *, after: float = 1.0) -> None:
        super().append(kind, body, after=after)
        self.paper.append(kind, body, source=self._source(kind, body))

    def _source(self, kind: str, body: dict[str, Any]) -> str | None:
        if kind == "anchor.timeout" or body.get("failure_code") == "timeout":
            return "sweeper"
        network = body.get("network") or ("rekor" if kind == "rekor.confirmed" else None)
        if network == "rekor" or kind == "anchor.submitted":
            return f"submit-anchor-{network}"
        return f"process-{network}-anchors" if network else None


async def tracks(database_url: str) -> list[Anomaly]:
    report = await audit(database_url, max_lag_seconds=60)
    return [found for found in report.findings if found.check == "track"]


def retracked(admin: Admin) -> list[UUID]:
    with acting(admin, "foja_protect_document_v2"):
        rows = admin.execute(
            "select foja.rebuild_documents(array(select entity_id from foja.entity"
            " union select entity_id from foja.document union select entity_id from foja.attempt))"
        ).fetchall()
    return [document for (document,) in rows]


async def test_simulated_documents_are_tracked_as_their_events_say(admin: Admin, database_url: str) -> None:
    kinds: set[str] = set()
    for seed in range(60):
        paper = Paper(admin)
        paper.allow(*Evidence)
        played, chance = Recorded(policy=HOUR, paper=paper), random.Random(seed)
        for _ in range(25):
            play(chance.choice, played)
        kinds |= {fact.kind for fact in played.facts}
    assert kinds >= {"anchor.timeout", "anchor.failed", "protection.retry.requested", "artifact.finalized"}
    assert await tracks(database_url) == []
    assert retracked(admin) == []
    assert await tracks(database_url) == []


async def test_a_changed_row_is_found_and_rebuilt(admin: Admin, database_url: str) -> None:
    paper = half_done(admin)
    assert await tracks(database_url) == []
    for damage in DAMAGE:
        admin.execute(damage.encode())
        found = await tracks(database_url)
        touched = STRAY if str(STRAY) in damage else paper.id
        assert {each.entity_id for each in found} == {touched}, damage
        assert retracked(admin) == [touched], damage
        assert await tracks(database_url) == [], damage


async def test_an_attempt_that_was_lost_ends_after_a_rebuild(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    paper = Paper(admin)
    paper.request()
    paper.ask(deadline=later(-1))
    admin.execute("delete from foja.attempt")
    async with open_app() as app:
        [found] = await tracks(database_url)
        assert (found.entity_id, found.seq) == (paper.id, 1)
        rebuilt = await app.rebuild()
        assert (rebuilt.documents, rebuilt.guards) == (1, 1)
        assert (await app.rebuild()).guards == 0
    with acting(admin, "foja_sweeper"):
        admin.execute("select foja.expire_attempts(10)")
    assert paper.kinds()[-1] == "tsa.failed"


@pytest.mark.parametrize("requested", [True, False])
async def test_an_erased_first_event_is_not_a_finding(
    app: App, admin: Admin, database_url: str, requested: bool
) -> None:
    document = await app.documents.add_digest(WITNESS)
    if requested:
        await app.documents.protect(document.id, witness_hash=OTHER)
    await app.ledger.erase(DOCUMENT, document.id, 0, reason="asked")
    assert await tracks(database_url) == []
    await app.rebuild()
    assert await tracks(database_url) == []


def half_done(admin: Admin) -> Paper:
    paper = Paper(admin)
    paper.allow("polygon", "bitcoin")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    paper.ask("submit-anchor-polygon")
    return paper
