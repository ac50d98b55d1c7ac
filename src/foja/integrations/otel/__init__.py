"""Send spans of requests and jobs to a collector, by OTLP over HTTP (`foja[otel]`).

Configured by the variables of OpenTelemetry itself: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, ….
"""

from foja.extras import needs

with needs("foja.integrations.otel", "otel"):
    from foja.integrations.otel.tracer import OtelTracer, sending

__all__ = ["OtelTracer", "sending"]
