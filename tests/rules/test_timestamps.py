"""What `run_tsa` records of a token, for any accuracy that the authority states."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from foja.documents.stamper import Stamper
from foja.documents.workers.timestamps import TimestampWorker
from foja.jobs.outcome import Done, Job
from foja.proofs.der import integer, plain, sequence
from foja.proofs.tsa import Terms, read_request, trusted
from tests.rules.authorities import DAY, Recipe, reply, root, signer

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
    [outcome] = await TimestampWorker(stamper).work([job()])
    assert isinstance(outcome, Done)
    [draft] = outcome.events
    assert draft.kind == "tsa.confirmed"
    found: dict[str, Any] = json.loads(draft.payload)
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
