"""Replies that openssl makes, with its own kinds of keys and habits, are verified."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from hashlib import sha384
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from foja.pure.proofs.tsa import Terms, judge, request, trusted
from tests.rules.authorities import Certified, certify, root, rsa_key, signer

DIGEST = sha384(b"a sheet").digest()
CONFIGURATION = """
[tsa]
default_tsa = ours
[ours]
serial = serial
crypto_device = builtin
signer_cert = signer.pem
signer_key = signer.key
certs = chain.pem
signer_digest = {signer_digest}
default_policy = 1.2.3.4.1
other_policies = 1.2.3.4.5
digests = sha256, sha384, sha512
accuracy = secs:1, millisecs:500, microsecs:100
clock_precision_digits = 3
ordering = yes
tsa_name = yes
ess_cert_id_chain = {chain}
ess_cert_id_alg = {ess}
"""


def lent(folder: Path, key: Any, **words: str) -> Certified:
    """Write what openssl needs to be an authority; return the root."""
    now = datetime.now(UTC)
    valid: dict[str, Any] = {"begins": now - timedelta(days=9), "ends": now + timedelta(days=9)}
    top = root("Lab Root", **valid)
    middle = certify("Lab Issuer", top, ca=True, **valid)
    tsa = signer(middle, "Lab TSA", key=key, usage="content_commitment", **valid)
    (folder / "signer.pem").write_bytes(tsa.pem)
    (folder / "signer.key").write_bytes(
        tsa.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    (folder / "chain.pem").write_bytes(top.pem + middle.pem)
    (folder / "serial").write_text("0A\n")
    (folder / "tsa.cnf").write_text(CONFIGURATION.format(**words))
    return top


@pytest.mark.parametrize("key", ["RSA", "P-384"])
@pytest.mark.parametrize(("ess", "chain"), [("sha1", "no"), ("sha256", "yes"), ("sha512", "no")])
def test_a_reply_of_openssl_is_verified(tmp_path: Path, key: str, ess: str, chain: str) -> None:
    made = rsa_key() if key == "RSA" else generate_private_key(SECP384R1())
    top = lent(tmp_path, made, ess=ess, chain=chain, signer_digest="sha512")
    asked = request(DIGEST, nonce=99, algorithm="sha384", policy="1.2.3.4.5")
    (tmp_path / "q").write_bytes(asked)
    words = ["openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "q", "-out", "r"]
    subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    found = judge(
        (tmp_path / "r").read_bytes(),
        DIGEST,
        Terms(
            roots=trusted(top.pem),
            algorithm="sha384",
            nonce=99,
            policies=["1.2.3.4.5"],
            at=datetime.now(UTC),
        ),
    )
    assert found.verified, found.finding
    assert found.stamp is not None
    assert found.stamp.accuracy == timedelta(seconds=1, milliseconds=500, microseconds=100)
    assert len(found.stamp.chain) == 3


@pytest.mark.long
def test_no_bit_of_its_reply_may_differ_but_those_that_nobody_signs(tmp_path: Path) -> None:
    """The status may be "granted with modifications", and the copy of the root says who issued it.

    That is all that no signature covers (docs/verify.md).
    """
    top = lent(tmp_path, rsa_key(), ess="sha256", chain="no", signer_digest="sha256")
    (tmp_path / "q").write_bytes(request(DIGEST, nonce=99, algorithm="sha384"))
    words = ["openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "q", "-out", "r"]
    subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    made, roots = (tmp_path / "r").read_bytes(), trusted(top.pem)
    start = made.index(top.issuer, made.index(top.der))
    loose, status = range(start, start + len(top.issuer)), made.index(b"\x02\x01\x00") + 2
    assert status < 16, "it is the first number of the reply"
    for at, bit in product(range(len(made)), range(8)):
        changed = made[:at] + bytes((made[at] ^ 1 << bit,)) + made[at + 1 :]
        if judge(changed, DIGEST, Terms(roots=roots, algorithm="sha384", nonce=99)).verified:
            assert at in loose or (at, bit) == (status, 0), (at, bit)
