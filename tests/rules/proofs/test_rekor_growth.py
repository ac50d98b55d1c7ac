"""R6: a log that grew begins with the tree of the proof, or its own signatures show that it does not."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from json import loads

import pytest

from foja.pure.core import tiles
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.bundles import NOW
from tests.rules.sigstores import Instance, armour, spki

HERE = Instance()
BUNDLE = HERE.bundle()
TRUST = read([HERE.trusted_root(), b64decode(armour("PUBLIC KEY", spki(HERE.signer)))])
BODY = b64decode(loads(BUNDLE)["verificationMaterial"]["tlogEntries"][0]["canonicalizedBody"])
SIZE, ORIGIN = 5, "rekor.example"
ENTRIES = [b"a", b"b", BODY, b"c", b"d"]


def grown(*entries: bytes, key: Signer = HERE.new_log) -> tuple[str, dict[str, bytes]]:
    """Return the newest checkpoint of a log with these entries, and its tiles by their paths."""
    leaves = [leaf_hash(each) for each in entries]
    note = key.sign(Checkpoint(ORIGIN, len(leaves), Frontier().extend(leaves).root()).text())
    return note, {tile.path: data for tile, data in tiles.grow(0, leaves, {}).items()}


def judged(*entries: bytes, key: Signer = HERE.new_log) -> Finding:
    note, files = grown(*entries, key=key)
    needed = {tile: files[tile.path] for tile in tiles.consistency_tiles(SIZE, len(entries))}
    path = tuple(tiles.prove_consistency(SIZE, len(entries), needed))
    trust = replace(TRUST, growths=((SIZE, note, path),))
    return check_proof(BUNDLE, ProofRequest(sha256(b"document").digest(), trust, NOW + timedelta(hours=1)))


@pytest.mark.parametrize("more", [[], [b"e"], [b"e", b"f", b"g"], [b"x"] * 300])
def test_a_log_that_grew_still_shows_the_tree(more: list[bytes]) -> None:
    found = judged(*ENTRIES, *more)
    assert found.status is Status.VERIFIED
    assert not any("same checkpoint" in each for each in found.not_checked)
    assert f"of {SIZE + len(more)} entries extends" in found.detail


def test_a_log_with_another_beginning_is_refused() -> None:
    found = judged(b"a", b"b", b"forged", b"c", b"d", b"e")
    assert (found.status, found.reason) == (Status.INVALID, Reason.LOG_INCONSISTENT)
    assert judged(b"a", b"b", b"forged", b"c", b"d").reason is Reason.LOG_INCONSISTENT


def test_a_checkpoint_that_the_log_did_not_sign_is_ignored() -> None:
    found = judged(b"a", b"b", b"forged", b"c", b"d", b"e", key=Signer(ORIGIN, b"s" * 32))
    assert found.status is Status.VERIFIED
    assert any("same checkpoint" in each for each in found.not_checked)
