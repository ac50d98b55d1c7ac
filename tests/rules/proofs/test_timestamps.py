"""What `run_tsa` records of a token, for any accuracy that the authority states."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from foja.domains.documents.stamper import Stamper
from foja.domains.documents.workers.timestamps import stamp_batch, stamp_witnesses
from foja.engine.jobs.outcome import Done, GiveUp, Job
from foja.pure.core.bundle.record import recorded
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.proofs.der import integer, plain, sequence
from foja.pure.proofs.ers import judge as judge_record
from foja.pure.proofs.tsa import Terms, read_request, trusted
from tests.rules.authorities import DAY, Recipe, reply, root, signer
from tests.rules.streams import stream

DIGEST = sha256(b"a sheet").digest()
ENTITY = UUID(int=7)
NOW = datetime.now(UTC)
ROOT = root(ends=NOW + DAY)
SIGNER = signer(ROOT, ends=NOW + DAY)


class Stating:
    """A valid authority that states a given accuracy."""

    name = "stating"

    def __init__(self, accuracy: bytes) -> None:
        self._accuracy = accuracy

    async def ask(self, query: bytes) -> bytes:
        request = read_request(query)
        now = datetime.now(UTC)  # a test may run long after it was collected
        recipe = Recipe(SIGNER, request.imprint, nonce=request.nonce, gen_time=now, accuracy=self._accuracy)
        return reply(recipe)


def job() -> Job:
    payload = {"witness_hash": DIGEST.hex(), "attempt": 1}
    return Job(1, "run_tsa", ENTITY, "", "key", payload, 1, 5, UUID(int=8), 30.0)


async def confirmed(accuracy: bytes) -> dict[str, Any]:
    stamper = Stamper([Stating(accuracy)], Terms(trusted(ROOT.der)))
    [outcome] = await stamp_witnesses(stamper, [job()])
    assert isinstance(outcome, Done)
    [event] = outcome.events
    assert event.kind == "tsa.confirmed"
    found: dict[str, Any] = event.payload
    return found


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [
        (sequence(integer(1)), "1000"),
        (sequence(integer(2), integer(30, plain(0))), "2030"),
        (sequence(integer(2), integer(30, plain(0)), integer(4, plain(1))), "2030.004"),
        (sequence(integer(2**31 - 1)), "2147483647000"),
        (sequence(), "0"),
    ],
)
async def test_an_accuracy_is_recorded_in_milliseconds(accuracy: bytes, expected: str) -> None:
    assert json.dumps((await confirmed(accuracy))["accuracy_ms"]) == expected


async def test_an_accuracy_that_is_not_stated_is_not_recorded() -> None:
    assert "accuracy_ms" not in await confirmed(b"")


class Counting(Stating):
    """A valid authority that counts its requests, or one that gives no valid token."""

    def __init__(self, *, valid: bool = True) -> None:
        super().__init__(sequence(integer(1)))
        self.asked, self._valid = list[bytes](), valid

    async def ask(self, query: bytes) -> bytes:
        self.asked.append(read_request(query).imprint)
        return await super().ask(query) if self._valid else b"not a reply"


def jobs_for(*witnesses: object) -> list[Job]:
    return [
        Job(
            number,
            "run_tsa",
            UUID(int=number),
            "",
            "key",
            {"witness_hash": each, "attempt": 1},
            1,
            5,
            ENTITY,
            30.0,
        )
        for number, each in enumerate(witnesses)
    ]


def record_of(event: Any, entity: UUID) -> tuple[bytes, bytes]:
    """Return the evidence record that an event recorded, and the digest of its blinding."""
    [excerpt] = stream("document", entity, [(event.kind, event.payload)])
    found = recorded(excerpt)
    assert found is not None
    assert found.data is not None
    assert found.blinding is not None
    return found.data, sha256(found.blinding).digest()


async def test_a_batch_is_one_request_and_a_record_for_each_document() -> None:
    authority = Counting()
    stamper = Stamper([authority], Terms(trusted(ROOT.der)))
    jobs = jobs_for(*(sha256(b"%d" % number).hexdigest() for number in range(9)))
    outcomes = await stamp_batch(stamper, jobs)
    [root_asked] = authority.asked
    blindings = set()
    for job, outcome in zip(jobs, outcomes, strict=True):
        assert isinstance(outcome, Done)
        [event] = outcome.events
        assert event.kind == "tsa.confirmed"
        data, blinding = record_of(event, job.entity_id)
        blindings.add(blinding)
        digest = bytes.fromhex(job.payload["witness_hash"])
        checked = judge_record(data, digest, replace(stamper.terms, at=datetime.now(UTC)), group=[blinding])
        assert checked.verified, checked.finding
        assert checked.stamp is not None
        assert checked.stamp.imprint == root_asked
        DOCUMENT.kind(event.kind, 1, "run-tsa").check(event.payload)
    assert len(blindings) == len(jobs)


async def test_one_bad_document_does_not_spoil_a_batch() -> None:
    authority = Counting()
    good = sha256(b"good").hexdigest()
    for bad in ("", "zz", good[:-2], None, 7):
        authority.asked.clear()
        first, second, third = await stamp_batch(
            Stamper([authority], Terms(trusted(ROOT.der))), jobs_for(good, bad, DIGEST.hex())
        )
        assert isinstance(second, GiveUp)
        assert isinstance(first, Done)
        assert isinstance(third, Done)
        assert {each.events[0].kind for each in (first, third)} == {"tsa.confirmed"}
        assert len(authority.asked) == 1


async def test_a_batch_of_one_is_a_plain_token() -> None:
    authority = Counting()
    for jobs in ([job()], jobs_for(DIGEST.hex(), "not a digest")):
        authority.asked.clear()
        outcome = (await stamp_batch(Stamper([authority], Terms(trusted(ROOT.der))), jobs))[0]
        assert isinstance(outcome, Done)
        assert not {"path_b64", "blinding_b64"} & outcome.events[0].payload.keys()
        assert authority.asked == [DIGEST]
    [bad] = [each._replace(payload={"witness_hash": DIGEST.hex()}) for each in [job()]]
    for jobs in (jobs_for(""), [bad]):
        assert isinstance((await stamp_batch(Stamper([authority], Terms(())), jobs))[0], GiveUp)


async def test_a_token_that_fails_its_checks_fails_every_attempt() -> None:
    authority = Counting(valid=False)
    jobs = jobs_for(DIGEST.hex(), sha256(b"other").hexdigest())
    for outcome in await stamp_batch(Stamper([authority], Terms(trusted(ROOT.der))), jobs):
        assert isinstance(outcome, Done)
        [event] = outcome.events
        assert (event.kind, event.payload["failure_code"]) == ("tsa.failed", "malformed")
        assert "path_b64" not in event.payload


async def test_a_token_too_large_for_a_record_fails_every_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foja.domains.documents.stamper.MAX_BATCH_TOKEN", 100)
    jobs = jobs_for(DIGEST.hex(), sha256(b"other").hexdigest())
    for outcome in await stamp_batch(Stamper([Counting()], Terms(trusted(ROOT.der))), jobs):
        assert isinstance(outcome, Done)
        assert outcome.events[0].payload["failure_code"] == "too_large"
