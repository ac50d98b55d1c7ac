"""The format of log lines: time, level, logger, message and stream, as text or JSON. Secrets are removed."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from foja.engine.settings import Settings
from foja.engine.tracing.correlation import correlation_id
from foja.errors import redact

STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime"}


class TextFormat(logging.Formatter):
    """One line of text, followed by the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        fields = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{fields}"
        return redact("\n".join([line, *self._traceback(record)]))

    def _traceback(self, record: logging.LogRecord) -> list[str]:
        return [self.formatException(record.exc_info)] if record.exc_info else []


class JsonFormat(TextFormat):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        body = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: str(value) for name, value in _extra(record).items()},
        }
        for traceback in self._traceback(record):
            body["traceback"] = traceback
        return json.dumps({name: redact(value) for name, value in body.items()}, ensure_ascii=False)


class Stderr(logging.Handler):
    """Writes to stderr, as it is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def start_logging(settings: Settings) -> None:
    """Write the log of this process to stderr; of other libraries only warnings and errors."""
    root = logging.getLogger()
    handler = next((each for each in root.handlers if isinstance(each, Stderr)), None) or Stderr()
    handler.setFormatter(JsonFormat() if settings.log_format == "json" else TextFormat())
    root.addHandler(handler)
    logging.getLogger("foja").setLevel(settings.log_level.upper())


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields that the caller added to the record, and the stream that it is about."""
    fields = {name: value for name, value in vars(record).items() if name not in STANDARD}
    if "correlation_id" not in fields and (found := correlation_id()):
        fields["correlation_id"] = found
    return fields
