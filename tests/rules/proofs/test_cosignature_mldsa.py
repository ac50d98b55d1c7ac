"""ML-DSA-44 cosignatures (c2sp.org/tlog-cosignature): the bytes of others, every fault, an older library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Refused, Tampered
from foja.pure.core.note import NoteSignature, parse_checkpoint, split_note
from foja.pure.judge.render.text import as_text
from foja.pure.judge.render.translations import LANGUAGES
from foja.pure.judge.report import Verdict
from foja.pure.proofs import mldsa
from foja.pure.proofs.cosignature import (
    MAX_COSIGNERS,
    CosignatureAlgorithm,
    CosignerKey,
    CosignerSigner,
    MLDSACosignerKey,
    find_cosignatures,
    parse_cosigner_key,
)
from foja.pure.proofs.finding import Reason
from tests.rules.judge.test_cosigners_judged import PROOF, cosigned, judged
from tests.rules.proofs.test_cosignature import EVE, NOTE, REAL_COSIGNERS, TEXT, TIME, VECTORS

# The real checkpoint, cosigned by another implementation: proofbundle 6.3.1 of PyPI.
THEIRS = (VECTORS / "mldsa44.checkpoint").read_text()
THEIR_KEY = (VECTORS / "mldsa44.vkey").read_text().strip()
POST, TWIN = (
    CosignerSigner(f"{each}.example", sha256(each.encode()).digest(), CosignatureAlgorithm.ML_DSA_44)
    for each in ("post", "twin")
)
LINE = split_note(NOTE + POST.cosign(TEXT, TIME))[1][-1]


@pytest.fixture
def older_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Import as with a `cryptography` that has no ML-DSA."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.mldsa", None)
    mldsa.is_available.cache_clear()
    yield
    mldsa.is_available.cache_clear()


def test_the_cosignature_of_another_implementation_is_verified() -> None:
    key = parse_cosigner_key(THEIR_KEY)
    assert (type(key), key.vkey()) == (MLDSACosignerKey, THEIR_KEY)
    [found] = find_cosignatures(THEIRS, [key], ())
    assert (found.key.name, found.time) == ("mldsa.example/w1", 1779573030)
    both = [key, *map(parse_cosigner_key, REAL_COSIGNERS)]
    assert len(find_cosignatures(THEIRS, both, ())) == 5
    for change in (("1432088532", "1432088533"), ("arche2025h1.staging", "arche2025h2.staging")):
        with pytest.raises(Tampered, match=r"mldsa\.example"):
            find_cosignatures(THEIRS.replace(*change, 1), [key], ())


def test_the_signed_message_is_that_of_the_specification() -> None:
    """The `cosigned_message`, written out field by field, without the code that is tested."""
    checkpoint = parse_checkpoint(TEXT)
    message = b"subtree/v1\n\x00" + b"\x0cpost.example" + TIME.to_bytes(8, "big") + b"\x0blog.example"
    message += bytes(8) + (7).to_bytes(8, "big") + checkpoint.root
    assert LINE.data[:8] == TIME.to_bytes(8, "big")
    assert len(LINE.data) == 8 + 2420
    assert mldsa.accepts(POST.key().public_key, message, LINE.data[8:])
    key_id = sha256(b"post.example\n\x06" + POST.key().public_key).digest()[:4]
    assert (LINE.key_id, len(POST.key().public_key)) == (key_id, 1312)


@given(st.integers(0, 8 + 2419), st.integers(1, 255))
def test_every_byte_of_a_cosignature_counts(place: int, flip: int) -> None:
    changed = bytearray(LINE.data)
    changed[place] ^= flip
    assert not POST.key().accepts(TEXT, bytes(changed))


def test_what_is_not_this_cosigners_signature_of_this_tree_is_refused() -> None:
    key = POST.key()
    assert key.accepts(TEXT, LINE.data)
    assert key.accepts(TEXT + "an extension line\n", LINE.data), "the specification does not sign these"
    renamed = MLDSACosignerKey("other.example", key.public_key)
    assert not renamed.accepts(TEXT, LINE.data), "the name is signed"
    for data in (b"", LINE.data[:8], LINE.data[:-1], LINE.data + b"\x00", bytes(8) + bytes(2420)):
        assert not key.accepts(TEXT, data)
    for text in (TEXT.replace("7", "8", 1), "not a checkpoint\n", TEXT.replace("log.", "l" * 255 + ".", 1)):
        assert not key.accepts(text, LINE.data)
    long = replace(POST, name="n" * 256)
    with pytest.raises(Refused, match="255 bytes"):
        long.cosign(TEXT, TIME)


def test_keys_of_both_kinds_are_not_exchangeable() -> None:
    ed25519, post = EVE.key().vkey(), POST.key().vkey()
    with pytest.raises(Refused, match="Ed25519 key of a cosigner"):
        CosignerKey.from_vkey(post)
    with pytest.raises(Refused, match="ML-DSA-44 key of a cosigner"):
        MLDSACosignerKey.from_vkey(ed25519)
    with pytest.raises(Refused, match="1312 bytes"):
        MLDSACosignerKey("short.example", bytes(32))
    assert [type(parse_cosigner_key(each)) for each in (ed25519, post)] == [CosignerKey, MLDSACosignerKey]


def test_the_judge_counts_both_kinds_under_one_policy() -> None:
    keys = [POST.key().vkey(), EVE.key().vkey()]
    report = judged(cosigned(POST, EVE), *keys, "cosigners:2 of 2")
    assert report.verdict is Verdict.TOTAL_PASSED
    assert report.evidence[0].detail.endswith("; 2 of 2 cosigners vouch for it")
    again = judged(cosigned(POST, POST), *keys, "cosigners:2 of 2")
    assert again.evidence[0].reason is Reason.COSIGNERS_MISSING
    wrong = NoteSignature(LINE.name, LINE.key_id, LINE.data)
    forged = replace(PROOF, note=PROOF.note + wrong.line())
    assert judged(forged, *keys).evidence[0].reason is Reason.COSIGNATURE_INVALID


def test_a_proof_may_carry_as_many_cosignatures_as_a_log_may_have() -> None:
    many = [replace(POST, name=f"{each:02}-{'n' * 60}.example") for each in range(MAX_COSIGNERS)]
    assert judged(cosigned(*many), many[0].key().vkey()).verdict is Verdict.TOTAL_PASSED


@pytest.mark.usefixtures("older_library")
def test_an_older_library_says_that_it_did_not_check() -> None:
    """A genuine cosignature is not called wrong, and a forged one does not count."""
    key = parse_cosigner_key(THEIR_KEY)
    line = NoteSignature(key.name, key.key_id, bytes(8 + 2420)).line()
    proof = replace(PROOF, note=PROOF.note + line)
    counted = judged(proof, THEIR_KEY)
    assert counted.verdict is Verdict.TOTAL_PASSED
    assert "; 0 of 1 cosigners vouch" in counted.evidence[0].detail
    words = {
        "en": "cosignatures by ML-DSA-44: to check them, cryptography 48 or later must be installed",
        "es": "cofirmas ML-DSA-44: para comprobarlas hay que instalar cryptography 48 o posterior",
    }
    for language in LANGUAGES:
        assert words[language] in " ".join(as_text(counted, language).split())
    required = judged(proof, THEIR_KEY, "cosigners:1 of 1")
    assert required.verdict is Verdict.INDETERMINATE
    assert required.evidence[0].reason is Reason.COSIGNERS_MISSING
    with pytest.raises(Refused, match="cryptography 48"):
        POST.key()
