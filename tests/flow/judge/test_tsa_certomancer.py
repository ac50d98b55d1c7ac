"""Tokens, lists and answers of another implementation: certomancer, in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from asn1crypto import ocsp, tsp
from certomancer.registry import ArchLabel, CertLabel, CertomancerConfig, ServiceLabel
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import Checked, Terms, judge, request, trusted

DIGEST = sha256(b"a sheet").digest()
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
CONFIGURATION = """
external-url-prefix: "http://127.0.0.1"
keysets:
  lab:
    keys:
      root: {path: root.key}
      tsa: {path: tsa.key}
      retired: {path: retired.key}
      spoilt: {path: spoilt.key}
pki-architectures:
  lab:
    keyset: lab
    entities:
      root: {common-name: Lab Root}
      tsa: {common-name: Lab TSA}
      retired: {common-name: Retired TSA}
      spoilt: {common-name: Spoilt TSA}
    certs:
      root:
        subject: root
        issuer: root
        validity: &always {valid-from: "2020-01-01T00:00:00+0000", valid-to: "2050-01-01T00:00:00+0000"}
        profiles: [{id: simple-ca}]
      tsa:
        &tsa
        subject: tsa
        issuer: root
        validity: *always
        extensions:
          - {id: key_usage, critical: true, smart-value: {schema: key-usage, params: [digital_signature]}}
          - {id: extended_key_usage, critical: true, value: [time_stamping]}
      retired:
        <<: *tsa
        subject: retired
        revocation: {revoked-since: "2026-06-01T18:00:00+0000", reason: cessation_of_operation}
      spoilt:
        <<: *tsa
        subject: spoilt
        revocation: {revoked-since: "2026-06-01T18:00:00+0000", reason: key_compromise}
    services:
      time-stamping:
        tsa: {signing-cert: tsa}
        retired: {signing-cert: retired}
        spoilt: {signing-cert: spoilt}
      crl-repo: {root: {for-issuer: root, simulated-update-schedule: "P1D"}}
      ocsp: {root: {for-issuer: root, responder-cert: root, signing-key: root}}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lab")
    for name in ("root", "tsa", "retired", "spoilt"):
        key = generate_private_key(SECP256R1())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"{name}.key").write_bytes(pem)
    config = folder / "certomancer.yml"
    config.write_text(CONFIGURATION)
    return CertomancerConfig.from_file(str(config), str(folder)).get_pki_arch(ArchLabel("lab"))


def stamped(lab: Any, name: str, **terms: Any) -> Checked:
    asked = tsp.TimeStampReq.load(request(DIGEST, nonce=5))
    authority = lab.service_registry.summon_timestamper(ServiceLabel(name), at_time=NOW)
    reply = authority.request_tsa_response(asked).dump()
    roots = trusted(lab.get_cert(CertLabel("root")).dump())
    return judge(reply, DIGEST, Terms(roots=roots, nonce=5, require_revocation=True, **terms))


def listed(lab: Any) -> bytes:
    data: bytes = lab.service_registry.get_crl(ServiceLabel("root"), at_time=LATER).dump()
    return data


def answered(lab: Any, name: str) -> bytes:
    root, about = lab.get_cert(CertLabel("root")), lab.get_cert(CertLabel(name))
    cert_id = ocsp.CertId(
        {
            "hash_algorithm": {"algorithm": "sha1"},
            "issuer_name_hash": root.subject.sha1,
            "issuer_key_hash": root.public_key.sha1,
            "serial_number": about.serial_number,
        }
    )
    asked = ocsp.OCSPRequest({"tbs_request": {"request_list": [{"req_cert": cert_id}]}})
    responder = lab.service_registry.summon_responder(ServiceLabel("root"), at_time=LATER)
    data: bytes = responder.build_ocsp_response(asked).dump()
    return data


def test_without_evidence_nothing_is_known(lab: Any) -> None:
    finding = stamped(lab, "tsa").finding
    assert (finding.status, finding.reason) == (Status.INDETERMINATE, Reason.REVOCATION_UNKNOWN)


@pytest.mark.parametrize("source", ["list", "answer"])
@pytest.mark.parametrize(("name", "reason"), [("tsa", None), ("retired", None), ("spoilt", Reason.REVOKED)])
def test_what_it_says_about_revocation_is_understood(
    lab: Any, name: str, reason: Reason | None, source: str
) -> None:
    terms = {"crls": [listed(lab)]} if source == "list" else {"ocsps": [answered(lab, name)]}
    finding = stamped(lab, name, **terms).finding
    assert finding.reason is reason, finding
    # Nothing proves that the token is older than the compromise: it is not called invalid.
    assert finding.status is (Status.INDETERMINATE if reason else Status.VERIFIED)


def test_a_stamp_of_its_is_read_whole(lab: Any) -> None:
    stamp = stamped(lab, "tsa").stamp
    assert stamp is not None
    assert (stamp.gen_time, stamp.nonce, stamp.imprint) == (NOW, 5, DIGEST)
