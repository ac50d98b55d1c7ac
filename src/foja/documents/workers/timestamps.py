"""`run_tsa`: a token for every witness, checked in full before it is recorded."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from foja.documents.model.events import DOCUMENT
from foja.documents.stamper import Confirmed, Stamper, Unconfirmed
from foja.jobs.outcome import Done, Job, Outcome
from foja.ledger.event import draft

TYPE, SOURCE = "run_tsa", "run-tsa"
MILLISECOND = timedelta(milliseconds=1)
BATCH = 32  # two batches keep all connections busy


class TimestampWorker:
    """Asks the authorities; their answer, valid or not, ends the attempt."""

    def __init__(self, stamper: Stamper) -> None:
        self._stamper = stamper

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Stamp many witnesses at the same time."""
        return list(await asyncio.gather(*map(self._stamp, jobs)))

    async def _stamp(self, job: Job) -> Outcome:
        found = await self._stamper.stamp(bytes.fromhex(job.payload["witness_hash"]))
        kind, more = ("tsa.confirmed", _token(found)) if isinstance(found, Confirmed) else _failure(found)
        payload = {"witness_hash": job.payload["witness_hash"], "attempt": job.payload["attempt"], **more}
        return Done([draft(DOCUMENT, job.entity_id, kind, payload, tenant=job.tenant, source=SOURCE)])


def _token(found: Confirmed) -> dict[str, Any]:
    stamp = found.stamp
    details: Mapping[str, Any] = {
        "serial": format(stamp.serial, "x"),
        "nonce": None if stamp.nonce is None else format(stamp.nonce, "x"),  # checked: the one sent
        "policy": stamp.policy,
        "authority": found.authority,
        "accuracy_ms": None if stamp.accuracy is None else _milliseconds(stamp.accuracy),
        "tsa_cert_sha256": stamp.certificate_sha256,
        "local": stamp.local or None,
    }
    return {
        "token_b64": base64.b64encode(stamp.token).decode(),
        "gen_time": stamp.gen_time.isoformat(),
        **{name: value for name, value in details.items() if value is not None},
    }


def _milliseconds(accuracy: timedelta) -> int | float:
    """Return an integer if it is one: the same canonical form, and cheaper to write than a fraction."""
    found = accuracy / MILLISECOND
    return int(found) if found.is_integer() else found


def _failure(found: Unconfirmed) -> tuple[str, dict[str, Any]]:
    return "tsa.failed", {"failure_code": found.code.lower(), "reason": found.detail[:2000]}
