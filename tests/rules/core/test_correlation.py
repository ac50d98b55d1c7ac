"""Log lines carry the stream that they are about."""

from __future__ import annotations

import asyncio
import json
import logging
from uuid import UUID

from foja.engine.tracing.correlation import correlated, correlation_id
from foja.interfaces.cli.log_format import JsonFormat, TextFormat

ENTITY, OTHER = UUID(int=1), UUID(int=2)


def line(form: logging.Formatter, **extra: object) -> str:
    record = logging.LogRecord("foja.test", logging.WARNING, "", 1, "it failed", None, None)
    vars(record).update(extra)
    return form.format(record)


def test_a_line_within_the_work_for_a_stream_names_it() -> None:
    with correlated(lambda: ENTITY):
        assert json.loads(line(JsonFormat()))["correlation_id"] == str(ENTITY)
        assert line(TextFormat()).endswith(f"it failed correlation_id={ENTITY}")
        assert json.loads(line(JsonFormat(), correlation_id=OTHER))["correlation_id"] == str(OTHER)
    assert "correlation_id" not in json.loads(line(JsonFormat()))
    with correlated(lambda: None):
        assert "correlation_id" not in json.loads(line(JsonFormat()))


async def test_tasks_keep_theirs_apart() -> None:
    async def work(entity: UUID) -> str | None:
        with correlated(lambda: entity):
            await asyncio.sleep(0)
            return correlation_id()

    assert [*await asyncio.gather(work(ENTITY), work(OTHER))] == [str(ENTITY), str(OTHER)]
    assert correlation_id() is None
