"""A token that this installation's own judge refuses is taken back, and another is asked for."""

from __future__ import annotations

import base64
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja.app import App
from foja.domains.documents.document import Document
from foja.engine.embedded.tsa import LocalAuthority
from foja.engine.observe.audit import audit
from foja.errors import OutOfTurn
from foja.interfaces.web.pages.documents.explanation import translate
from foja.pure.models.documents.states import EvidenceStatus, Pipeline, State
from foja.pure.proofs.tsa import Terms, judge, request

Admin = psycopg.Connection[Any]
INVALID = {"token_b64": "AAAA", "gen_time": "2026-01-01T00:00:00Z"}
BACK = ["tsa.confirmed", "tsa.failed", "job.run-tsa.required", "tsa.confirmed"]


def record_token(admin: Admin, token: dict[str, Any], document: Document) -> None:
    """Complete the timestamp's job as another program that has its role."""
    payload = {"witness_hash": document.sha256, "attempt": 1, **token}
    with admin.transaction():
        admin.execute("set local role foja_run_tsa")
        admin.execute(
            "select foja.complete_job_v1(job_id, lease_token, %s) "
            "from foja.claim_jobs_v1('run_tsa', 1, 'other')",
            [Jsonb([{"kind": "tsa.confirmed", "payload": payload}])],
        )


async def stamped(home: Path, digest: str) -> dict[str, Any]:
    """Return a token of the authority of a home, as an event records it."""
    reply = await LocalAuthority(home).ask(request(bytes.fromhex(digest), nonce=7))
    assert isinstance(reply, bytes)
    stamp = judge(reply, bytes.fromhex(digest), Terms(())).stamp
    assert stamp is not None
    return {
        "token_b64": base64.b64encode(stamp.token).decode(),
        "gen_time": stamp.gen_time.isoformat(),
    }


async def forge(kind: str, document: Document, home: Path, tmp_path: Path) -> dict[str, Any]:
    """Return a token that proves nothing: each of its kind is better made than the one before."""
    assert document.sha256 is not None
    own = await stamped(home, document.sha256)
    match kind:
        case "no token":
            return INVALID
        case "the digest alone":
            return {**INVALID, "token_b64": base64.b64encode(bytes.fromhex(document.sha256) * 2).decode()}
        case "another digest":
            return await stamped(home, sha256(b"another").hexdigest())
        case "a false signature":
            token = bytearray(base64.b64decode(own["token_b64"]))
            token[-1] ^= 1
            return {**own, "token_b64": base64.b64encode(token).decode()}
        case "a false time":
            return {**own, "gen_time": "2020-01-01T00:00:00Z"}
        case "a false path":
            zeros = base64.b64encode(bytes(32)).decode()
            return {**own, "blinding_b64": zeros, "path_b64": zeros}
    return await stamped(tmp_path / "stranger", document.sha256)


FORGED = (
    "no token",
    "the digest alone",
    "another digest",
    "a false signature",
    "a false time",
    "a false path",
    "a stranger's authority",
)


@pytest.mark.parametrize("kind", FORGED)
async def test_a_recorded_token_counts_only_after_its_check_and_a_refused_one_is_replaced(
    open_app: Callable[..., App], admin: Admin, database_url: str, tmp_path: Path, kind: str
) -> None:
    """Of an early stage, which needs no artifact, the document stayed protected for good."""
    async with open_app() as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(required_evidence=["tsa"], stage="initial")
        await app.work(until_idle=True, only=["protect_document_v2"])
        record_token(admin, await forge(kind, document, Path(app.settings.home), tmp_path), document)
        view = await document.view()
        assert (view.state, view.pipeline, view.lifecycle) == (
            State.NONE,
            Pipeline.AWAITING_TSA,
            "witness_ready",
        )
        assert [each.status for each in view.evidence] == [EvidenceStatus.RECORDED]
        assert "a token is recorded, and the executor checks it next" in view.explain
        assert "un sello está registrado, y se comprueba a continuación" in translate(view.explain, "es")
        assert [each.state for each in (await app.documents.states([document.id])).values()] == ["none"]
        found = await audit(database_url, max_lag_seconds=3600)
        tokens = [(each.check, each.entity_id, each.seq) for each in found.findings]
        assert tokens == ([] if kind == FORGED[-1] else [("token", document.id, 3)])
        assert (await app.rebuild()).mended == 0
        assert (await document.view()).state is State.NONE
        with pytest.raises(OutOfTurn):
            await document.retry("tsa")
        await app.work(until_idle=True)
        assert "ended with token_refused" in (await document.view()).explain
        assert (await document.view()).lifecycle == "witness_ready"
        assert (await audit(database_url, max_lag_seconds=3600)).findings == ()
        admin.execute("update foja.job set run_at = clock_timestamp() where state = 'queued'")
        await app.work(until_idle=True)
        assert (await document.view()).state is State.PROTECTED
        assert [event.kind for event in await document.events()][3:] == BACK
        assert (await app.rebuild()).guards == 0
        assert (await audit(database_url, max_lag_seconds=3600)).findings == ()


@pytest.mark.parametrize("batch", [0, 100])
async def test_a_document_becomes_final_although_its_first_token_was_forged(
    open_app: Callable[..., App], admin: Admin, database_url: str, batch: int
) -> None:
    """Every artifact failed for good, the document was shown as protected, and audit was clean."""
    async with open_app(tsa_batch=batch) as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        record_token(admin, INVALID, document)
        await app.work(until_idle=True)
        view = await document.view()
        assert view.state is State.NONE
        assert "ended with token_refused" in view.explain
        admin.execute("update foja.job set run_at = clock_timestamp() where state = 'queued'")
        await app.work(until_idle=True)
        assert (await document.view()).state is State.FINAL
        kinds = [event.kind for event in await document.events()]
        assert kinds[3:8] == [*BACK, "job.build-artifact.required"]


async def test_a_refused_token_that_was_the_last_attempt_can_be_retried(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """`retry` said that the timestamp was not given up."""
    async with open_app(protect_attempts=1) as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        record_token(admin, INVALID, document)
        await app.work(until_idle=True)
        assert "Gave up on the timestamp" in (await document.view()).explain
        await document.retry("tsa")
        await app.work(until_idle=True)
        assert (await document.view()).state is State.FINAL


async def test_a_good_token_of_another_program_counts(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """Such a program is as good as our own worker; a view shows its token as recorded until the check."""
    async with open_app() as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        assert document.sha256 is not None
        record_token(admin, await stamped(Path(app.settings.home), document.sha256), document)
        assert (await document.view()).evidence[0].status is EvidenceStatus.RECORDED
        await app.work(until_idle=True, only=["protect_document_v2"])
        assert (await document.view()).state is State.PROTECTED
        await app.work(until_idle=True)
        assert (await document.view()).state is State.FINAL
        assert (await audit(database_url, max_lag_seconds=3600)).findings == ()
