"""Traces of requests and jobs: sent by OTLP if it is installed and configured, and nothing otherwise."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from foja.app import App
from foja.engine.tracing import span, traced, tracing
from foja.integrations.otel import OtelTracer
from tests.counterparties.http_server import listening
from tests.flow.client.client import served
from tests.flow.command import Process


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    found, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(found))
    with tracing(OtelTracer(provider)):
        yield found
    provider.shutdown()


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [each for each in exporter.get_finished_spans() if each.name == name]


async def test_a_request_continues_the_trace_of_its_caller(app: App, exporter: InMemorySpanExporter) -> None:
    trace, entity = "0af7651916cd43dd8448eb211c80319c", uuid4()
    async with served(app) as client:
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        await client.get(f"/v1/conversations/{entity}", headers=headers)
    [found] = named(exporter, "GET /v1/conversations/{conversation_id}")
    assert f"{found.context.trace_id:032x}" == trace
    attributes = dict(found.attributes or {})
    assert attributes["http.response.status_code"] == 404
    assert attributes["http.route"] == "/v1/conversations/{conversation_id}"
    assert str(entity) not in str(found.to_json())


async def test_jobs_are_spans(app: App, exporter: InMemorySpanExporter) -> None:
    document = await app.documents.add(b"We agree.", name="secret-name.txt")
    await document.protect(["tsa"])
    await app.work(until_idle=True)
    [found] = named(exporter, "job run_tsa")
    attributes = dict(found.attributes or {})
    assert (attributes["foja.job.count"], attributes["foja.entity_id"]) == (1, str(document.id))
    assert "secret-name" not in "".join(each.to_json() for each in exporter.get_finished_spans())


def test_a_failure_is_marked_without_its_message(exporter: InMemorySpanExporter) -> None:
    with contextlib.suppress(ValueError), span("work"):
        raise ValueError("password hunter2")
    [found] = named(exporter, "work")
    assert found.status.status_code is StatusCode.ERROR
    assert dict(found.attributes or {})["error.type"] == "ValueError"
    assert "hunter2" not in found.to_json()


def test_without_a_tracer_nothing_happens_and_nothing_is_imported() -> None:
    assert not traced()
    with span("work") as work:
        work.rename("other")
        work.set("a", 1)
        work.fail("no")
    # The client of Redis imports the SDK by itself, where that is installed.
    code = (
        "import sys, foja.interfaces.cli.services, foja.interfaces.web.server; "
        "sys.exit(bool({'foja.integrations.otel', 'opentelemetry.exporter'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, bytes]]]:
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ledger-of-ana")
    with listening(server) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        yield got


@pytest.mark.usefixtures("home")
def test_a_service_sends_its_spans_to_a_collector(
    spawn: Callable[..., Process], collector: list[tuple[str, bytes]]
) -> None:
    web = spawn("web", "--port", 0)
    url = web.line().split()[1].rstrip(";")
    with urllib.request.urlopen(f"{url}/v1/conversations", timeout=60) as answer:
        assert answer.status == 200
    assert web.end(signal.SIGTERM).code == 0
    assert {path for path, _ in collector} == {"/v1/traces"}
    sent = b"".join(body for _, body in collector)
    assert b"GET /v1/conversations" in sent
    assert b"ledger-of-ana" in sent
