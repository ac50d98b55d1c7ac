"""Documents are found by word, digest and id, of one tenant; erased ones are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from foja.app import App

DIGEST = "c0ffee" + "ab" * 29


async def names(app: App, text: str) -> list[str | None]:
    return [each.name for each in await app.documents.search(text)]


async def test_words_digests_and_ids_are_found(app: App) -> None:
    first = await app.documents.add(b"1", name="Contrato de Alquiler (Lima, 2026).pdf")
    await app.documents.add(b"2", name="contrato de venta.pdf")
    hashed = await app.documents.add_digest(DIGEST, name="Ñandú.txt")
    assert await names(app, "contr") == ["contrato de venta.pdf", first.name]
    assert await names(app, "CONTRATO lima") == [first.name]
    assert await names(app, "nandu") == await names(app, "ÑANDÚ") == [hashed.name]
    assert await names(app, "c0ffeeab") == await names(app, f"sha256:{DIGEST}") == [hashed.name]
    assert await names(app, "c0ffee") == []  # too short for a digest, and no word
    assert await names(app, str(first.id)) == await names(app, str(first.id)[:8]) == [first.name]
    assert await names(app, "lima nowhere") == await names(app, "") == await names(app, "%_'") == []


async def test_what_is_erased_is_not_found_and_leaves_no_row(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    document = await app.documents.add(b"secret", name="Ana's diagnosis.pdf")
    assert await names(app, "diagnosis") == ["Ana's diagnosis.pdf"]
    await document.erase(reason="asked for")
    assert await names(app, "diagnosis") == await names(app, str(document.sha256)) == []
    left = "select count(*) from foja.document_word where entity_id = %s"
    assert admin.execute(left, [document.id]).fetchone() == (0,)
    rebuilt = await app.rebuild()
    assert rebuilt.guards == 0
    assert admin.execute(left, [document.id]).fetchone() == (0,)


async def test_a_rebuild_writes_the_words_again(app: App, admin: psycopg.Connection[Any]) -> None:
    await app.documents.add(b"1", name="lost words.txt")
    admin.execute("delete from foja.document_word")
    assert await names(app, "lost") == []
    assert (await app.rebuild()).guards == 1
    assert await names(app, "lost") == ["lost words.txt"]


async def test_another_tenant_finds_nothing(app: App, open_app: Callable[..., App]) -> None:
    document = await app.documents.add(b"1", name="ours.txt")
    other = app.tenant("other")
    for text in ("ours", str(document.sha256), str(document.id)):
        assert await app.documents.search(text)
        assert await other.documents.search(text) == []
