"""Signatures of a document: checked when they are recorded, and again by every reader."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from foja import errors
from foja.app import App
from foja.pure.models.documents.signatures import SignatureStatus
from tests.database.schema.rows import Admin
from tests.flow.judge.test_signatures_openssl import VALID
from tests.rules.authorities import Certified, certify, root
from tests.rules.signatures import Sheet, cms, jws, public, raw

CONTRACT = b"a contract to sign"
WITNESS = sha256(CONTRACT).digest()
KEY = ec.generate_private_key(ec.SECP256R1())


def ana() -> Certified:
    return certify("Ana", root("Lab Root", **VALID), key=KEY, **VALID)


async def test_signatures_are_checked_and_recorded_once(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    signer, ed = ana(), ed25519.Ed25519PrivateKey.generate()
    pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    first = await document.sign(cms(Sheet(signer, WITNESS)), actor="ana")
    again = await document.sign(cms_pem(first.payload["signature_b64"]), actor="ana")
    assert (first.v, first.payload["format"], again.seq) == (2, "cms", first.seq)
    await document.sign(jws(KEY, "ES256", WITNESS) + b"\n", key=pem)
    await document.sign(raw(ed, WITNESS), key=public(ed), signer="Ana")
    await document.sign(raw(KEY, WITNESS), certificate=signer.pem)
    await document.sign(b"a scan of a signature on paper", format="unchecked", signer="Ana", reason="paper")
    view = await document.view()
    assert [(each.format, each.status) for each in view.signatures] == [
        ("cms", SignatureStatus.CHECKED),
        ("jws", SignatureStatus.CHECKED),
        ("raw", SignatureStatus.CHECKED),
        ("raw", SignatureStatus.CHECKED),
        ("unchecked", SignatureStatus.UNCHECKED),
    ]
    assert [each.signer for each in view.signatures][0::3] == ["CN=Ana", "CN=Ana"]
    assert [each.claimed_signer for each in view.signatures][2:] == ["Ana", None, "Ana"]
    assert view.document()["lifecycle_status"] == "signed"
    assert [each.words for each in view.timeline][1] == "signed, checked: “CN=Ana”"
    assert [each.words for each in view.timeline][-1] == "signed, unchecked: it was recorded as unchecked"


def cms_pem(text: str) -> bytes:
    lines = [text[place : place + 64] for place in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CMS-----", *lines, "-----END CMS-----", ""]).encode()


async def test_a_wrong_signature_is_refused_and_nothing_is_recorded(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    other = ec.generate_private_key(ec.SECP256R1())
    wrong: list[tuple[bytes, dict[str, Any], str]] = [
        (b"not a signature", {"key": public(KEY)}, "SIGNATURE_INVALID"),
        (b"not a signature", {}, "needs its key or its certificate"),
        (raw(other, WITNESS), {"key": public(KEY)}, "SIGNATURE_INVALID"),
        (cms(Sheet(ana(), sha256(b"another").digest())), {}, "DIGEST_MISMATCH"),
        (jws(KEY, "none", WITNESS), {"key": public(KEY)}, "SIGNATURE_INVALID"),
        (
            cms(
                Sheet(certify("Ana", root())),
            ),
            {},
            "DIGEST_MISMATCH|CERT_EXPIRED",
        ),
    ]
    for signature, given, reason in wrong:
        with pytest.raises(errors.BadPayload, match=reason):
            await document.sign(signature, **given)
    with pytest.raises(errors.BadPayload, match="must be one of cms, jws, raw, unchecked"):
        await document.sign(b"x", format="checked")
    with pytest.raises(errors.BadPayload, match="format"):
        await document.record("document.signed", {"witness_hash": WITNESS.hex(), "signature_b64": "AAAA"})
    digest = sha256(b"another").digest()
    with pytest.raises(errors.OutOfTurn, match="no event names"):
        await document.sign(raw(KEY, digest), key=public(KEY), witness_hash=digest.hex())
    assert [event.kind for event in await document.events()] == ["document.added"]


async def test_checked_is_shown_from_our_own_check_and_never_read_from_the_event(
    app: App, admin: Admin
) -> None:
    """An event that SQL records and that claims to be checked is shown as what it is."""
    document = await app.documents.add(CONTRACT)
    claims = {"checked": True, "status": "checked", "signer": "Ana"}
    junk = {"format": "raw", "signature_b64": "AAAA", "key_b64": b64encode(public(KEY)).decode(), **claims}
    for body in (junk, {"format": "unchecked", **claims}):
        admin.execute(
            "select foja.append_event(%s, 'document', 'document.signed', %s::jsonb, v => 2)",
            [document.id, json.dumps({"witness_hash": WITNESS.hex(), **body})],
        )
    view = await document.view()
    assert [(each.status, each.signer, each.claimed_signer) for each in view.signatures] == [
        (SignatureStatus.INVALID, None, "Ana"),
        (SignatureStatus.UNCHECKED, None, "Ana"),
    ]


async def test_protection_waits_for_the_witness_that_is_required(app: App) -> None:
    """What the seed calls "para continuar" is held back until the witness is there."""
    document = await app.documents.add(CONTRACT)
    await document.record("document.witness.required", {"reason": "the annex is missing"})
    with pytest.raises(errors.OutOfTurn):
        await document.protect()
    assert "A witness is required since" in await document.explain()
    await document.record("document.witness.ready", {"witness_hash": WITNESS.hex()})
    await document.protect()
    await app.work(until_idle=True)
    assert (await document.view()).state == "final"
