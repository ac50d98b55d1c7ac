"""deploy/nginx.conf in a real nginx: TLS, keys, live event streams, large bodies, closed metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from foja.app import App
from foja.engine.ledger.event import MAX_BODY
from foja.interfaces.web.server import address, bind, serving
from tests.counterparties.ports import free_port
from tests.flow.access.access_scene import bearer, make_key

EXAMPLE = Path(__file__).parents[3] / "deploy" / "nginx.conf"
HOST = "foja.example"
pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx (apt install nginx)")


@pytest.fixture
async def proxied(open_app: Callable[..., App], tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the proxy, with the name of the example and a key."""
    port = free_port()
    async with open_app(trusted_proxies="127.0.0.1") as app:
        key = await make_key(app, ["read", "write", "operate"], installation=True)
        with bind("127.0.0.1", 0, expose=False) as listener:
            async with serving(app, listener):
                configure(tmp_path, port, address(listener))
                async with running_nginx(tmp_path, port), client(tmp_path, port, key) as found:
                    yield found


def configure(folder: Path, port: int, upstream: str) -> None:
    """Write the example with other ports and paths, and what it needs around it."""
    _write_certificate(folder)
    text = EXAMPLE.read_text()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("http://127.0.0.1:8000;", f"{upstream};"),
        ("/etc/foja/tls/", f"{folder}/"),
    ):
        assert old in text
        text = text.replace(old, new)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\nuser root;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}\n}}\n"
    )


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "privkey.pem").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


@contextlib.asynccontextmanager
async def running_nginx(folder: Path, port: int) -> AsyncIterator[None]:
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            assert process.poll() is None, (folder / "error.log").read_text()
            await asyncio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 30)


def client(folder: Path, port: int, key: str) -> httpx.AsyncClient:
    trust = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
    return httpx.AsyncClient(
        transport=_Named(port, trust), base_url=f"https://{HOST}", headers=bearer(key), timeout=60
    )


class _Named(httpx.AsyncHTTPTransport):
    """Connects to this machine for the name of the example."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        super().__init__(verify=trust)
        self._port = port

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        request.extensions = {**request.extensions, "sni_hostname": HOST}
        return await super().handle_async_request(request)


async def test_a_stream_is_live_through_the_proxy(proxied: httpx.AsyncClient) -> None:
    """Every event arrives while the stream is open: nothing is kept until the end."""
    created = (await proxied.post("/v1/conversations", json={})).json()
    url = f"/v1/conversations/{created['id']}"
    async with proxied.stream("GET", f"{url}/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        for number in range(3):
            event = {"kind": "user_message_sent", "payload": {"content": f"event {number}"}}
            posted = await proxied.post(f"{url}/events", json=event)
            assert posted.status_code == 201, posted.text
            await _line_with(lines, f"event {number}")


async def _line_with(lines: AsyncIterator[str], text: str) -> None:
    async for line in lines:
        if text in line:
            return
    raise AssertionError(f"the stream ended before {text!r}")


async def test_a_large_body_reaches_foja_and_its_own_limit_answers(proxied: httpx.AsyncClient) -> None:
    created = (await proxied.post("/v1/conversations", json={})).json()
    url = f"/v1/conversations/{created['id']}/events"
    fits = {"kind": "user_message_sent", "payload": {"content": "x" * (MAX_BODY // 2)}}
    assert (await proxied.post(url, json=fits)).status_code == 201
    answer = await proxied.post(url, content=b"x" * 20_000_000, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"  # not a page of nginx


async def test_a_key_is_needed_and_metrics_are_for_this_machine(proxied: httpx.AsyncClient) -> None:
    wrong = {"authorization": "Bearer nonsense"}
    assert (await proxied.get("/v1/conversations", headers=wrong)).status_code == 401
    assert (await proxied.get("/v1/conversations")).status_code == 200
    assert (await proxied.get("/metrics", headers=wrong)).status_code == 401
    assert (await proxied.get("/metrics")).status_code == 200  # asked from here
    assert (await proxied.get("/readyz", headers=wrong)).json()["status"] == "ok"
    closed = re.search(r"location ~ \^/\(metrics\|readyz\)\$ \{([^}]*)\}", EXAMPLE.read_text())
    assert closed
    assert "deny all;" in closed[1]


async def test_headers_of_the_answer_are_those_of_foja(proxied: httpx.AsyncClient) -> None:
    page = await proxied.get("/conversations")
    assert page.status_code == 200
    assert "default-src" in page.headers["content-security-policy"]
    missing = await proxied.get("/nothing")
    assert missing.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(missing.text)
    assert body["status"] == 404
