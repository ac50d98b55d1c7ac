"""Timestamps of authorities (RFC 3161): send a digest, check the reply offline.

    checked = judge(reply, digest, Terms(trusted(pem), nonce=nonce))
    checked.finding.status, checked.stamp.gen_time

Nothing embedded in a token is trusted because it is embedded, and no input makes `judge` raise.
"""

from foja.pure.proofs.notices import LOCAL_NOTICE
from foja.pure.proofs.tsa.certificate import Certificate, revocation_lists, trusted
from foja.pure.proofs.tsa.check import Checked, Terms, Timestamp, judge
from foja.pure.proofs.tsa.oids import ALGORITHMS, LOCAL_POLICY
from foja.pure.proofs.tsa.request import TimestampRequest, read_request, request

__all__ = [
    "ALGORITHMS",
    "LOCAL_NOTICE",
    "LOCAL_POLICY",
    "Certificate",
    "Checked",
    "Terms",
    "Timestamp",
    "TimestampRequest",
    "judge",
    "read_request",
    "request",
    "revocation_lists",
    "trusted",
]
