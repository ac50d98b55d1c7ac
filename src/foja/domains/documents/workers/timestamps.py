"""`run_tsa`: a token for every witness, or one for many, checked in full before it is recorded."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from foja.domains.documents.stamper import Confirmed, Stamper, Unconfirmed, without_large
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, Outcome
from foja.pure.core.bundle.evidence_record import BLINDING_BYTES, HASH_BYTES
from foja.pure.proofs.ers import build_tree, group_hash

TYPE = "run_tsa"
NO_WITNESS = GiveUp("its job names no attempt for a SHA-256 digest")
MILLISECOND = timedelta(milliseconds=1)


async def stamp_witnesses(stamper: Stamper, jobs: Sequence[Job]) -> list[Outcome]:
    """Ask for many tokens at the same time; the answer, valid or not, ends the attempt."""
    return list(await asyncio.gather(*(_stamp(stamper, job) for job in jobs)))


async def stamp_batch(stamper: Stamper, jobs: Sequence[Job]) -> list[Outcome]:
    """Ask for one token over all witnesses; a job whose witness is not valid does not affect the others."""
    digests = {job.id: digest for job in jobs if (digest := _witness(job))}
    batch = [job for job in jobs if job.id in digests]
    done = (
        await _stamp_together(stamper, batch, list(digests.values()))
        if len(batch) > 1
        else [await _stamp(stamper, job) for job in batch]
    )
    outcomes = dict(zip(digests, done, strict=True))
    return [outcomes.get(job.id, NO_WITNESS) for job in jobs]


async def _stamp_together(stamper: Stamper, jobs: Sequence[Job], digests: Sequence[bytes]) -> list[Outcome]:
    """Return an event for each job: with the token, its own random file and its own path in the tree."""
    blindings = [secrets.token_bytes(BLINDING_BYTES) for _ in jobs]
    tree = build_tree(list(map(group_hash, digests, blindings)))
    found = without_large(await stamper.stamp(tree.root))
    kind, shared = _result(found)
    if isinstance(found, Unconfirmed):
        return [_event(kind, job, shared) for job in jobs]
    return [
        _event(kind, job, {**shared, "blinding_b64": _base64(blinding), "path_b64": _base64(path)})
        for job, blinding, path in zip(jobs, blindings, tree.paths, strict=True)
    ]


async def _stamp(stamper: Stamper, job: Job) -> Outcome:
    digest = _witness(job)
    if digest is None:
        return NO_WITNESS
    kind, more = _result(await stamper.stamp(digest))
    return _event(kind, job, more)


def _witness(job: Job) -> bytes | None:
    """Return the witness of a job, or None if it names no attempt for a digest."""
    try:
        digest, _ = bytes.fromhex(job.payload["witness_hash"]), job.payload["attempt"]
    except (KeyError, TypeError, ValueError):
        return None
    return digest if len(digest) == HASH_BYTES else None


def _result(found: Confirmed | Unconfirmed) -> tuple[str, dict[str, Any]]:
    """Return the kind of the event that ends the attempt, and its fields."""
    if isinstance(found, Confirmed):
        return "tsa.confirmed", _token(found)
    return "tsa.failed", {"failure_code": found.code.lower(), "reason": found.detail[:2000]}


def _event(kind: str, job: Job, more: Mapping[str, Any]) -> Outcome:
    payload = {"witness_hash": job.payload["witness_hash"], "attempt": job.payload["attempt"], **more}
    return Done([NewEvent(kind, payload)])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


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
        "token_b64": _base64(stamp.token),
        "gen_time": stamp.gen_time.isoformat(),
        **{name: value for name, value in details.items() if value is not None},
    }


def _milliseconds(accuracy: timedelta) -> int | float:
    """Return an integer if it is one: the same canonical form, and cheaper to write than a fraction."""
    found = accuracy / MILLISECOND
    return int(found) if found.is_integer() else found
