"""Signatures that openssl makes are checked as openssl does."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.signatures import Signature, SignerTerms, check, judge
from foja.pure.proofs.tsa import trusted
from tests.rules.authorities import Certified, certify, root, rsa_key
from tests.rules.signatures import public

CONTENT = b"a contract\r\nwith two lines\n"
WITNESS = sha256(CONTENT).digest()
NOW = datetime.now(UTC)
VALID: dict[str, Any] = {"begins": NOW - timedelta(days=9), "ends": NOW + timedelta(days=9)}
KEYS = {"P-256": ec.generate_private_key(ec.SECP256R1()), "RSA": rsa_key()}


def openssl(folder: Path, *words: str) -> bytes:
    found = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr.decode()
    return found.stdout


def write(folder: Path, key: Any, **how: Any) -> tuple[Certified, Certified]:
    """Write a document, a key and its certificate; return the root and the signer."""
    top = root("Lab Root", **VALID)
    signer = certify("Ana", top, key=key, usage="digital_signature", **{**VALID, **how})
    (folder / "contract.txt").write_bytes(CONTENT)
    (folder / "digest.bin").write_bytes(WITNESS)
    (folder / "ana.pem").write_bytes(signer.pem)
    (folder / "root.pem").write_bytes(top.pem)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ana.key").write_bytes(private)
    return top, signer


def sign(folder: Path, *more: str) -> Signature:
    made = openssl(
        folder,
        *("cms", "-sign", "-binary", "-outform", "DER", "-in", "contract.txt"),
        *("-signer", "ana.pem", "-inkey", "ana.key", *more),
    )
    (folder / "contract.p7s").write_bytes(made)
    return Signature("cms", made)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "more", [(), ("-cades",), ("-keyid",), ("-nosmimecap",), ("-certfile", "root.pem")], ids=" ".join
)
def test_a_detached_signature_is_verified(key: str, more: tuple[str, ...], tmp_path: Path) -> None:
    top, _ = write(tmp_path, KEYS[key])
    signature = sign(tmp_path, *more)
    openssl(
        tmp_path,
        *("cms", "-verify", "-binary", "-inform", "DER", "-in", "contract.p7s"),
        *("-content", "contract.txt", "-CAfile", "root.pem", "-out", "verified.txt"),
    )
    found = judge(signature, WITNESS, NOW, SignerTerms(roots=trusted(top.der)))
    assert (found.status, found.according_to) == (Status.VERIFIED, "CN=Ana")
    other = judge(signature, sha256(b"another").digest(), NOW, SignerTerms(roots=trusted(top.der)))
    assert (other.status, other.reason) == (Status.INVALID, Reason.DIGEST_MISMATCH)


def test_padding_with_salt_is_verified(tmp_path: Path) -> None:
    write(tmp_path, KEYS["RSA"])
    signature = sign(tmp_path, "-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:32")
    assert check(signature, WITNESS, NOW).finding.status is Status.VERIFIED


@pytest.mark.parametrize(
    ("more", "status", "reason"),
    [
        (("-noattr",), Status.INVALID, Reason.MALFORMED),
        (("-nodetach",), Status.UNSUPPORTED, Reason.CONTENT_TYPE),
        (("-md", "sha512"), Status.UNSUPPORTED, Reason.ALGORITHM_UNSUPPORTED),
        (("-nocerts",), Status.INDETERMINATE, Reason.SIGNER_CERTIFICATE_MISSING),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_other_forms_are_not_verified(
    more: tuple[str, ...], status: Status, reason: Reason, tmp_path: Path
) -> None:
    write(tmp_path, KEYS["P-256"])
    found = check(sign(tmp_path, *more), WITNESS, NOW).finding
    assert (found.status, found.reason) == (status, reason)


def test_an_expired_certificate_and_a_short_key_are_not_verified(tmp_path: Path) -> None:
    old = {"begins": NOW - timedelta(days=9), "ends": NOW - timedelta(days=1)}
    write(tmp_path, KEYS["P-256"], **old)
    found = check(sign(tmp_path), WITNESS, NOW).finding
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.CERT_EXPIRED_AT_GENTIME)
    write(tmp_path, rsa_key(1024))
    found = check(sign(tmp_path), WITNESS, NOW).finding
    assert (found.status, found.reason) == (Status.UNSUPPORTED, Reason.ALGORITHM_UNSUPPORTED)


@pytest.mark.parametrize("key", KEYS)
def test_dgst_signs_the_document(key: str, tmp_path: Path) -> None:
    write(tmp_path, KEYS[key])
    made = openssl(tmp_path, "dgst", "-sha256", "-sign", "ana.key", "contract.txt")
    assert check(Signature("raw", made, public(KEYS[key])), WITNESS, NOW).finding.status is Status.VERIFIED


def test_pkeyutl_signs_the_digest(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "ed.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "digest.bin").write_bytes(WITNESS)
    made = openssl(tmp_path, "pkeyutl", "-sign", "-rawin", "-inkey", "ed.key", "-in", "digest.bin")
    assert check(Signature("raw", made, public(key)), WITNESS, NOW).finding.status is Status.VERIFIED
