"""The pages without JavaScript: each is read; upload, protect, retry, verify and the rest are forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from html import unescape
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest

import foja
from foja.app import App
from foja.engine.observe.audit import audit
from foja.interfaces.web.pages.frame.static import static_url
from foja.interfaces.web.pages.system.ledger import AUDITS
from foja.pure.models.access.principal import Principal, Scope
from tests.flow.access.access_scene import ME, form_token, origin
from tests.flow.client.client import served
from tests.flow.pages.scene import ERRAND, EVIL, Scene, fill
from tests.flow.pages.visitor import act_as
from tests.tsa_server import running_tsa

MOST_BYTES = 150_000
NAVIGATION = ("/", "/documents", "/conversations", "/galleries", "/verify", "/jobs", "/anchors", "/hygiene")
OPERATION = ("/ledger", "/alerts", "/alerts/jobs_dead", "/access", "/design", "/docs")


def addresses(scene: Scene) -> list[str]:
    """Return the address of every page."""
    more = (
        f"/documents/{scene.document}",
        f"/documents/{scene.waiting}",
        "/documents?q=contrato",
        "/documents?q=nothing",
        "/documents?state=final",
        f"/conversations/{scene.conversation}",
        f"/galleries/{scene.product}",
        "/jobs?state=dead",
        f"/ledger?entity={scene.document}&seq=0",
        "/documents/no-id",
    )
    return [*NAVIGATION, *OPERATION, *more]


@asynccontextmanager
async def filled(open_app: Callable[..., App]) -> AsyncIterator[tuple[App, Scene, httpx.AsyncClient]]:
    """Yield an app with something on every page, and a client of its server."""
    async with open_app(domains=[ERRAND]) as app:
        scene = await fill(app)
        async with served(app) as client:
            yield app, scene, client


async def test_every_page_is_read_escaped_and_small(open_app: Callable[..., App]) -> None:
    """Also: no page and no word depends on `lifecycle_status`."""
    # Alerts that fire meanwhile would change a page.
    async with filled(partial(open_app, alert_seconds=0)) as (app, scene, client):
        pages = {}
        await client.get("/jobs")  # queues what was woken, so that nothing else changes
        for path in addresses(scene):
            for lang in ("en", "es"):
                answer = await client.get(path, headers={"Accept-Language": lang})
                assert answer.status_code == (404 if "no-id" in path else 200), (path, answer.text)
                assert f'<html lang="{lang}">' in answer.text
                assert "<script>window" not in answer.text, path
                assert "<img src=x" not in answer.text, path
                assert " style=" not in answer.text, path
                assert re.search(r"<script(?! type=\"module\" src=)", answer.text) is None, path
                assert len(answer.content) + await _linked(client, answer.text) < MOST_BYTES, path
                pages[path, lang] = _steady(answer.text)
        shown = pages["/jobs?state=dead", "en"]
        assert "the service said <script>window.evil" in unescape(shown)
        await _break_lifecycle(app)
        for (path, lang), before in pages.items():
            again = await client.get(path, headers={"Accept-Language": lang})
            assert _steady(again.text) == before, path


async def _linked(client: httpx.AsyncClient, page: str) -> int:
    """Return the size of all that a page loads, imports of its modules included."""
    wanted, seen = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page)), set[str]()
    size = 0
    while wanted - seen:
        path = (wanted - seen).pop()
        answer = await client.get(path)
        assert answer.headers["cache-control"].startswith("public, max-age=31536000")
        size += len(answer.content)
        seen.add(path)
        folder = path.rpartition("/")[0]
        wanted |= {f"{folder}/{name}" for name in re.findall(r'from "\./([\w.]+)"', answer.text)}
    return size


def _steady(page: str) -> str:
    """Return a page without what changes with the time alone."""
    page = re.sub(r"\d+ (ms|s|min)\b", "a while", page)
    live = r'<section class="card" data-part="(criteria|alerts|health|state|report)".*?</section>'
    return re.sub(live, "", page, flags=re.DOTALL)


async def _break_lifecycle(app: App) -> None:
    async with await psycopg.AsyncConnection.connect(app.settings.database_url, autocommit=True) as admin:
        changed = await admin.execute(
            "update foja.document_summary set lifecycle_status = 'broken by a test'"
        )
        assert changed.rowcount > 1


async def test_a_document_is_uploaded_protected_found_and_taken_along(app: App) -> None:
    async with served(app) as client:
        files = {"file": ("acuerdo Nº 7.txt", b"we agree", "text/plain")}
        answer = await client.post("/documents", files=files)
        assert answer.status_code == 303
        path = answer.headers["location"]
        page = (await client.get(path)).text
        assert "Protection was not requested yet" in page
        nothing = await client.post(f"{path}/protect", data={"required_evidence": "no such evidence"})
        assert nothing.status_code == 422
        assert "no such evidence" in nothing.text
        assert (await client.post(f"{path}/protect", data={"required_evidence": "tsa"})).status_code == 303
        await app.work(until_idle=True)
        page = (await client.get(path)).text
        assert 'data-status="confirmed"' in page
        assert "It is final since" in page
        assert "Es final desde" in (await client.get(f"{path}?lang=es")).text
        for query in ("acuerdo", "ACUERDO 7", "Nº", path.rpartition("/")[2][:13]):
            assert "acuerdo Nº 7.txt" in (await client.get("/documents", params={"q": query})).text, query
        bundle = await client.get(f"{path}/bundle")
        assert "filename*=UTF-8''acuerdo%20N" in bundle.headers["content-disposition"]
        trust = (await client.get(f"{path}/trust")).text
        assert foja.verify(bundle.content, [trust]).verdict == "TOTAL_PASSED"
        assert (await client.get(f"{path}/certificate")).content.startswith(b"%PDF")
        [proof] = re.findall(rf'href="({path}/proofs/[^"]+\.tsr)"', page)
        token = await client.get(proof)
        report = foja.verify(b"we agree", [trust], proofs=[token.content])
        assert report.verdict == "TOTAL_PASSED"
        assert (await client.get(f"{path}/proofs/other.tsr")).status_code == 404
        events = await app.documents.events(UUID(path.rpartition("/")[2]))
        assert {event.actor for event in events if event.source == "api"} == {ME}


async def test_evidence_that_was_given_up_is_retried(open_app: Callable[..., App], tmp_path: Path) -> None:
    """An authority that refuses is given up; the page says so, and a person retries with a form."""
    with running_tsa() as tsa:
        root = tmp_path / "root.pem"
        root.write_bytes(tsa.root)
        terms = {"tsa_urls": tsa.url, "tsa_roots": str(root), "protect_attempts": 1}
        async with open_app(**terms) as app, served(app) as client:
            tsa.behave("refuse")
            document = await app.documents.add(b"x", name="x.txt")
            await document.protect()
            early = await client.post(f"/documents/{document.id}/retry", data={"evidence": "tsa"})
            assert early.status_code == 422
            assert "was not given up" in early.text
            await app.work(until_idle=True)
            page = (await client.get(f"/documents/{document.id}")).text
            assert 'data-status="given_up"' in page
            assert "Gave up on the timestamp" in page
            assert (
                "Se abandonó el sello de tiempo"
                in (await client.get(f"/documents/{document.id}?lang=es")).text
            )
            assert "x.txt" in (await client.get("/documents?state=given_up")).text
            client.cookies.clear()
            assert "Documents whose evidence was given up: 1." in (await client.get("/")).text
            tsa.behave("honest")
            retried = await client.post(f"/documents/{document.id}/retry", data={"evidence": "tsa"})
            assert retried.status_code == 303
            await app.work(until_idle=True)
            assert (await document.view()).state == "final"


async def test_a_bundle_is_verified_by_a_plain_form(app: App) -> None:
    document = await app.documents.add(b"the contract", name="contract.txt")
    await document.protect()
    await app.work(until_idle=True)
    bundle = await app.documents.bundle(document.id)
    stored = await app.sweeper.rows("select count(*) from foja.object")
    async with served(app) as client:
        sent = {"file": ("contract.foja.zip", bundle, "application/zip")}
        good = await client.post("/verify", files=sent, data={"own": "yes"})
        assert 'data-tone="warn"' in good.text  # of a local authority: a pass with a reservation
        assert "On whose word this rests" in good.text
        assert "Not checked" in good.text
        untrusted = await client.post("/verify", files=sent)
        assert 'data-tone="info"' in untrusted.text
        assert "On nothing that you trust" in untrusted.text
        tampered = {"file": ("contract.foja.zip", bundle.replace(b"the contract", b"The contract"), "")}
        bad = await client.post("/verify", files=tampered, data={"own": "yes"})
        assert 'data-tone="bad"' in bad.text
        proofs = await app.documents.proofs(document.id)
        token = next(data for name, data in proofs.items() if name.endswith(".tsr"))
        only_digest = {"own": "yes", "digest": document.sha256 or "", "name": "contract.txt"}
        by_digest = await client.post("/verify", data=only_digest, files={"proofs": ("01.tsr", token, "")})
        assert 'data-tone="warn"' in by_digest.text
        other = await client.post(
            "/verify", data={**only_digest, "digest": "00" * 32}, files={"proofs": ("01.tsr", token, "")}
        )
        assert 'data-tone="bad"' in other.text
        assert (await client.post("/verify", data={"own": "yes"})).status_code == 422
    assert await app.sweeper.rows("select count(*) from foja.object") == stored


async def test_forms_of_other_sites_are_refused(app: App) -> None:
    async with served(app) as client:
        for path in ("/documents", "/jobs/1/retry", "/hygiene/scan", "/access/keys"):
            refused = await client.post(path, headers={"Origin": "http://evil.example"}, data={"a": "b"})
            assert refused.status_code == 403, path
            assert "another site" in refused.text
        own = str(client.base_url).rstrip("/")
        form = {"dry_run": "yes"}
        assert (await client.post("/hygiene/scan", headers={"Origin": own}, data=form)).is_success


async def test_a_session_sends_forms_with_its_token_and_manages_keys(app: App) -> None:
    """A key made on the page logs in; then every form needs the token of the session, files included."""
    async with served(app) as client:
        weak = await client.post("/access/keys", data={"scopes": ["read"]}, headers=origin(client))
        assert weak.status_code == 422
        assert "the first key needs the scope" in weak.text
        scopes = {"name": "for ana", "scopes": [*Scope], "installation": "yes"}
        made = await client.post("/access/keys", data=scopes, headers=origin(client))
        found = re.search(r"data-key>([^<]+)<", made.text)
        assert found
        html = {"Accept": "text/html"}
        assert (await client.get("/documents", headers=html)).headers["location"] == "/login?next=/documents"
        assert (await client.get("/verify")).status_code == 200  # for anyone
        login = await client.get("/login?lang=es")
        assert "Iniciar sesión" in login.text
        form = {"key": found[1], "form_token": form_token(login), "next": "/documents"}
        entered = await client.post("/login", data=form, headers=origin(client))
        assert entered.headers["location"] == "/documents"
        page = await client.get("/documents")
        file = {"file": ("a.txt", b"a", "text/plain")}
        token = {"form_token": form_token(page)}
        assert (await client.post("/documents", files=file, headers=origin(client))).status_code == 403
        sent = await client.post("/documents", files=file, data=token, headers=origin(client))
        assert sent.status_code == 303
        required = {**token, "required_evidence": ["tsa"]}
        path = f"{sent.headers['location']}/protect"
        assert (await client.post(path, data=required, headers=origin(client))).status_code == 303
        access = (await client.get("/access?lang=en")).text
        assert "for ana" in access
        acts = re.findall(r'data-act="([\w.]+)"', access)
        assert acts == ["session.opened", "key.created"]
        [session] = re.findall(r'action="(/access/sessions/[^"]+)"', access)
        assert (await client.post(session, data=token, headers=origin(client))).status_code == 303
        assert (await client.get("/documents", headers=html)).status_code == 303


async def test_a_reader_sees_no_forms_and_is_told_what_is_missing(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    act_as(Principal("default", "user:eva", frozenset({Scope.READ})), monkeypatch)
    async with filled(open_app) as (app, scene, client):
        AUDITS.start(app)
        while AUDITS.last(app) is None:
            assert AUDITS.runs(app)
            await asyncio.sleep(0.01)
        for path in ("/anchors", "/hygiene", "/alerts", "/alerts/jobs_dead", "/access"):
            refused = await client.get(path)
            assert refused.status_code == 403
            assert "this needs the scope" in refused.text
            assert "You may not do this" in refused.text
        forbidden = {*NAVIGATION[-2:], *OPERATION, "/verify", "/documents/no-id"}
        for path in [each for each in addresses(scene) if each not in forbidden]:
            page = (await client.get(path)).text
            assert 'method="post"' not in page, path
            assert 'href="/access"' not in page
            assert "data-audit" not in page  # findings name streams of all tenants
        sent = await client.post("/documents", files={"file": ("a.txt", b"a", "")})
        assert sent.status_code == 403
        assert (await client.post("/jobs/1/retry", data={})).status_code == 403


async def test_an_administrator_of_one_tenant_sees_no_act_about_the_installation(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    act_as(Principal("default", "key:adm", frozenset({Scope.READ, Scope.ADMIN})), monkeypatch)
    async with filled(open_app) as (app, _, client):
        [dead] = await app.jobs.list(state="dead")
        await app.jobs.cancel([dead.id], actor="ana")
        await app.jobs.pause("run_errand", actor="eve")
        page = (await client.get("/access")).text
        assert re.findall(r'data-act="([\w.]+)"', page) == ["job.cancel"]
        assert f"run_errand #{dead.id}" in page


async def test_static_files_are_kept_by_version(app: App) -> None:
    async with served(app) as client:
        style = await client.get(static_url("page.css"))
        assert style.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert style.headers["content-type"].startswith("text/css")
        old = await client.get("/static/0000000000000000/page.css")
        assert old.headers["cache-control"] == "no-store"
        for missing in ("/static/x/page.py", "/static/x/..%2fpage.css", "/static/package.json"):
            assert (await client.get(missing)).status_code == 404


async def test_jobs_are_filtered_retried_cancelled_and_paused(open_app: Callable[..., App]) -> None:
    async with filled(open_app) as (app, _, client):
        [dead] = await app.jobs.list(state="dead")
        page = (await client.get("/jobs?state=dead&type=run_errand")).text
        assert f'data-job="{dead.id}"' in page
        assert (await client.get("/jobs?state=nonsense")).status_code == 422
        back = await client.post(f"/jobs/{dead.id}/retry", data={"state": "dead"})
        assert back.headers["location"] == "/jobs?state=dead&done=1&refused=0"
        assert (await app.jobs.show(dead.id)).state == "queued"
        every = await client.post("/jobs/all/cancel", data={"state": "queued", "type": "run_errand"})
        assert "done=1" in every.headers["location"]
        assert (await app.jobs.show(dead.id)).state == "cancelled"
        await client.post("/jobs/types/run_errand/pause", data={})
        assert "run_errand" in await app.jobs.paused()
        assert "run_errand is paused" in (await client.get("/")).text
        await client.post("/jobs/types/run_errand/resume", data={})
        assert "run_errand" not in await app.jobs.paused()
        query = "select actor, payload ->> 'action' from foja.event where kind = 'job.changed' order by 2"
        done = [(ME, verb) for verb in ("cancel", "pause", "resume", "retry")]
        assert await app.sweeper.rows(query) == done


async def test_a_gallery_is_made_described_reordered_and_emptied(open_app: Callable[..., App]) -> None:
    async with filled(open_app) as (app, scene, client):
        path = f"/galleries/{scene.product}"
        first, second, third = await app.images.list(scene.product)
        page = (await client.get(path)).text
        assert "A green bicycle" in page
        shown = await client.get(f"{path}/{first.id}/original")
        assert shown.headers["content-type"] == "image/jpeg"
        assert "sandbox" in shown.headers["content-security-policy"]
        assert (await client.post(f"{path}/{third.id}/move", data={"to": "0"})).status_code == 303
        assert [each.id for each in await app.images.list(scene.product)] == [third.id, first.id, second.id]
        assert (await client.post(f"{path}/{third.id}/move", data={"to": "x"})).status_code == 422
        await client.post(f"{path}/{third.id}/describe", data={"alt": "Three"})
        await client.post(f"{path}/{first.id}/remove", data={})
        left = await app.images.list(scene.product)
        assert [(each.id, each.alt) for each in left] == [(third.id, "Three"), (second.id, EVIL)]
        wrong = await client.post(path, files={"file": ("a.png", b"not an image", "image/png")})
        assert wrong.status_code == 422
        assert 'role="alert"' in wrong.text


async def test_the_operator_proves_audits_scans_and_sees_what_is_wrong(open_app: Callable[..., App]) -> None:
    async with filled(open_app) as (app, scene, client):
        proven = (await client.get(f"/ledger?entity={scene.document}&seq=0")).text
        assert "data-proof" in proven
        proof = await client.get(f"/ledger/proof?entity={scene.document}&seq=0")
        event = await client.get(f"/ledger/proof?entity={scene.document}&seq=0&part=event")
        report = foja.verify(event.content, app.trust[:1], proofs=[proof.content])
        assert report.verdict == "TOTAL_PASSED"
        assert (await client.get("/ledger?entity=x&seq=0")).status_code == 422
        await client.post("/ledger/audit", data={})
        page = ""
        while "data-audit" not in page:
            page = (await client.get("/ledger")).text
        found = await audit(app.settings.database_url, max_lag_seconds=app.settings.max_lag_seconds)
        assert f"Findings: {found.total}" in page
        assert found.first
        assert found.first.found in unescape(page)
        dry = await client.post("/hygiene/scan", data={"dry_run": "yes"})
        assert "nothing was changed" in dry.text
        alerts = (await client.get("/alerts")).text
        assert re.search(r'data-alert="dead_jobs".*?firing', alerts, re.DOTALL)
        assert "Jobs that failed for good: 1." in (await client.get("/")).text
