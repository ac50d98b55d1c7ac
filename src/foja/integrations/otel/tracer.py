"""Our spans as spans of OpenTelemetry. No message of an error is in them: it may hold a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from foja.engine.tracing import tracing


class OtelSpan:
    """A span of OpenTelemetry under our names."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        """Give it another name."""
        self._span.update_name(name)

    def set(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        self._span.set_attribute(name, value)

    def fail(self, reason: str) -> None:
        """Mark it as failed."""
        self._span.set_attribute("error.type", reason)
        self._span.set_status(Status(StatusCode.ERROR))


class OtelTracer:
    """Starts spans with a provider of OpenTelemetry."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("foja")

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, str | int], carrier: Mapping[str, str] | None
    ) -> Iterator[OtelSpan]:
        """Run a span; a request continues the trace that its headers name."""
        with self._tracer.start_as_current_span(
            name,
            context=None if carrier is None else extract(carrier),
            kind=SpanKind.INTERNAL if carrier is None else SpanKind.SERVER,
            attributes=dict(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as started:
            span = OtelSpan(started)
            try:
                yield span
            except BaseException as error:
                span.fail(type(error).__name__)
                raise


@contextmanager
def sending(version: str) -> Iterator[None]:
    """Send every span to the collector that the environment names, while the block runs."""
    provider = TracerProvider(resource=Resource.create({"service.version": version}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        with tracing(OtelTracer(provider)):
            yield
    finally:
        provider.shutdown()
