"""What one proof shows: the terms that checks, reports and events share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from foja.errors import Tampered
from foja.pure.proofs.contents import Contents
from foja.pure.proofs.notices import CHAIN_NOTICE, LOCAL_NOTICE, OLD_CERTIFICATE, TEST_NOTICE

MAX_TEXT = 1000


class Status(StrEnum):
    """How far one proof goes. Only `VERIFIED` proves anything."""

    VERIFIED = "VERIFIED"
    PENDING = "PENDING"
    INDETERMINATE = "INDETERMINATE"
    INVALID = "INVALID"
    ABSENT = "ABSENT"
    UNSUPPORTED = "UNSUPPORTED"


class Reason(StrEnum):
    """Why a proof is not verified, as a code for programs. Closed: every reason is defined here."""

    MALFORMED = "MALFORMED"
    NO_TRUST_ANCHOR = "NO_TRUST_ANCHOR"
    UNKNOWN_PROOF = "UNKNOWN_PROOF"
    TOO_LARGE = "TOO_LARGE"
    TOO_COSTLY = "TOO_COSTLY"
    NOT_JUDGED = "NOT_JUDGED"
    UNKNOWN_DOMAIN = "UNKNOWN_DOMAIN"
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    AFTER_VALIDATION_TIME = "AFTER_VALIDATION_TIME"
    WEAK_HASH = "WEAK_HASH"
    GROUP_MISMATCH = "GROUP_MISMATCH"

    # the container and its ledger
    ZIP_LAYOUT = "ZIP_LAYOUT"
    ZIP_BOMB = "ZIP_BOMB"
    ZIP_CHECKSUM = "ZIP_CHECKSUM"
    DUPLICATE_ENTRY = "DUPLICATE_ENTRY"
    LOCAL_HEADER_MISMATCH = "LOCAL_HEADER_MISMATCH"
    PATH_TRAVERSAL = "PATH_TRAVERSAL"
    SYMLINK = "SYMLINK"
    XML_DTD = "XML_DTD"
    XML_ENTITY = "XML_ENTITY"
    NON_CANONICAL = "NON_CANONICAL"
    UNKNOWN_PROFILE = "UNKNOWN_PROFILE"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"
    UNREFERENCED_ENTRY = "UNREFERENCED_ENTRY"
    MISSING_ENTRY = "MISSING_ENTRY"
    MANIFEST_DIGEST = "MANIFEST_DIGEST"
    LEDGER_GAP = "LEDGER_GAP"
    LEDGER_BODY = "LEDGER_BODY"
    LEDGER_HEAD = "LEDGER_HEAD"
    BODY_ERASED = "BODY_ERASED"
    NAME_MISMATCH = "NAME_MISMATCH"
    NO_CHECKPOINT = "NO_CHECKPOINT"
    CHECKPOINT_MISMATCH = "CHECKPOINT_MISMATCH"
    WITNESS_MISMATCH = "WITNESS_MISMATCH"
    REQUIRED_MISMATCH = "REQUIRED_MISMATCH"
    EVIDENCE_NOT_RECORDED = "EVIDENCE_NOT_RECORDED"
    EVIDENCE_MISMATCH = "EVIDENCE_MISMATCH"
    TRANSCRIPT_MISMATCH = "TRANSCRIPT_MISMATCH"
    REORGED = "REORGED"
    NOT_INCLUDED = "NOT_INCLUDED"
    SEAL_ORDER = "SEAL_ORDER"
    RENEWAL_NOT_VERIFIED = "RENEWAL_NOT_VERIFIED"

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
    COSIGNATURE_INVALID = "COSIGNATURE_INVALID"
    COSIGNERS_MISSING = "COSIGNERS_MISSING"
    MONITOR_INVALID = "MONITOR_INVALID"
    MONITOR_CONTRADICTS = "MONITOR_CONTRADICTS"
    NOT_VOUCHED = "NOT_VOUCHED"
    LOG_INCONSISTENT = "LOG_INCONSISTENT"
    NO_SIGNED_TIME = "NO_SIGNED_TIME"
    NO_INCLUSION_PROOF = "NO_INCLUSION_PROOF"
    CERTIFICATE_NOT_LOGGED = "CERTIFICATE_NOT_LOGGED"

    # signatures over the document
    NOT_CHECKED = "NOT_CHECKED"

    # timestamps of authorities
    STATUS_NOT_GRANTED = "STATUS_NOT_GRANTED"
    CONTENT_TYPE = "CONTENT_TYPE"
    SIGNER_COUNT = "SIGNER_COUNT"
    IMPRINT_ALGORITHM = "IMPRINT_ALGORITHM"
    IMPRINT_MISMATCH = "IMPRINT_MISMATCH"
    NONCE_MISMATCH = "NONCE_MISMATCH"
    BACKDATED = "BACKDATED"
    SIGNER_CERTIFICATE_MISSING = "SIGNER_CERTIFICATE_MISSING"
    UNRELATED_CERTIFICATE = "UNRELATED_CERTIFICATE"
    ESS_CERT_ID_MISMATCH = "ESS_CERT_ID_MISMATCH"
    EKU_INVALID = "EKU_INVALID"
    KEY_USAGE_INVALID = "KEY_USAGE_INVALID"
    ALGORITHM_UNSUPPORTED = "ALGORITHM_UNSUPPORTED"
    ALGORITHM_EXPIRED = "ALGORITHM_EXPIRED"
    EXTENSION_UNSUPPORTED = "EXTENSION_UNSUPPORTED"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    CERT_EXPIRED_AT_GENTIME = "CERT_EXPIRED_AT_GENTIME"
    CERT_NOT_YET_VALID_AT_GENTIME = "CERT_NOT_YET_VALID_AT_GENTIME"
    CHAIN_INVALID = "CHAIN_INVALID"
    NAME_CONSTRAINTS = "NAME_CONSTRAINTS"
    WEAK_KEY = "WEAK_KEY"
    TSA_NAME_MISMATCH = "TSA_NAME_MISMATCH"
    ROOT_NOT_TRUSTED = "ROOT_NOT_TRUSTED"
    TRUST_ANCHOR_EXPIRED = "TRUST_ANCHOR_EXPIRED"
    POLICY_NOT_ALLOWED = "POLICY_NOT_ALLOWED"
    ACCURACY_NOT_ALLOWED = "ACCURACY_NOT_ALLOWED"
    REVOKED = "REVOKED"
    REVOCATION_UNKNOWN = "REVOCATION_UNKNOWN"


@dataclass(frozen=True, slots=True)
class TrustItem:
    """A root, a key or a block that a proof rests on, or that is missing to judge it."""

    kind: str  # root | log | cosigner | monitor | sigstore | signer | block | header
    name: str
    fingerprint: str | None = None  # as its own tool shows it; None: the proof does not say it


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event of the history that was judged: its number, its kind, and its time by the ledger's clock."""

    seq: int
    kind: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """What one proof shows, as a sentence and as a code, and what was not checked."""

    evidence: str  # tsa | polygon | bitcoin | rekor | signature | monitor
    status: Status
    reason: Reason | None = None
    detail: str = ""
    no_later_than: datetime | None = None
    according_to: str | None = None
    not_checked: tuple[str, ...] = ()
    name: str | None = None  # of the file it came in
    rests_on: tuple[TrustItem, ...] = ()  # what you trust; only of a verified finding
    missing: tuple[TrustItem, ...] = ()  # what you would have to trust; only of an undecided one
    history: tuple[ShownEvent, ...] = ()  # of a ledger: some events by number, always the first and the last
    contents: Contents | None = None  # what these events say, of an event, an export or a conversation
    remarks: tuple[str, ...] = ()  # by which time it was judged, and what has ended or was revoked since

    @property
    def local(self) -> bool:
        """Whether its time is that of a local authority, which proves nothing to others."""
        return LOCAL_NOTICE in self.not_checked

    @property
    def of_test_network(self) -> bool:
        """Whether its block is one of a test network, which proves nothing to others."""
        return TEST_NOTICE in self.not_checked

    @property
    def of_unknown_chain(self) -> bool:
        """Whether its block is one of a chain that is not known as a public main network."""
        return CHAIN_NOTICE in self.not_checked

    @property
    def outlived(self) -> bool:
        """Whether a certificate ended or was revoked after it was made, and nothing newer proves it."""
        return any(each.startswith(OLD_CERTIFICATE) for each in self.remarks)

    @property
    def reserved(self) -> bool:
        """Whether its time counts only with a reservation: it proves nothing to others."""
        return self.local or self.of_test_network or self.of_unknown_chain

    def __post_init__(self) -> None:
        for field in ("detail", "according_to", "name"):
            if len(text := getattr(self, field) or "") > MAX_TEXT:  # parts of it may come from the input
                object.__setattr__(self, field, text[:MAX_TEXT] + "…")

    def weakened(self, reason: Reason, but: str) -> Finding:
        """Return a verified finding as one that proves nothing, for this reason; others are unchanged."""
        if self.status is not Status.VERIFIED:
            return self
        changed = replace(self, status=Status.INDETERMINATE, reason=reason, detail=f"{self.detail}, {but}")
        return replace(changed, no_later_than=None, according_to=None, rests_on=())


class Flaw(Exception):
    """A fault that ends a check and becomes its finding."""

    def __init__(
        self,
        reason: Reason,
        detail: str,
        status: Status = Status.INVALID,
        missing: tuple[TrustItem, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.status, self.missing = reason, detail, status, missing

    def finding(self, evidence: str) -> Finding:
        """Return the finding about this evidence."""
        return Finding(evidence, self.status, self.reason, self.detail, missing=self.missing)


@contextmanager
def flaw_if_tampered(reason: Reason) -> Iterator[None]:
    """Turn `Tampered` into a flaw with this reason."""
    try:
        yield
    except Tampered as error:
        raise Flaw(reason, str(error)) from None
