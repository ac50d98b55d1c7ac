"""Outcomes as the database takes them: a column for each of their parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from foja.driver import encoding
from foja.driver.encoding import Value
from foja.jobs.outcome import Done, GiveUp, Job, NewJob, Outcome, Retry, Snooze
from foja.ledger.event import Draft
from foja.ledger.receipts import batch_values

Settled = Sequence[tuple[Job, Outcome]]
OUTCOME_NAMES = {Done: "done", Retry: "retry", GiveUp: "give_up", Snooze: "snooze"}
_encode = json.JSONEncoder(allow_nan=False).encode  # made once: `dumps` makes one for every job


def settle_values(
    settled: Settled, draft_type: int, *, source: str, tenant: str, careful: bool
) -> list[Value]:
    """Return a batch of outcomes as the values of `settle_jobs_v1`."""
    return [
        *_ends(settled),
        *_events(
            [(at, draft) for at, (_, end) in enumerate(settled, 1) for draft in _said(end)],
            draft_type,
            source,
        ),
        *_jobs([(at, job) for at, (_, end) in enumerate(settled, 1) for job in _next(end)]),
        encoding.text(source),
        encoding.text(tenant),
        encoding.boolean(careful),
    ]


def _ends(settled: Settled) -> list[Value]:
    outcomes = [outcome for _, outcome in settled]
    return [
        encoding.array(encoding.BIGINT_OID, [encoding.bigint(job.id) for job, _ in settled]),
        encoding.uuids([job.token for job, _ in settled]),
        encoding.array(
            encoding.TEXT_OID, [encoding.name(OUTCOME_NAMES[type(outcome)]) for outcome in outcomes]
        ),
        encoding.array(encoding.TEXT_OID, [encoding.text(_error(outcome)) for outcome in outcomes]),
        encoding.array(encoding.DOUBLE_OID, [_double(_delay(outcome)) for outcome in outcomes]),
        encoding.array(
            encoding.BIGINT_OID, [encoding.bigint(getattr(outcome, "read", None)) for outcome in outcomes]
        ),
    ]


def _events(events: Sequence[tuple[int, Draft]], draft_type: int, source: str) -> list[Value]:
    drafts = [draft for _, draft in events]
    packed = batch_values(drafts, draft_type, source=source, tenant="", atomic=True, careful=False)[0]
    return [encoding.array(encoding.INTEGER_OID, [encoding.integer(at) for at, _ in events]), packed]


def _jobs(jobs: Sequence[tuple[int, NewJob]]) -> list[Value]:
    return [
        encoding.array(encoding.INTEGER_OID, [encoding.integer(at) for at, _ in jobs]),
        *job_columns([j for _, j in jobs]),
    ]


def job_columns(jobs: Sequence[NewJob]) -> list[Value]:
    """Return new jobs as columns: type, entity, key, payload, delay, priority, on_death."""
    return [
        encoding.array(encoding.TEXT_OID, [encoding.name(job.type) for job in jobs]),
        encoding.uuids([job.entity_id for job in jobs]),
        encoding.array(encoding.TEXT_OID, [encoding.text(job.key) for job in jobs]),
        encoding.array(encoding.TEXT_OID, [_json(job.payload) for job in jobs]),
        encoding.array(encoding.DOUBLE_OID, [_double(job.delay) for job in jobs]),
        encoding.array(encoding.INTEGER_OID, [encoding.integer(job.priority) for job in jobs]),
        encoding.array(encoding.TEXT_OID, [_json(job.on_death) for job in jobs]),
    ]


def _said(outcome: Outcome) -> Sequence[Draft]:
    return outcome.events if isinstance(outcome, Done | GiveUp) else ()


def _next(outcome: Outcome) -> Sequence[NewJob]:
    return outcome.jobs if isinstance(outcome, Done) else ()


def _error(outcome: Outcome) -> str | None:
    # PostgreSQL has no U+0000; an error message may.
    return outcome.error.replace("\0", "�") if isinstance(outcome, Retry | GiveUp) else None


def _delay(outcome: Outcome) -> float | None:
    if isinstance(outcome, Snooze):
        return outcome.seconds
    return outcome.after if isinstance(outcome, Retry) else None


def _double(value: float | None) -> Value:
    return None if value is None else encoding.double(value)


def _json(value: Mapping[str, Any] | None) -> Value:
    return None if value is None else encoding.text(_encode(value))
