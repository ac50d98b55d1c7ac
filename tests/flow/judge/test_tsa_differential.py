"""What passes here, `openssl ts -verify` accepts too: tokens with one or two deviations, and broken ones."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

from foja.pure.proofs.der import element, integer, oid_content, sequence
from foja.pure.proofs.tsa import Terms, judge, trusted
from tests.rules.authorities import (
    CODE_SIGNING,
    DAY,
    NOW,
    TIME_STAMPING,
    Certified,
    Recipe,
    certify,
    reply,
    root,
    rsa_key,
    signer,
)
from tests.vectors.shared import shared

DIGEST = sha256(b"a sheet").digest()
FEW, MANY = 150, 20_000
pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl here (apt install openssl)")


@dataclass(frozen=True)
class Case:
    """A reply, the digest it is about, the roots to trust, and the time it was made."""

    reply: bytes
    digest: bytes
    roots: bytes
    at: datetime
    algorithm: str = "sha256"


@cache
def keys() -> list[Any]:
    """Keys of every kind, strong and weak; making them is slow, so they are shared."""
    curves = (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1(), ec.SECP224R1(), ec.SECP192R1())
    made = [ec.generate_private_key(curve) for curve in curves]
    weak = [rsa.generate_private_key(65537, 1024), dsa.generate_private_key(1024)]
    return [*made, rsa_key(), *weak, ed25519.Ed25519PrivateKey.generate()]


def directory(name: str) -> bytes:
    """Return a GeneralName of the kind directoryName."""
    return element(0xA4, x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]).public_bytes())


NAMES = x509.NameConstraints([x509.DNSName("example.org")], None)
OTHER_NAMES = x509.NameConstraints(None, [x509.DirectoryName(x509.Name([]))])
ISSUERS: list[dict[str, Any]] = [
    {"usage": "key_cert_sign"},
    {"usage": "crl_sign"},
    {"usage": "digital_signature key_cert_sign crl_sign"},
    {"usage": "digital_signature"},
    {"path_length": 0},
    {"path_length": 1},
    {"ca": False},
    {"purposes": [TIME_STAMPING]},
    {"purposes": [CODE_SIGNING]},
    {"purposes": [TIME_STAMPING], "critical": False},
    {"ends": NOW - DAY},
    {"begins": NOW + DAY},
    {"key_ids": False},
    {"by": hashes.SHA384()},
    {"more": NAMES, "more_critical": False},
    {"more": NAMES},
    {"more": OTHER_NAMES, "more_critical": False},
    {"more": x509.PolicyConstraints(0, 0), "more_critical": False},
    {"more": x509.PolicyConstraints(0, 0)},
    {"more": x509.InhibitAnyPolicy(0), "more_critical": False},
]
SIGNERS: list[dict[str, Any]] = [
    *({"usage": name} for name in ("digital_signature", "content_commitment", "key_cert_sign", "crl_sign")),
    *({"usage": f"digital_signature {name}"} for name in ("key_encipherment", "key_cert_sign", "crl_sign")),
    {"usage": "digital_signature content_commitment key_agreement"},
    {"purposes": [TIME_STAMPING, CODE_SIGNING]},
    {"purposes": [CODE_SIGNING]},
    {"purposes": []},
    {"critical": False},
    {"ca": True},
    {"key_ids": False},
    {"ends": NOW - DAY},
    {"begins": NOW + DAY},
    {"more": x509.SubjectAlternativeName([x509.DNSName("tsa.example.org")]), "more_critical": False},
    {"more": NAMES, "more_critical": False},
]
TOKENS: list[dict[str, Any]] = [
    *({"identified_by": by} for by in ("sha1", "sha384", "sha512", None)),
    *({"hashed_by": by} for by in ("sha384", "sha512")),
    *({"authority": name} for name in (directory("Test TSA"), directory("test tsa"), directory("Another"))),
    {"authority": element(0x82, b"tsa.example.org")},
    {"authority": element(0x82, b"another.example.org")},
    {"nonce": None},
    {"nonce": 0},
    {"serial": -1},
    {"accuracy": b""},
    {"accuracy": sequence(integer(0), integer(999, 0x80), integer(1, 0x81))},
    {"version": 2},
    {"signers": 2},
    {"message_digest": bytes(32)},
    {"announced": "sha512"},
    {"digest": bytes(32)},
    {"algorithm": "sha512"},
    {"gen_time": NOW + 400 * DAY},
    {"gen_time": NOW.replace(microsecond=0)},
]


def generated(chance: random.Random) -> Case:
    """Return a signed reply in which up to three things differ from a usual one."""
    line: list[Certified] = []
    for number in range(chance.choice((1, 2, 2, 3))):
        key = chance.choice(keys()) if chance.random() < 0.1 else None
        how = {"ca": True, "key": key, **odd(chance, ISSUERS)}
        line.append(certify(f"Issuer {number}", line[-1] if line else None, **how))
    own = rsa_key() if chance.random() < 0.2 else None
    low = signer(line[-1], **{"key": own, **odd(chance, SIGNERS)})
    stranger = root("Stranger")
    embedded: list[Certified] = [low, *line[1:]]
    embedded += chance.choice(([], [], [], [line[0]], [stranger]))
    also = chance.choice(([], [], [], line[1:], line[:1], [stranger]))
    recipe = replace(Recipe(low, DIGEST, embedded=embedded, also_identified=also), **odd(chance, TOKENS))
    padding = chance.choice(("pkcs1", "plain", "pss"))
    trusted_roots = line[0].pem if chance.random() < 0.95 else line[-1].pem
    return Case(reply(replace(recipe, padding=padding)), DIGEST, trusted_roots, recipe.gen_time)


def odd(chance: random.Random, deviations: list[dict[str, Any]]) -> dict[str, Any]:
    return chance.choice(deviations) if chance.random() < 0.3 else {}


@cache
def genuine() -> list[Case]:
    """The tokens of others, with their roots."""
    found = [Case(reply(Recipe(signer(top := root()), DIGEST)), DIGEST, top.pem, NOW)]
    for folder, name in (("test_tsa", "response.tsr"), ("sigstage", "response-sha256.tsr")):
        chain = shared("rfc3161", folder, "ts_chain.pem").read_bytes()
        data = shared("rfc3161", folder, name).read_bytes()
        stamp = judge(data, b"", Terms(roots=())).stamp
        assert stamp is not None
        found.append(Case(data, stamp.imprint, chain, stamp.gen_time, stamp.algorithm or ""))
    return found


def broken(chance: random.Random) -> Case:
    """Return a genuine reply with a few of its bytes changed, moved or repeated."""
    case = chance.choice(genuine())
    made = bytearray(case.reply)
    for _ in range(chance.choice((1, 1, 2))):
        at, source, length = chance.randrange(len(made)), chance.randrange(len(made)), chance.randint(0, 8)
        other = chance.choice((b"", made[source : source + length], chance.randbytes(length)))
        made[at : at + chance.choice((0, length))] = other
    return replace(case, reply=bytes(made))


def cases(chance: random.Random) -> Iterator[Case]:
    while True:
        yield generated(chance)
        yield broken(chance)


def passes_here(case: Case) -> bool:
    terms = Terms(roots=trusted(case.roots), algorithm=case.algorithm, at=case.at)
    return judge(case.reply, case.digest, terms).verified


def openssl(folder: Path, case: Case) -> str:
    """Return what openssl says against a reply; empty if it accepts it."""
    (folder / "reply.tsr").write_bytes(case.reply)
    (folder / "roots.pem").write_bytes(case.roots)
    words = ["openssl", "ts", "-verify", "-in", "reply.tsr", "-digest", case.digest.hex()]
    # A certificate that is trusted here need not be self-signed: -partial_chain.
    words += ["-CAfile", "roots.pem", "-partial_chain", "-attime", str(int(case.at.timestamp()))]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stderr


@dataclass(frozen=True)
class Exempt:
    """A refusal of openssl that is not followed, and why (docs/verify.md)."""

    says: str
    applies: Callable[[Case], bool]


PSS = oid_content("1.2.840.113549.1.1.10")
EXEMPT = [Exempt("signature failure", lambda case: PSS in case.reply)]


def compare(count: int, folder: Path, seed: int) -> int:
    """Compare this many replies; return how many passed on both sides."""
    passed = 0
    for case in islice(cases(random.Random(seed)), count):
        if passes_here(case):
            refusal = openssl(folder, case)
            known = any(each.says in refusal and each.applies(case) for each in EXEMPT)
            assert not refusal or known, (refusal, case.reply.hex(), case.roots.decode())
            passed += not refusal
    return passed


def test_openssl_accepts_the_usual_ones(tmp_path: Path) -> None:
    """The comparison itself works: both sides accept the genuine tokens."""
    for case in genuine():
        assert passes_here(case)
        assert openssl(tmp_path, case) == ""


def test_a_few_tokens_pass_only_where_openssl_accepts_them(tmp_path: Path) -> None:
    """Nothing passes that openssl refuses."""
    assert compare(FEW, tmp_path, seed=random.randrange(1 << 32)) > 0


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_many_tokens_pass_only_where_openssl_accepts_them(tmp_path: Path) -> None:
    """Nothing passes that openssl refuses, over 20,000 tokens."""
    assert compare(MANY, tmp_path, seed=3161) > MANY // 100
