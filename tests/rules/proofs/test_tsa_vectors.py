"""Real tokens of other authorities get the right findings."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import new as digest_by

import pytest

from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import Checked, Terms, Timestamp, judge, read_request, trusted
from tests.vectors.shared import shared

TODAY = datetime(2026, 11, 16, tzinfo=UTC)
HELLO = b"hello"


def checked(
    folder: str, name: str, *, data: bytes | None = None, at: datetime = TODAY, whole: bool = False
) -> Checked:
    """Check a vector against its root; the rest of its chain is trusted only if `whole`."""
    *others, root = trusted(shared("rfc3161", folder, "ts_chain.pem").read_bytes())
    reply = shared("rfc3161", folder, name).read_bytes()
    stamp = read_timestamp(reply)
    digest = stamp.imprint if data is None else digest_by(stamp.algorithm or "", data).digest()
    roots, between = ((*others, root), ()) if whole else ((root,), tuple(others))
    return judge(
        reply, digest, Terms(roots=roots, intermediates=between, algorithm=stamp.algorithm or "", at=at)
    )


def read_timestamp(reply: bytes) -> Timestamp:
    stamp = judge(reply, b"", Terms(roots=())).stamp
    assert stamp is not None
    return stamp


@pytest.mark.parametrize("whole", [False, True], ids=["root trusted", "whole chain trusted"])
@pytest.mark.parametrize(
    ("folder", "name", "data"),
    [
        ("test_tsa", "response.tsr", HELLO),
        ("sigstage", "response-sha256.tsr", HELLO),
        ("sigstage", "response-sha384.tsr", HELLO),
        ("sigstage", "response-sha512.tsr", HELLO),
        ("sigstage", "response-no-embedded-cert.tsr", None),
    ],
)
def test_a_genuine_token_is_verified(folder: str, name: str, data: bytes | None, whole: bool) -> None:
    found = checked(folder, name, data=data, whole=whole)
    assert found.finding.status is Status.VERIFIED, found.finding


@pytest.mark.parametrize("whole", [False, True], ids=["root trusted", "whole chain trusted"])
@pytest.mark.parametrize(
    ("folder", "name", "reason"),
    [
        ("sigstage", "response-invalid-signature.tsr", Reason.SIGNATURE_INVALID),
        ("test_tsa", "response-injected-certs.tsr", Reason.UNRELATED_CERTIFICATE),
        ("test_tsa", "other_response.tsr", Reason.NO_TRUST_ANCHOR),
        ("sigstore.mock", "response-expired.tsr", Reason.TRUST_ANCHOR_EXPIRED),
    ],
)
def test_a_token_that_proves_nothing_is_refused(folder: str, name: str, reason: Reason, whole: bool) -> None:
    found = checked(folder, name, whole=whole)
    assert found.finding.status is not Status.VERIFIED
    assert found.finding.reason is reason


def test_a_token_was_good_while_its_root_was() -> None:
    payload = shared("rfc3161", "sigstore.mock", "payload").read_bytes()
    then = datetime(2023, 6, 1, tzinfo=UTC)
    assert checked("sigstore.mock", "response-expired.tsr", data=payload, at=then).verified


def test_without_the_chain_the_signer_is_unknown() -> None:
    [*_, root] = trusted(shared("rfc3161", "sigstage", "ts_chain.pem").read_bytes())
    reply = shared("rfc3161", "sigstage", "response-no-embedded-cert.tsr").read_bytes()
    found = judge(reply, read_timestamp(reply).imprint, Terms(roots=[root], algorithm="sha256"))
    assert found.finding.reason is Reason.SIGNER_CERTIFICATE_MISSING
    assert found.finding.status is Status.INDETERMINATE


def test_without_trust_nothing_passes() -> None:
    reply = shared("rfc3161", "test_tsa", "response.tsr").read_bytes()
    found = judge(reply, read_timestamp(reply).imprint, Terms(roots=(), algorithm="sha512"))
    assert (found.finding.status, found.finding.reason) == (Status.INDETERMINATE, Reason.NO_TRUST_ANCHOR)


def test_a_request_of_another_client_is_read() -> None:
    request = read_request(shared("rfc3161", "test_tsa", "request.der").read_bytes())
    stamp = read_timestamp(shared("rfc3161", "test_tsa", "response.tsr").read_bytes())
    assert (request.algorithm, request.imprint) == (stamp.algorithm, stamp.imprint)
    assert request.nonce == stamp.nonce
    assert request.certificate
