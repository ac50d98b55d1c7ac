"""Parsing trust: every form is recognised by its content, and a typo is refused."""

from __future__ import annotations

import json
from base64 import encodebytes
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Refused
from foja.pure.core.note import Signer
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust import Identity, Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.ots.network import MAINNET_DIFFICULTY
from foja.pure.proofs.tsa import Terms, judge, trusted
from tests.rules.bundles import NOW as MADE
from tests.rules.bundles import Scene

KEY = generate_private_key(SECP256R1())
LOG = Signer("example.com/log", sha256(b"log").digest()).verifier()
REKOR = Signer("rekor.example", sha256(b"rekor").digest()).verifier()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject: str, issuer: str) -> bytes:
    builder = x509.CertificateBuilder(name(issuer), name(subject), KEY.public_key(), 7)
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1))
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.PEM)


ROOT, LEAF = certificate("root", "root"), certificate("leaf", "root")
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def policy(**fields: object) -> str:
    return json.dumps({"form": "foja/policy/v1", **fields})


def test_nothing_given_is_nothing_trusted() -> None:
    assert read([]) == Trust()
    assert Trust().minimum_difficulty == MAINNET_DIFFICULTY


def test_one_file_may_hold_everything() -> None:
    block, sender = "11" * 32, "22" * 20
    keys = f"# ours\n{LOG.vkey()}\nrekor:{REKOR.vkey()}\n"
    lines = f"{keys}\nevm-block:0x{block}\nevm-chain:137\nevm-sender:0x{sender}\n"
    trust = read([lines.encode() + LEAF + ROOT.replace(b"\n", b"\r\n") + PUBLIC])
    assert (len(trust.roots), len(trust.intermediates), len(trust.signers)) == (1, 1, 1)
    assert (trust.logs, trust.rekor_logs) == ((LOG,), (REKOR,))
    assert trust.document()["rekor_logs"] == [REKOR.vkey()]
    assert (trust.blocks, trust.senders, trust.chains) == (
        (bytes.fromhex(block),),
        (bytes.fromhex(sender),),
        (137,),
    )


def test_a_certificate_that_is_not_self_issued_is_an_intermediate() -> None:
    assert read([LEAF]).roots == ()


def test_der_and_pem_are_the_same_certificate() -> None:
    der = x509.load_pem_x509_certificate(ROOT).public_bytes(Encoding.DER)
    assert read([der, ROOT]) == read([ROOT.decode()])


@pytest.mark.parametrize("use", [trusted, lambda data: read([data])])
def test_a_root_that_cannot_be_used_is_refused_without_a_warning(use: Callable[[bytes], object]) -> None:
    """Public roots with the serial number 0 made the library write its own warning to the terminal."""
    der = x509.load_pem_x509_certificate(certificate("r", "r")).public_bytes(Encoding.DER)
    zero = der.replace(b"\x02\x01\x07", b"\x02\x01\x00", 1)
    pem = b"-----BEGIN CERTIFICATE-----\n" + encodebytes(zero) + b"-----END CERTIFICATE-----\n"
    with pytest.raises(Refused, match="its serial number is not positive"):
        use(pem)


def test_a_file_without_a_certificate_is_not_nothing_trusted() -> None:
    with pytest.raises(Refused, match="no PEM block"):
        trusted(b"-----BEGIN CERTIFICATE-----")


def test_a_policy_requires_and_trusts() -> None:
    trust = read(
        [
            policy(
                required=["tsa", "bitcoin"],
                trust=[ROOT.decode(), LOG.vkey()],
                minimum_difficulty=1,
                evm_chains=[1, 137],
                revocation_required=True,
                timestamp_policies=["1.2.3"],
                identities=[{"subject": "ana@example.com", "issuer": "https://example.com"}],
            )
        ]
    )
    assert trust.required == ("tsa", "bitcoin")
    assert (len(trust.roots), trust.logs, trust.chains) == (1, (LOG,), (1, 137))
    assert (trust.minimum_difficulty, trust.revocation_required) == (1, True)
    assert trust.identities == (Identity("ana@example.com", "https://example.com"),)


@pytest.mark.parametrize(
    "item",
    [
        "something",
        "evm-block:0x11",
        "evm-chain:-1",
        "bitcoin-header:1:00",
        LOG.vkey()[:-4],
        f"rekor:{LOG.vkey()[:-4]}",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----",
        pytest.param(ROOT.decode()[:-30], id="a certificate cut short"),
        "{}",
        "{",
        '{"form": "foja/policy/v2"}',
        policy(requires=["tsa"]),
        policy(required="tsa"),
        policy(minimum_difficulty=-1),
        policy(worst_accuracy_ms=-1),
        policy(minimum_difficulty=True),
        policy(revocation_required=1),
        policy(identities=[{"subject": "ana"}]),
        policy(identities=[{"subject": "ana", "issuer": 7}]),
        policy(required=["\ud800"]),
        policy(required=["tsa\n"]),
        policy(evm_chains=["x"]),
        b"\xff\xfe",
        b"\x30\x00",
    ],
    ids=lambda item: repr(item)[:60],
)
def test_an_invalid_item_is_refused(item: str | bytes) -> None:
    with pytest.raises(Refused):
        read([item])


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_reading_is_total(item: bytes | str) -> None:
    try:
        trust = read([item])
    except Refused:
        return
    assert not trust.roots


def test_the_report_shows_the_same_trust_in_any_order() -> None:
    assert read([ROOT, LOG.vkey()]).document() == read([LOG.vkey(), ROOT, ROOT]).document()


def test_a_policy_may_ask_for_an_accuracy() -> None:
    """The authority of the scene states an accuracy of one second."""
    scene, digest = Scene(), sha256(b"document").digest()
    reply = scene.stamper.reply(digest)
    stated = judge(reply, digest, Terms(roots=trusted(scene.stamper.root.pem))).stamp
    assert stated is not None
    assert stated.accuracy is not None
    exact = stated.accuracy // timedelta(milliseconds=1)
    for worst, reason in ((exact, None), (exact - 1, "ACCURACY_NOT_ALLOWED")):
        trust = read([scene.stamper.root.pem, policy(worst_accuracy_ms=worst)])
        assert trust.document()["worst_accuracy_ms"] == worst
        assert check_proof(reply, ProofRequest(digest, trust, MADE)).reason == reason
    assert "worst_accuracy_ms" not in read([]).document()


@pytest.mark.parametrize(
    "fields",
    [
        ({"required": ["tsa"]}, {"required": ["rekor"]}),
        ({"revocation_required": True}, {"revocation_required": False}),
        ({"minimum_difficulty": 1}, {"minimum_difficulty": 2}),
        ({"timestamp_policies": ["1.2.3"]}, {"timestamp_policies": []}),
    ],
)
def test_two_policies_must_not_contradict_each_other(fields: tuple[dict[str, object], ...]) -> None:
    """The last of two policies won, in silence."""
    with pytest.raises(Refused, match=f"two policies state {next(iter(fields[0]))} differently"):
        read([policy(**each) for each in fields])
    assert read([policy(**fields[0])] * 2) == read([policy(**fields[0])])


@pytest.mark.parametrize("name", ["minimum_difficulty", "worst_accuracy_ms"])
def test_a_number_that_no_report_can_show_is_refused(name: str) -> None:
    """A difficulty over 2^53 passed, and the JSON of the report could not be written."""
    assert read([policy(**{name: 2**53 - 1})])
    with pytest.raises(Refused, match="whole number"):
        read([policy(**{name: 2**53})])
