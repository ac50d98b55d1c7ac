"""Any answer of a log confirms a batch with a proof that verifies, or does not confirm it. None raises."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64decode
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from foja.engine.anchors.network import Batch, Confirmed, Progress, Refused, Waiting
from foja.engine.anchors.rekor import Rekor, RekorTerms
from foja.engine.embedded.signing_keys import SigningKeys
from foja.engine.remote.networks.rekor import Added
from foja.pure.core.note import Verifier
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Status
from foja.pure.proofs.rekor.builder import SignedDigest
from foja.pure.proofs.tsa import Terms, trusted
from tests.counterparties.rekor import RekorLog
from tests.rules.bundles import NOW, Stamper
from tests.rules.judge.test_judge_fuzz import changed

ROOT = bytes(range(32))
LOG, STAMPER = RekorLog(), Stamper()


async def stamp(digest: bytes) -> bytes:
    return STAMPER.token(digest)


def drafted() -> tuple[Rekor, Batch]:
    with TemporaryDirectory() as home:
        terms = RekorTerms(
            url="http://127.0.0.1:1",
            log=Verifier.from_vkey(LOG.vkey),
            keys=SigningKeys(Path(home)),
            stamp=stamp,
            timestamps=Terms(trusted(STAMPER.root.pem)),
        )
        network = Rekor(terms)
        state = asyncio.run(network.draft(ROOT, None)).state
    return network, Batch(UUID(int=1), "rekor", ROOT, 7, None, None, state, NOW)


NETWORK, BATCH = drafted()
LOG.grow(300)


def answer() -> bytes:
    """Return the honest answer to the batch."""
    state = BATCH.state
    signed = SignedDigest(ROOT, *(b64decode(state[name]) for name in ("signature", "key")))
    if signed.body() not in LOG.entries:
        LOG.entries.append(signed.body())
    return json.dumps(LOG.answer(len(LOG.entries) - 1)).encode()


ANSWER = answer()


def outcome(data: bytes) -> Progress:
    return NETWORK._read_answer(BATCH, Added(data))


def test_the_honest_answer_confirms() -> None:
    found = outcome(ANSWER)
    assert isinstance(found, Confirmed), found
    assert found.payload == {"log_index": 300}


def test_an_answer_that_no_bundle_can_hold_is_refused() -> None:
    found = outcome(ANSWER.replace(b'"hashedrekord"', b'"hashedrekord\\u0000"'))
    assert isinstance(found, Refused), found
    assert found.code == "proof_invalid"


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_other_answer_confirms_what_is_not_proven(chance: random.Random) -> None:
    found = outcome(changed(ANSWER, chance))
    assert isinstance(found, Confirmed | Refused | Waiting)
    if isinstance(found, Confirmed):  # what was changed is not part of the proof
        request = ProofRequest(ROOT, read([*found.trust, STAMPER.root.pem]), NOW + timedelta(hours=1))
        assert check_proof(found.state["bundle"].encode(), request).status is Status.VERIFIED
        assert found.payload == {"log_index": 300}
    else:
        assert "bundle" not in found.state
