"""Documents, galleries and webhooks: the client is the library, remote."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import foja
from foja import errors
from foja.app import App
from tests.flow.client.client import SAY
from tests.png import png

Act = Callable[[], Awaitable[object]]
TEXT = b"the contract"


async def test_a_document_from_its_file_to_its_verdict(app: App, surface: Any, tmp_path: Path) -> None:
    file = tmp_path / "contract.txt"
    file.write_bytes(TEXT)
    document = await surface.documents.add(file, name="contract.txt")
    same = await surface.documents.add(TEXT, name="contract.txt")
    assert (document.id, document.new, same.new) == (same.id, True, False)
    assert (document.sha256, document.name, document.size) == (sha256(TEXT).hexdigest(), "contract.txt", 12)
    asked = await document.protect(["tsa"])
    assert (asked.kind, (await document.protect(["tsa"])).replayed) == ("document.protected.requested", True)
    await app.work(until_idle=True)
    view = await surface.documents.view(document.id)
    assert (view.state, view.pipeline, view.lifecycle, view.predecessor) == ("final", None, "protected", None)
    assert view.evidence == (await app.documents.view(document.id)).evidence
    assert view.explain == await surface.documents.explain(document.id) == await document.explain()
    assert view.document() == (await app.documents.view(document.id)).document()
    trust = await document.trust()
    assert foja.verify(await document.bundle(), trust).verdict == "TOTAL_PASSED"
    bare = await surface.documents.bundle(document.id, with_document=False)
    assert (TEXT in await surface.documents.bundle(document.id), TEXT in bare) == (True, False)
    assert list(trust) == list(await surface.documents.trust(document.id))
    events = await document.events()
    assert [each.id for each in events] == [each.id for each in await surface.documents.events(document.id)]
    assert (await document.prove(0)).verify(trust).verdict == "TOTAL_PASSED"
    [row] = await surface.documents.list(state="final")
    assert (row.id, row.name, row.given_up) == (document.id, "contract.txt", False)
    assert [*await surface.documents.list(state="none")] == []


async def test_digests_versions_and_refusals(surface: Any) -> None:
    first = await surface.documents.add_digest("ab" * 32, name="secret.pdf", size=3)
    second = await surface.documents.add_digest("cd" * 32, predecessor=first.id)
    assert (first.custody, first.size, second.new) == ("hash_only", 3, True)
    assert (await surface.documents.view(second.id)).predecessor == first.id
    assert (await surface.documents.view(first.id)).successors == (second.id,)
    found = []
    wrongs: list[Act] = [
        lambda: first.protect(["tsa", "polygon"]),
        lambda: surface.documents.add_digest("short"),
        lambda: surface.documents.open("no id"),
        lambda: first.sign(b"no signature"),
        lambda: first.record("nonsense"),
    ]
    for wrong in wrongs:
        with pytest.raises(errors.FojaError) as refused:
            await wrong()
        found.append(type(refused.value).__name__)
    assert found == ["CannotProduce", "BadPayload", "UnknownEntity", "BadPayload", "UnknownKind"]


async def test_a_document_is_recorded_about_revoked_archived_and_erased(surface: Any) -> None:
    document = await surface.documents.add(TEXT)
    started = await document.record("document.signature.started", idempotency_key="k")
    again = await surface.documents.record(document.id, "document.signature.started", idempotency_key="k")
    assert (again.seq, again.replayed) == (started.seq, True)
    assert (await document.revoke(reason="a mistake")).kind == "document.revoked"
    with pytest.raises(errors.DocumentClosed):
        await document.protect(["tsa"])
    archived = await surface.documents.archive(document.id, reason="closed")
    assert (await document.view()).lifecycle == "archived"
    assert archived.payload["reason"] == "closed"
    [stays] = (await document.erase(reason="asked to")).stays
    assert "the bytes stay in the store" in stays


async def test_a_gallery(surface: Any, tmp_path: Path) -> None:
    product, file = uuid4(), tmp_path / "b.png"
    file.write_bytes(png(3, 3))
    images = surface.images
    first = await images.add(product, png(2, 2), name="a.png", alt="a", expected_seq=0, idempotency_key="k")
    assert (await images.add(product, png(2, 2), name="a.png", alt="a", idempotency_key="k")).id == first.id
    second = await images.add(product, file)
    moved = await images.move(product, second.id, to=0)
    assert (moved.id, moved.order, moved.main) == (second.id, 0, True)
    assert (await images.describe(product, first.id, "the first")).alt == "the first"
    assert [each.id for each in await images.list(product)] == [second.id, first.id]
    assert [each.id for each in await images.list(product, at=1)] == [first.id]
    assert await images.content(product, second.id) == png(3, 3)
    replaced = await images.replace(product, first.id, png(4, 4), name="c.png", idempotency_key="r")
    assert (replaced.id, replaced.order) == (first.id, 1)
    away = await images.add_url(product, "https://cdn.example/chair.jpg", alt="a chair")
    assert (away.url, away.order) == ("https://cdn.example/chair.jpg", 2)
    removed = await images.remove(product, second.id, reason="sold")
    assert (removed.kind, removed.payload["reason"]) == ("image.removed", "sold")
    wrongs: list[tuple[type, Act]] = [
        (errors.UnknownImage, lambda: images.image(product, second.id)),
        (errors.ImageRefused, lambda: images.add(product, b"no image")),
        (errors.WrongExpectedSeq, lambda: images.move(product, first.id, to=1, expected_seq=0)),
    ]
    for error, wrong in wrongs:
        with pytest.raises(errors.FojaError) as refused:
            await wrong()
        assert type(refused.value) is error


async def test_a_gallery_becomes_a_document(app: App, surface: Any) -> None:
    product = uuid4()
    await surface.images.add(product, png(2, 2))
    await app.work(until_idle=True)
    document = await surface.images.protect(product, ["tsa"])
    assert (document.custody, document.new) == ("stored", True)


async def test_webhooks_from_their_creation_to_their_removal(surface: Any) -> None:
    hooks = surface.webhooks
    made = await hooks.create("https://example.org/x", kinds=[SAY], description="tests")
    assert made.secret.startswith("whsec_")
    changed = await hooks.change(made.id, state="off", reason="a test", include_payload=True)
    assert (changed.state, changed.off_reason, changed.include_payload) == ("off", "a test", True)
    assert [*await hooks.list()] == [changed]
    assert (await hooks.change(made.id, state="on")).state == "on"
    assert (await hooks.rotate(made.id)).secret != made.secret
    assert (await hooks.replay(made.id, since=datetime.now(UTC))).replayed == 0
    assert [*await hooks.deliveries(made.id)] == []
    assert (await hooks.remove(made.id)).removed
    with pytest.raises(errors.UnknownWebhook):
        await hooks.show(made.id)


async def test_networks(surface: Any) -> None:
    assert [each.network for each in await surface.anchors.overview()] == ["polygon", "bitcoin", "rekor"]
    assert [*await surface.anchors.list()] == []
    with pytest.raises(errors.UnknownEntity):
        await surface.anchors.show(uuid4())
    with pytest.raises(errors.CannotProduce):
        await surface.anchors.enable("polygon")
