"""Pages and forms that once failed (500): bodies that are no form, and a document whose body is erased."""

from __future__ import annotations

from uuid import uuid4

import pytest

from foja.app import App
from tests.cases import all_cases
from tests.flow.access.access_scene import log_in, make_key, origin
from tests.flow.client.client import served

MULTIPART = "multipart/form-data; boundary=x"
UNNAMED = b'--x\r\nContent-Disposition: form-data; filename="a"\r\n\r\nq\r\n--x--\r\n'


@all_cases(
    ("content_type", "body", "status"),
    [
        (MULTIPART, b"no boundary", 400),
        (MULTIPART, b"--x\r\n\r\n", 400),
        (MULTIPART, UNNAMED, 400),
        ("multipart/form-data; boundary=", b"no boundary", 400),
        ("application/x-www-form-urlencoded", b"a=" + b"b" * 100_000, 413),
    ],
)
async def test_a_body_that_is_no_form_is_refused(
    app: App, content_type: str, body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    key = await make_key(app)
    async with served(app) as client:
        assert (await log_in(client, key)).status_code == 303
        headers = {**origin(client), "Content-Type": content_type}
        for path in ("/documents", f"/v1/conversations/{uuid4()}/events", "/v1/documents", "/verify"):
            answer = await client.post(path, content=body, headers=headers)
            assert answer.status_code == status, (path, answer.text)
    assert "Traceback" not in caplog.text


async def test_the_page_of_an_erased_document_is_shown(app: App) -> None:
    document = await app.documents.add(b"We agree.", name="contract.txt")
    await document.erase(reason="on request")
    async with served(app) as client:
        page = await client.get(f"/documents/{document.id}")
        assert page.status_code == 200
        assert "contract.txt" not in page.text
