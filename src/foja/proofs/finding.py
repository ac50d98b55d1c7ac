"""What one proof shows: the words that checks, reports and events share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Status(StrEnum):
    """How far one proof goes. Only `VERIFIED` proves anything."""

    VERIFIED = "VERIFIED"
    PENDING = "PENDING"
    INDETERMINATE = "INDETERMINATE"
    INVALID = "INVALID"
    ABSENT = "ABSENT"
    UNSUPPORTED = "UNSUPPORTED"


class Reason(StrEnum):
    """Why a proof is not verified, as a program reads it. Closed: a reason is added here or nowhere."""

    MALFORMED = "MALFORMED"
    NO_TRUST_ANCHOR = "NO_TRUST_ANCHOR"
    UNKNOWN_PROOF = "UNKNOWN_PROOF"
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    AFTER_VALIDATION_TIME = "AFTER_VALIDATION_TIME"

    # Bitcoin
    NOT_ATTESTED_YET = "NOT_ATTESTED_YET"
    UNKNOWN_ATTESTATION = "UNKNOWN_ATTESTATION"
    NO_HEADER = "NO_HEADER"
    HEADER_NOT_TRUSTED = "HEADER_NOT_TRUSTED"
    MERKLE_ROOT_MISMATCH = "MERKLE_ROOT_MISMATCH"
    POW_INVALID = "POW_INVALID"

    # EVM
    BLOCK_NOT_TRUSTED = "BLOCK_NOT_TRUSTED"
    HEADER_INVALID = "HEADER_INVALID"
    TX_PROOF_INVALID = "TX_PROOF_INVALID"
    CHAIN_NOT_TRUSTED = "CHAIN_NOT_TRUSTED"
    SENDER_NOT_TRUSTED = "SENDER_NOT_TRUSTED"
    CALLDATA_MISMATCH = "CALLDATA_MISMATCH"
    BATCH_ROOT_MISMATCH = "BATCH_ROOT_MISMATCH"

    # logs
    SIGNER_NOT_TRUSTED = "SIGNER_NOT_TRUSTED"
    IDENTITY_NOT_TRUSTED = "IDENTITY_NOT_TRUSTED"
    ENTRY_MISMATCH = "ENTRY_MISMATCH"
    CHECKPOINT_UNSIGNED = "CHECKPOINT_UNSIGNED"
    INCLUSION_INVALID = "INCLUSION_INVALID"
    NO_SIGNED_TIME = "NO_SIGNED_TIME"

    # timestamps of authorities
    STATUS_NOT_GRANTED = "STATUS_NOT_GRANTED"
    CONTENT_TYPE = "CONTENT_TYPE"
    SIGNER_COUNT = "SIGNER_COUNT"
    IMPRINT_ALGORITHM = "IMPRINT_ALGORITHM"
    IMPRINT_MISMATCH = "IMPRINT_MISMATCH"
    NONCE_MISMATCH = "NONCE_MISMATCH"
    SIGNER_CERTIFICATE_MISSING = "SIGNER_CERTIFICATE_MISSING"
    UNRELATED_CERTIFICATE = "UNRELATED_CERTIFICATE"
    ESS_CERT_ID_MISMATCH = "ESS_CERT_ID_MISMATCH"
    EKU_INVALID = "EKU_INVALID"
    KEY_USAGE_INVALID = "KEY_USAGE_INVALID"
    ALGORITHM_UNSUPPORTED = "ALGORITHM_UNSUPPORTED"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    CERT_EXPIRED_AT_GENTIME = "CERT_EXPIRED_AT_GENTIME"
    CERT_NOT_YET_VALID_AT_GENTIME = "CERT_NOT_YET_VALID_AT_GENTIME"
    CHAIN_INVALID = "CHAIN_INVALID"
    ROOT_NOT_TRUSTED = "ROOT_NOT_TRUSTED"
    TRUST_ANCHOR_EXPIRED = "TRUST_ANCHOR_EXPIRED"
    POLICY_NOT_ALLOWED = "POLICY_NOT_ALLOWED"
    ACCURACY_NOT_ALLOWED = "ACCURACY_NOT_ALLOWED"
    REVOKED = "REVOKED"
    REVOCATION_UNKNOWN = "REVOCATION_UNKNOWN"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one proof shows, in a sentence and in a code, and what was not looked at."""

    evidence: str  # tsa | polygon | bitcoin | rekor
    status: Status
    reason: Reason | None = None
    detail: str = ""
    no_later_than: datetime | None = None
    according_to: str | None = None
    not_checked: tuple[str, ...] = ()
    name: str | None = None  # of the file it came in
