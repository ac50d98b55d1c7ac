"""Our judge and the library of each kind of proof, on the same proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from bitcoin.core import CBlockHeader
from cryptography import x509
from opentimestamps.core.op import OpAppend, OpPrepend, OpSHA256
from opentimestamps.core.serialize import BytesDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile
from rfc3161_client import VerifierBuilder, decode_timestamp_response
from sigstore.hashes import Hashed
from sigstore.models import Bundle, TrustedRoot
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity
from sigstore_models.common.v1 import HashAlgorithm
from sigstore_models.trustroot.v1 import TrustedRoot as TrustedRootFile

import foja
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.report import Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Status
from tests.rules import sigstores
from tests.rules.all_proofs import Proofs, all_proofs, only_tsa
from tests.rules.bundles import NOW, Stamper
from tests.rules.stamps import block, mined, written

MANY = 20
AT = NOW + timedelta(hours=1)
Verify = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same proofs, verified by us and by their library; each call verifies the next proof."""

    title: str
    peer: str
    ours: Verify
    theirs: Verify
    max_ratio: float  # the allowed ratio of our time to the time of the peer


def _ours(proofs: list[bytes], digests: list[bytes], trust: Trust) -> Verify:
    def verify(call: int) -> None:
        at = call % MANY
        found = check_proof(proofs[at], ProofRequest(digests[at], trust, AT))
        if found.status is not Status.VERIFIED:
            raise RuntimeError(f"our judge does not verify the proof: {found}")

    return verify


def tokens() -> Pair:
    """RFC 3161 tokens."""
    stamper = Stamper()
    digests = [sha256(b"%d" % each).digest() for each in range(MANY)]
    replies = [stamper.reply(each) for each in digests]
    root, signer = (x509.load_pem_x509_certificate(each.pem) for each in (stamper.root, stamper.signer))
    verifier = VerifierBuilder().add_root_certificate(root).tsa_certificate(signer).build()

    def theirs(call: int) -> None:
        at = call % MANY
        verifier.verify(decode_timestamp_response(replies[at]), digests[at])

    ours = _ours(replies, digests, read([stamper.root.pem]))
    return Pair("a timestamp", "rfc3161-client", ours, theirs, 3)


def stamps() -> Pair:
    """`.ots` files, each with a Bitcoin block."""
    digests = [sha256(b"%d" % each).digest() for each in range(MANY)]
    steps = [
        step for each in range(12) for step in (OpPrepend(b"left%d" % each), OpAppend(b"r" * 32), OpSHA256())
    ]
    proofs, headers = [], []
    for height, digest in enumerate(digests):
        message = digest
        for step in steps:
            message = step(message)
        proofs.append(written((steps, block(height)), digest=digest))
        headers.append(mined(message, height))

    def theirs(call: int) -> None:
        at = call % MANY
        stamp = DetachedTimestampFile.deserialize(BytesDeserializationContext(proofs[at])).timestamp
        for message, attestation in stamp.all_attestations():
            attestation.verify_against_blockheader(message, CBlockHeader.deserialize(headers[at].data))

    trust = Trust(headers=tuple((each.height, each.data) for each in headers), minimum_difficulty=0)
    return Pair("an .ots file", "opentimestamps", _ours(proofs, digests, trust), theirs, 1.5)


def bundles() -> Pair:
    """Sigstore bundles with certificates, in Rekor version 1."""
    instance = sigstores.Instance()
    root, certificate = instance.trusted_root(), instance.certificate()
    proofs = [instance.bundle(version=1, certificate=certificate) for _ in range(MANY)]
    verifier = Verifier(trusted_root=TrustedRoot(TrustedRootFile.from_json(root)))
    policy = Identity(identity=sigstores.IDENTITY)
    hashed = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=sigstores.DIGEST)

    def theirs(call: int) -> None:
        verifier.verify_artifact(hashed, Bundle.from_json(proofs[call % MANY]), policy)

    ours = _ours(proofs, [sigstores.DIGEST] * MANY, read([root]))
    return Pair("a Sigstore bundle", "sigstore", ours, theirs, 1.5)


def containers(make: Callable[[], Proofs]) -> Verify:
    """Verify whole bundles with `foja.verify`."""
    made = [make() for _ in range(2)]

    def verify(call: int) -> None:
        proofs = made[call % len(made)]
        report = foja.verify(proofs.bundle, proofs.trust, AT)
        if report.verdict is not Verdict.TOTAL_PASSED:
            raise RuntimeError(f"a bundle does not pass: {report.json()!r}")

    return verify


PAIRS = (tokens, stamps, bundles)
CONTAINERS = {"a timestamp only": (only_tsa, 150), "all four kinds of proof": (all_proofs, 50)}
