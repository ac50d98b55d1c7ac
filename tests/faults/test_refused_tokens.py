"""A token that this installation's own judge refuses is taken back, and another is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja.app import App
from foja.documents.model.states import State
from foja.observe.audit import audit

Admin = psycopg.Connection[Any]
INVALID = {"token_b64": "AAAA", "gen_time": "2026-01-01T00:00:00Z"}


def record_invalid_token(admin: Admin, witness: str) -> None:
    """Complete the timestamp's job as another program that has its role."""
    payload = {"witness_hash": witness, "attempt": 1, **INVALID}
    with admin.transaction():
        admin.execute("set local role foja_run_tsa")
        admin.execute(
            "select foja.complete_job_v1(job_id, lease_token, %s) "
            "from foja.claim_jobs_v1('run_tsa', 1, 'other')",
            [Jsonb([{"kind": "tsa.confirmed", "payload": payload}])],
        )


@pytest.mark.parametrize("batch", [0, 100])
async def test_an_invalid_token_is_taken_back_and_another_is_asked_for(
    open_app: Callable[..., App], admin: Admin, database_url: str, batch: int
) -> None:
    """Every artifact failed for good, the document was shown as protected, and audit was clean."""
    async with open_app(tsa_batch=batch) as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        assert document.sha256 is not None
        record_invalid_token(admin, document.sha256)
        found = await audit(database_url, max_lag_seconds=3600)
        assert [(each.check, each.entity_id, each.seq) for each in found.findings] == [
            ("token", document.id, 3)
        ]
        await app.work(until_idle=True)
        view = await document.view()
        assert view.state is State.NONE
        assert "ended with token_refused" in view.explain
        assert (await audit(database_url, max_lag_seconds=3600)).findings == ()
        admin.execute("update foja.job set run_at = clock_timestamp() where state = 'queued'")
        await app.work(until_idle=True)
        assert (await document.view()).state is State.FINAL
        kinds = [event.kind for event in await document.events()]
        assert kinds[3:8] == [
            "tsa.confirmed",
            "job.build-artifact.required",
            "tsa.failed",
            "job.run-tsa.required",
            "tsa.confirmed",
        ]
        assert (await app.rebuild()).guards == 0
