"""The acts of a server, as the library has them. Written by `make generate`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from foja.client.transport import Transport, new_key
from foja.engine.ledger.event import Event, Transient
from foja.interfaces.answers.access import Me, NameList
from foja.interfaces.answers.alerts import AlertList, NoticeList
from foja.interfaces.answers.anchors import Disabled, Enabled, Flushed
from foja.interfaces.answers.documents import (
    AddedBatch,
    AddedDocument,
    Digest,
    DocumentPage,
    DocumentTrust,
    ProofList,
)
from foja.interfaces.answers.images import ImageList, ImageView, ProductPage, RenderedCount
from foja.interfaces.answers.log import AnchoredList, LogHead, TrustRoots
from foja.interfaces.answers.maintenance import (
    CandidateList,
    CleanupReport,
    DeletedObjects,
    RestoredObject,
    Retried,
)
from foja.interfaces.answers.streams import (
    ApprovalList,
    BatchAnswer,
    BatchEvent,
    ConversationPage,
    Deadline,
    DecidedApproval,
    DomainList,
    DomainStreamState,
    ErasedEvent,
    FirstEvent,
    OpenedConversation,
    ProvenEvent,
    Reservation,
    StreamPage,
    StreamState,
    VoidedSlot,
)
from foja.pure.models.access.view import CreatedKey, KeyList, Revoked, RotatedKey, SessionList
from foja.pure.models.anchors.view import BatchPage, BatchView, CostList, NetworkList
from foja.pure.models.conversations.approvals import Approval
from foja.pure.models.documents.view import Erasure, ShownDocument
from foja.pure.models.images.rendering import RenderState
from foja.pure.models.jobs.view import ChangedJobs, EnqueuedJob, JobPage, JobView, PausedType, WaitingTypes
from foja.pure.models.system.view import RunResult
from foja.pure.models.webhooks.view import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryWithAttempts,
    RemovedWebhook,
    Replayed,
    Webhook,
    WebhookList,
)


class ConversationsActs:
    """What callers can do about conversations."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        conversation_id: UUID | None = None,
        event: FirstEvent | None = None,
        idempotency_key: str | None = None,
    ) -> OpenedConversation:
        """Open a conversation. It exists from its first event on, which may come with it."""
        return await self._transport.act(
            "POST",
            "/v1/conversations",
            body={"id": conversation_id, "event": event},
            key=idempotency_key or new_key(),
            answer=OpenedConversation,
        )

    async def list(
        self,
        *,
        before: UUID | None = None,
        limit: int = 100,
    ) -> ConversationPage:
        """List conversations, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/conversations",
            query={"before": before, "limit": limit},
            answer=ConversationPage,
        )


class ConversationActs:
    """What callers can do with one conversation; `names` are those in its address."""

    def __init__(self, transport: Transport, names: Mapping[str, object]) -> None:
        self._transport = transport
        self._names = names

    async def state(
        self,
    ) -> StreamState:
        """Return how many events a stream has, how many are sealed, and how many numbers were voided."""
        return await self._transport.act(
            "GET",
            "/v1/conversations/{conversation_id}",
            path={**self._names},
            answer=StreamState,
        )

    async def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        expected_seq: int | None = None,
        actor: str | None = None,
        v: int = 1,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event; it cannot be changed. The same Idempotency-Key again returns the first."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/events",
            path={**self._names},
            body={"kind": kind, "payload": payload, "expected_seq": expected_seq, "actor": actor, "v": v},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def append_many(
        self,
        events: list[BatchEvent],
        *,
        atomic: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchAnswer:
        """Append many events, all or none, or each by itself; see the result of each."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/events/batch",
            path={**self._names},
            body={"events": events, "atomic": atomic},
            key=idempotency_key or new_key(),
            answer=BatchAnswer,
        )

    async def prove(
        self,
        seq: int,
    ) -> ProvenEvent:
        """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
        return await self._transport.act(
            "GET",
            "/v1/conversations/{conversation_id}/events/{seq}/proof",
            path={**self._names, "seq": seq},
            answer=ProvenEvent,
        )

    async def erase(
        self,
        seq: int,
        *,
        reason: str,
    ) -> ErasedEvent:
        """Erase the body of an event. Its hash and every proof of it stay valid."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/events/{seq}/erase",
            path={**self._names, "seq": seq},
            body={"reason": reason},
            answer=ErasedEvent,
        )

    async def protect(
        self,
        required_evidence: str | Sequence[str] = "tsa",
        *,
        idempotency_key: str | None = None,
    ) -> AddedDocument:
        """Add the sealed events as a document and request evidence of it."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/protect",
            path={**self._names},
            body={"required_evidence": required_evidence},
            key=idempotency_key or new_key(),
            answer=AddedDocument,
        )

    async def reserve(
        self,
        count: int,
        *,
        ttl: float = 30,
        intents: Sequence[Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Reservation:
        """Reserve the next numbers, to be filled in any order before the deadline."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/slots",
            path={**self._names},
            body={"count": count, "ttl": ttl, "intents": intents},
            key=idempotency_key or new_key(),
            answer=Reservation,
        )

    async def extend(
        self,
        token: str,
        *,
        ttl: float,
    ) -> Deadline:
        """Extend the deadline of the slots that are still open."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/slots/{token}/extend",
            path={**self._names, "token": token},
            body={"ttl": ttl},
            answer=Deadline,
        )

    async def fill(
        self,
        token: str,
        seq: str,
        kind: str,
        payload: Mapping[str, Any],
        *,
        actor: str | None = None,
        v: int = 1,
        idempotency_key: str | None = None,
    ) -> Event:
        """Fill a slot with its event. The same event again returns the first, with 200."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/slots/{token}/{seq}",
            path={**self._names, "token": token, "seq": seq},
            body={"kind": kind, "payload": payload, "actor": actor, "v": v},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def void(
        self,
        token: str,
        seq: str,
        *,
        reason: str,
    ) -> VoidedSlot:
        """Void a slot; the conversation records the reason."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/slots/{token}/{seq}/void",
            path={**self._names, "token": token, "seq": seq},
            body={"reason": reason},
            answer=VoidedSlot,
        )

    async def emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        turn: str | int | None = None,
        block_index: int | None = None,
        event_index: int | None = None,
        v: int = 1,
    ) -> Transient:
        """Send a transient event to the current followers; it is not numbered and not stored."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/transients",
            path={**self._names},
            body={
                "kind": kind,
                "payload": payload,
                "turn": turn,
                "block_index": block_index,
                "event_index": event_index,
                "v": v,
            },
            safe=False,
            answer=Transient,
        )

    async def request_approval(
        self,
        tool_name: str,
        tool_args: Mapping[str, Any],
        *,
        ttl: float = 300,
        approval_id: str | None = None,
        tool_use_id: str | None = None,
        policy: str | None = None,
        turn: str | int | None = None,
        block_index: int | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Approval:
        """Request an approval of a tool use. The same approval_id again returns the first request."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/approvals",
            path={**self._names},
            body={
                "tool_name": tool_name,
                "tool_args": tool_args,
                "ttl": ttl,
                "approval_id": approval_id,
                "tool_use_id": tool_use_id,
                "policy": policy,
                "turn": turn,
                "block_index": block_index,
                "actor": actor,
            },
            key=idempotency_key or new_key(),
            answer=Approval,
        )

    async def approvals(
        self,
    ) -> ApprovalList:
        """List the approvals of a conversation in order, with their states."""
        return await self._transport.act(
            "GET",
            "/v1/conversations/{conversation_id}/approvals",
            path={**self._names},
            answer=ApprovalList,
        )

    async def approval(
        self,
        approval_id: str,
    ) -> Approval:
        """Return one approval with its state."""
        return await self._transport.act(
            "GET",
            "/v1/conversations/{conversation_id}/approvals/{approval_id}",
            path={**self._names, "approval_id": approval_id},
            answer=Approval,
        )

    async def decide(
        self,
        approval_id: str,
        decision: str,
        *,
        reason: str | None = None,
        actor: str | None = None,
    ) -> DecidedApproval:
        """Decide. The first decision or expiry wins and is returned; `mine` says whether it is yours."""
        return await self._transport.act(
            "POST",
            "/v1/conversations/{conversation_id}/approvals/{approval_id}",
            path={**self._names, "approval_id": approval_id},
            body={"decision": decision, "reason": reason, "actor": actor},
            answer=DecidedApproval,
        )


class StreamsActs:
    """What callers can do about streams."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def domains(
        self,
    ) -> DomainList:
        """List the registered domains with their kinds."""
        return await self._transport.act(
            "GET",
            "/v1/streams",
            answer=DomainList,
        )

    async def list(
        self,
        domain: str,
        *,
        before: UUID | None = None,
        limit: int = 100,
    ) -> StreamPage:
        """List the streams of a domain, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/streams/{domain}",
            path={"domain": domain},
            query={"before": before, "limit": limit},
            answer=StreamPage,
        )


class StreamActs:
    """What callers can do with one stream; `names` are those in its address."""

    def __init__(self, transport: Transport, names: Mapping[str, object]) -> None:
        self._transport = transport
        self._names = names

    async def state(
        self,
    ) -> DomainStreamState:
        """Return how many events a stream has, and how many are sealed."""
        return await self._transport.act(
            "GET",
            "/v1/streams/{domain}/{stream_id}",
            path={**self._names},
            answer=DomainStreamState,
        )

    async def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        expected_seq: int | None = None,
        actor: str | None = None,
        v: int = 1,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event; it cannot be changed. The same Idempotency-Key again returns the first."""
        return await self._transport.act(
            "POST",
            "/v1/streams/{domain}/{stream_id}/events",
            path={**self._names},
            body={"kind": kind, "payload": payload, "expected_seq": expected_seq, "actor": actor, "v": v},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def append_many(
        self,
        events: list[BatchEvent],
        *,
        atomic: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchAnswer:
        """Append many events, all or none, or each by itself; see the result of each."""
        return await self._transport.act(
            "POST",
            "/v1/streams/{domain}/{stream_id}/events/batch",
            path={**self._names},
            body={"events": events, "atomic": atomic},
            key=idempotency_key or new_key(),
            answer=BatchAnswer,
        )

    async def prove(
        self,
        seq: int,
    ) -> ProvenEvent:
        """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
        return await self._transport.act(
            "GET",
            "/v1/streams/{domain}/{stream_id}/events/{seq}/proof",
            path={**self._names, "seq": seq},
            answer=ProvenEvent,
        )

    async def erase(
        self,
        seq: int,
        *,
        reason: str,
    ) -> ErasedEvent:
        """Erase the body of an event. Its hash and every proof of it stay valid."""
        return await self._transport.act(
            "POST",
            "/v1/streams/{domain}/{stream_id}/events/{seq}/erase",
            path={**self._names, "seq": seq},
            body={"reason": reason},
            answer=ErasedEvent,
        )

    async def protect(
        self,
        required_evidence: str | Sequence[str] = "tsa",
        *,
        idempotency_key: str | None = None,
    ) -> AddedDocument:
        """Add the sealed events as a document and request evidence of it."""
        return await self._transport.act(
            "POST",
            "/v1/streams/{domain}/{stream_id}/protect",
            path={**self._names},
            body={"required_evidence": required_evidence},
            key=idempotency_key or new_key(),
            answer=AddedDocument,
        )


class DocumentsActs:
    """What callers can do about documents."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(
        self,
        *,
        state: Literal["none", "protected", "reinforced", "final", "given_up"] | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> DocumentPage:
        """List documents, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/documents",
            query={"state": state, "before": before, "limit": limit},
            answer=DocumentPage,
        )

    async def add_many(
        self,
        documents: Sequence[Digest],
        *,
        required_evidence: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> AddedBatch:
        """Add many documents by their digests, each by itself; see the result of each."""
        return await self._transport.act(
            "POST",
            "/v1/documents/batch",
            body={"documents": documents, "required_evidence": required_evidence},
            key=idempotency_key or new_key(),
            answer=AddedBatch,
        )

    async def view(
        self,
        document_id: UUID | str,
    ) -> ShownDocument:
        """Return a document as its events show it: its state, its evidence, and what happens next."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}",
            path={"document_id": document_id},
            answer=ShownDocument,
        )

    async def protect(
        self,
        document_id: UUID | str,
        required_evidence: str | Sequence[str] = ("tsa",),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/protect",
            path={"document_id": document_id},
            body={"required_evidence": required_evidence, "stage": stage, "witness_hash": witness_hash},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def record(
        self,
        document_id: UUID | str,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event of the document's lifecycle, such as `document.witness.ready`."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/events",
            path={"document_id": document_id},
            body={"kind": kind, "payload": payload},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def sign(
        self,
        document_id: UUID | str,
        signature: bytes | str | None = None,
        *,
        witness_hash: str | None = None,
        format: Literal["cms", "jws", "raw", "unchecked"] | None = None,
        key: bytes | str | None = None,
        certificate: bytes | str | None = None,
        signer: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Check a signature over the document as it is now, and record it; the same one is recorded once."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/signatures",
            path={"document_id": document_id},
            body={
                "signature": signature,
                "witness_hash": witness_hash,
                "format": format,
                "key": key,
                "certificate": certificate,
                "signer": signer,
                "reason": reason,
            },
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def revoke(
        self,
        document_id: UUID | str,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/revoke",
            path={"document_id": document_id},
            body={"reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def archive(
        self,
        document_id: UUID | str,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/archive",
            path={"document_id": document_id},
            body={"reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def retry(
        self,
        document_id: UUID | str,
        evidence: Literal["tsa", "polygon", "bitcoin", "rekor", "artifact"] = "tsa",
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/retry",
            path={"document_id": document_id},
            body={"evidence": evidence, "reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def erase(
        self,
        document_id: UUID | str,
        *,
        reason: str,
    ) -> Erasure:
        """Erase name, digest and predecessor from `document.added`; return what stays, and why."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/erase",
            path={"document_id": document_id},
            body={"reason": reason},
            answer=Erasure,
        )

    async def trust(
        self,
        document_id: UUID | str,
    ) -> DocumentTrust:
        """Return what this installation trusts about the document, as `/v1/verify` takes it."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}/trust",
            path={"document_id": document_id},
            answer=DocumentTrust,
        )

    async def proofs(
        self,
        document_id: UUID | str,
    ) -> ProofList:
        """Return each proof of the current digest as a file in its tool's own format."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}/proofs",
            path={"document_id": document_id},
            answer=ProofList,
        )


class DocumentActs:
    """What callers can do with one document; `names` are those in its address."""

    def __init__(self, transport: Transport, names: Mapping[str, object]) -> None:
        self._transport = transport
        self._names = names

    async def view(
        self,
    ) -> ShownDocument:
        """Return a document as its events show it: its state, its evidence, and what happens next."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}",
            path={**self._names},
            answer=ShownDocument,
        )

    async def protect(
        self,
        required_evidence: str | Sequence[str] = ("tsa",),
        *,
        stage: str | None = None,
        witness_hash: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Request evidence of the document as it is now. An equal request returns the first one."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/protect",
            path={**self._names},
            body={"required_evidence": required_evidence, "stage": stage, "witness_hash": witness_hash},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def record(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Event:
        """Append an event of the document's lifecycle, such as `document.witness.ready`."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/events",
            path={**self._names},
            body={"kind": kind, "payload": payload},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def sign(
        self,
        signature: bytes | str | None = None,
        *,
        witness_hash: str | None = None,
        format: Literal["cms", "jws", "raw", "unchecked"] | None = None,
        key: bytes | str | None = None,
        certificate: bytes | str | None = None,
        signer: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Check a signature over the document as it is now, and record it; the same one is recorded once."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/signatures",
            path={**self._names},
            body={
                "signature": signature,
                "witness_hash": witness_hash,
                "format": format,
                "key": key,
                "certificate": certificate,
                "signer": signer,
                "reason": reason,
            },
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def revoke(
        self,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Event:
        """Revoke the document. Its proofs stay valid; no further evidence is requested."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/revoke",
            path={**self._names},
            body={"reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def archive(
        self,
        *,
        reason: str,
        idempotency_key: str | None = None,
    ) -> Event:
        """Archive the document. No further evidence is requested, and only workers may append events."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/archive",
            path={**self._names},
            body={"reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def retry(
        self,
        evidence: Literal["tsa", "polygon", "bitcoin", "rekor", "artifact"] = "tsa",
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Event:
        """Grant new attempts for an evidence that was given up."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/retry",
            path={**self._names},
            body={"evidence": evidence, "reason": reason},
            key=idempotency_key or new_key(),
            answer=Event,
        )

    async def erase(
        self,
        *,
        reason: str,
    ) -> Erasure:
        """Erase name, digest and predecessor from `document.added`; return what stays, and why."""
        return await self._transport.act(
            "POST",
            "/v1/documents/{document_id}/erase",
            path={**self._names},
            body={"reason": reason},
            answer=Erasure,
        )

    async def prove(
        self,
        seq: int,
    ) -> ProvenEvent:
        """Return the proof that an event is in the log; 409 while no checkpoint covers it."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}/events/{seq}/proof",
            path={**self._names, "seq": seq},
            answer=ProvenEvent,
        )

    async def trust(
        self,
    ) -> DocumentTrust:
        """Return what this installation trusts about the document, as `/v1/verify` takes it."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}/trust",
            path={**self._names},
            answer=DocumentTrust,
        )

    async def proofs(
        self,
    ) -> ProofList:
        """Return each proof of the current digest as a file in its tool's own format."""
        return await self._transport.act(
            "GET",
            "/v1/documents/{document_id}/proofs",
            path={**self._names},
            answer=ProofList,
        )


class ImagesActs:
    """What callers can do about images."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def products(
        self,
        *,
        after: UUID | None = None,
        limit: int = 100,
    ) -> ProductPage:
        """List products by id."""
        return await self._transport.act(
            "GET",
            "/v1/products",
            query={"after": after, "limit": limit},
            answer=ProductPage,
        )

    async def list(
        self,
        product_id: UUID | str,
        *,
        at: int | None = None,
    ) -> ImageList:
        """List the images of a product in order; a product without events has none."""
        return await self._transport.act(
            "GET",
            "/v1/products/{product_id}/images",
            path={"product_id": product_id},
            query={"at": at},
            answer=ImageList,
        )

    async def image(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
    ) -> ImageView:
        """Return one image."""
        return await self._transport.act(
            "GET",
            "/v1/products/{product_id}/images/{image_id}",
            path={"product_id": product_id, "image_id": image_id},
            answer=ImageView,
        )

    async def move(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
        *,
        to: int,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> ImageView:
        """Move an image to a place; place 0 makes it the main one."""
        return await self._transport.act(
            "POST",
            "/v1/products/{product_id}/images/{image_id}/move",
            path={"product_id": product_id, "image_id": image_id},
            body={"to": to, "expected_seq": expected_seq},
            key=idempotency_key or new_key(),
            answer=ImageView,
        )

    async def describe(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
        alt: str,
        *,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> ImageView:
        """Set the alternative text of an image; an empty one removes it."""
        return await self._transport.act(
            "POST",
            "/v1/products/{product_id}/images/{image_id}/describe",
            path={"product_id": product_id, "image_id": image_id},
            body={"alt": alt, "expected_seq": expected_seq},
            key=idempotency_key or new_key(),
            answer=ImageView,
        )

    async def remove(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
        *,
        reason: str = "removed",
        expected_seq: int | None = None,
    ) -> Event:
        """Remove an image; those after it move up."""
        return await self._transport.act(
            "DELETE",
            "/v1/products/{product_id}/images/{image_id}",
            path={"product_id": product_id, "image_id": image_id},
            query={"reason": reason, "expected_seq": expected_seq},
            safe=False,
            answer=Event,
        )

    async def protect(
        self,
        product_id: UUID | str,
        required_evidence: str | Sequence[str] = "tsa",
        *,
        idempotency_key: str | None = None,
    ) -> AddedDocument:
        """Add the sealed events of a gallery as a document and request evidence of it."""
        return await self._transport.act(
            "POST",
            "/v1/products/{product_id}/protect",
            path={"product_id": product_id},
            body={"required_evidence": required_evidence},
            key=idempotency_key or new_key(),
            answer=AddedDocument,
        )

    async def render_failed(
        self,
        product_id: UUID | str,
        *,
        force: bool = False,
    ) -> RenderedCount:
        """Render the images of a product again whose last job failed or was skipped."""
        return await self._transport.act(
            "POST",
            "/v1/products/{product_id}/images/render",
            path={"product_id": product_id},
            query={"force": force},
            answer=RenderedCount,
        )

    async def render(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
        *,
        force: bool = False,
    ) -> RenderedCount:
        """Render an image again."""
        return await self._transport.act(
            "POST",
            "/v1/products/{product_id}/images/{image_id}/render",
            path={"product_id": product_id, "image_id": image_id},
            query={"force": force},
            answer=RenderedCount,
        )

    async def rendering(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
    ) -> RenderState:
        """Return how far the variants of an image are."""
        return await self._transport.act(
            "GET",
            "/v1/products/{product_id}/images/{image_id}/rendering",
            path={"product_id": product_id, "image_id": image_id},
            answer=RenderState,
        )


class JobsActs:
    """What callers can do about jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(
        self,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> JobPage:
        """List jobs, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/jobs",
            query={
                "state": state,
                "type": job_type,
                "entity_id": entity_id,
                "before": before,
                "limit": limit,
            },
            answer=JobPage,
        )

    async def show(
        self,
        job_id: int,
    ) -> JobView:
        """Return one job as it stands."""
        return await self._transport.act(
            "GET",
            "/v1/jobs/{job_id}",
            path={"job_id": job_id},
            answer=JobView,
        )

    async def unhandled(
        self,
    ) -> WaitingTypes:
        """List the types of which jobs are ready and that no running worker does."""
        return await self._transport.act(
            "GET",
            "/v1/jobs/unhandled",
            answer=WaitingTypes,
        )

    async def enqueue(
        self,
        job_type: str,
        entity_id: UUID,
        *,
        key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        delay: float = 0.0,
        priority: int = 1,
        idempotency_key: str | None = None,
    ) -> EnqueuedJob:
        """Queue a job of a domain of yours. A type, a stream and a key make one job, for ever."""
        return await self._transport.act(
            "POST",
            "/v1/jobs",
            body={
                "type": job_type,
                "entity_id": entity_id,
                "key": key,
                "payload": payload,
                "delay": delay,
                "priority": priority,
            },
            key=idempotency_key or new_key(),
            answer=EnqueuedJob,
        )

    async def retry(
        self,
        jobs: int | Sequence[int] | None = None,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
    ) -> ChangedJobs:
        """Queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/retry",
            body={"ids": jobs, "state": state, "type": job_type, "entity_id": entity_id},
            answer=ChangedJobs,
        )

    async def cancel(
        self,
        jobs: int | Sequence[int] | None = None,
        *,
        state: Literal["queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"]
        | None = None,
        job_type: str | None = None,
        entity_id: UUID | None = None,
    ) -> ChangedJobs:
        """End jobs that are not over, and put dead ones away: these, or all that match."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/cancel",
            body={"ids": jobs, "state": state, "type": job_type, "entity_id": entity_id},
            answer=ChangedJobs,
        )

    async def pause(
        self,
        job_type: str,
    ) -> PausedType:
        """Stop claims of this type, for all tenants, until it is resumed; running jobs finish."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/types/{job_type}/pause",
            path={"job_type": job_type},
            answer=PausedType,
        )

    async def resume(
        self,
        job_type: str,
    ) -> PausedType:
        """Let this type be claimed again."""
        return await self._transport.act(
            "POST",
            "/v1/jobs/types/{job_type}/resume",
            path={"job_type": job_type},
            answer=PausedType,
        )


class AnchorsActs:
    """What callers can do about anchors."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def overview(
        self,
    ) -> NetworkList:
        """List the networks: whether each is enabled, what waits, and what was spent."""
        return await self._transport.act(
            "GET",
            "/v1/anchors",
            answer=NetworkList,
        )

    async def list(
        self,
        *,
        network: Literal["polygon", "bitcoin", "rekor"] | None = None,
        status: Literal["drafted", "sent", "confirmed", "reorged", "refused"] | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> BatchPage:
        """List batches, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/anchors/batches",
            query={"network": network, "status": status, "before": before, "limit": limit},
            answer=BatchPage,
        )

    async def show(
        self,
        batch_id: UUID,
    ) -> BatchView:
        """Return one batch as it stands."""
        return await self._transport.act(
            "GET",
            "/v1/anchors/batches/{batch_id}",
            path={"batch_id": batch_id},
            answer=BatchView,
        )

    async def cost(
        self,
        *,
        network: Literal["polygon", "bitcoin", "rekor"] | None = None,
        days: int = 30,
    ) -> CostList:
        """Return what batches cost, by day and network, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/anchors/costs",
            query={"network": network, "days": days},
            answer=CostList,
        )

    async def enable(
        self,
        network: Literal["polygon", "bitcoin", "rekor"],
    ) -> Enabled:
        """Check a network and let documents require it, unless something is missing; see what was found."""
        return await self._transport.act(
            "POST",
            "/v1/anchors/{network}/enable",
            path={"network": network},
            answer=Enabled,
        )

    async def disable(
        self,
        network: Literal["polygon", "bitcoin", "rekor"],
    ) -> Disabled:
        """Let no document require a network any more; attempts that are open go on."""
        return await self._transport.act(
            "POST",
            "/v1/anchors/{network}/disable",
            path={"network": network},
            answer=Disabled,
        )

    async def flush(
        self,
        network: Literal["polygon", "bitcoin", "rekor"],
    ) -> Flushed:
        """Send the digests that wait for a batch now, without waiting for more."""
        return await self._transport.act(
            "POST",
            "/v1/anchors/{network}/flush",
            path={"network": network},
            answer=Flushed,
        )


class AlertsActs:
    """What callers can do about alerts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(
        self,
        *,
        firing: bool = False,
    ) -> AlertList:
        """List every alert with its value, its limit and its state."""
        return await self._transport.act(
            "GET",
            "/v1/alerts",
            query={"firing": firing},
            answer=AlertList,
        )

    async def history(
        self,
        *,
        limit: int = 100,
    ) -> NoticeList:
        """List what fired and cleared, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/alerts/history",
            query={"limit": limit},
            answer=NoticeList,
        )


class MaintenanceActs:
    """What callers can do about maintenance."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def report(
        self,
        *,
        limit: int = 100,
    ) -> CleanupReport:
        """Return candidates for a purge by age, the last runs, and whether the automatic purge is armed."""
        return await self._transport.act(
            "GET",
            "/v1/maintenance/cleanup",
            query={"limit": limit},
            answer=CleanupReport,
        )

    async def candidates(
        self,
        *,
        limit: int = 100,
    ) -> CandidateList:
        """List the candidates that are not purged, oldest first."""
        return await self._transport.act(
            "GET",
            "/v1/maintenance/candidates",
            query={"limit": limit},
            answer=CandidateList,
        )

    async def cleanup(
        self,
        *,
        dry_run: bool = True,
    ) -> RunResult:
        """Look for objects that nothing refers to, and stage them unless it is a dry run. Delete nothing."""
        return await self._transport.act(
            "POST",
            "/v1/maintenance/cleanup",
            body={"dry_run": dry_run},
            answer=RunResult,
        )

    async def purge(
        self,
        *,
        dry_run: bool = True,
        reason: str | None = None,
    ) -> RunResult:
        """Delete what has been a candidate for long enough; a dry run only counts it."""
        return await self._transport.act(
            "POST",
            "/v1/maintenance/purge",
            body={"dry_run": dry_run, "reason": reason},
            answer=RunResult,
        )

    async def purge_object(
        self,
        sha256: str,
        *,
        reason: str,
    ) -> DeletedObjects:
        """Delete one object now, past the grace period. Refused while anything refers to it."""
        return await self._transport.act(
            "POST",
            "/v1/maintenance/purge/object",
            body={"sha256": sha256, "reason": reason},
            answer=DeletedObjects,
        )

    async def restore(
        self,
        sha256: str,
        *,
        reason: str,
    ) -> RestoredObject:
        """Let a candidate, or an object in quarantine, be live again."""
        return await self._transport.act(
            "POST",
            "/v1/maintenance/restore",
            body={"sha256": sha256, "reason": reason},
            answer=RestoredObject,
        )

    async def retry(
        self,
        *,
        what: list[Literal["documents", "images", "jobs"]] | None = None,
        reason: str | None = None,
        force: bool = False,
    ) -> Retried:
        """Start failed work of the tenant again: evidence that was given up, variants, dead jobs."""
        return await self._transport.act(
            "POST",
            "/v1/maintenance/retry",
            body={"what": what, "reason": reason, "force": force},
            answer=Retried,
        )


class WebhooksActs:
    """What callers can do about webhooks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self,
        url: str,
        *,
        kinds: str | Sequence[str] = ("*",),
        include_payload: bool = False,
        description: str = "",
        secret: str | None = None,
        from_start: bool = False,
        idempotency_key: str | None = None,
    ) -> CreatedWebhook:
        """Create a webhook and show its secret, once."""
        return await self._transport.act(
            "POST",
            "/v1/webhooks",
            body={
                "url": url,
                "kinds": kinds,
                "include_payload": include_payload,
                "description": description,
                "secret": secret,
                "from_start": from_start,
            },
            key=idempotency_key or new_key(),
            answer=CreatedWebhook,
        )

    async def list(
        self,
    ) -> WebhookList:
        """List the webhooks of the tenant, oldest first."""
        return await self._transport.act(
            "GET",
            "/v1/webhooks",
            answer=WebhookList,
        )

    async def show(
        self,
        webhook_id: UUID,
    ) -> Webhook:
        """Return one webhook as it stands."""
        return await self._transport.act(
            "GET",
            "/v1/webhooks/{webhook_id}",
            path={"webhook_id": webhook_id},
            answer=Webhook,
        )

    async def change(
        self,
        webhook_id: UUID,
        *,
        url: str | None = None,
        kinds: str | Sequence[str] | None = None,
        include_payload: bool | None = None,
        description: str | None = None,
        state: Literal["on", "off"] | None = None,
        reason: str | None = None,
    ) -> Webhook:
        """Change a webhook, or switch it on or off. What it missed while it was off is delivered."""
        return await self._transport.act(
            "PATCH",
            "/v1/webhooks/{webhook_id}",
            path={"webhook_id": webhook_id},
            body={
                "url": url,
                "kinds": kinds,
                "include_payload": include_payload,
                "description": description,
                "state": state,
                "reason": reason,
            },
            answer=Webhook,
        )

    async def remove(
        self,
        webhook_id: UUID,
    ) -> RemovedWebhook:
        """Remove a webhook with its log; what waits is not delivered."""
        return await self._transport.act(
            "DELETE",
            "/v1/webhooks/{webhook_id}",
            path={"webhook_id": webhook_id},
            answer=RemovedWebhook,
        )

    async def rotate(
        self,
        webhook_id: UUID,
        *,
        secret: str | None = None,
        overlap_seconds: float = 86400.0,
    ) -> CreatedWebhook:
        """Make a new secret and show it, once; the old one signs as well until the overlap ends."""
        return await self._transport.act(
            "POST",
            "/v1/webhooks/{webhook_id}/rotate",
            path={"webhook_id": webhook_id},
            body={"secret": secret, "overlap_seconds": overlap_seconds},
            safe=False,
            answer=CreatedWebhook,
        )

    async def deliveries(
        self,
        webhook_id: UUID,
        *,
        state: Literal["waiting", "delivered", "failed"] | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> DeliveryPage:
        """List deliveries, newest first."""
        return await self._transport.act(
            "GET",
            "/v1/webhooks/{webhook_id}/deliveries",
            path={"webhook_id": webhook_id},
            query={"state": state, "before": before, "limit": limit},
            answer=DeliveryPage,
        )

    async def delivery(
        self,
        webhook_id: UUID,
        number: int,
    ) -> DeliveryWithAttempts:
        """Return one delivery with all its attempts, oldest first."""
        return await self._transport.act(
            "GET",
            "/v1/webhooks/{webhook_id}/deliveries/{number}",
            path={"webhook_id": webhook_id, "number": number},
            answer=DeliveryWithAttempts,
        )

    async def replay(
        self,
        webhook_id: UUID,
        *,
        first: int | None = None,
        last: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        failed: bool = False,
    ) -> Replayed:
        """Deliver again: a range of numbers or times, or what failed. Receivers see the same ids."""
        return await self._transport.act(
            "POST",
            "/v1/webhooks/{webhook_id}/replay",
            path={"webhook_id": webhook_id},
            body={"first": first, "last": last, "since": since, "until": until, "failed": failed},
            safe=False,
            answer=Replayed,
        )


class LogActs:
    """What callers can do about log."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def head(
        self,
    ) -> LogHead:
        """Return the newest published checkpoint, and the key that signed it."""
        return await self._transport.act(
            "GET",
            "/v1/log",
            answer=LogHead,
        )

    async def trust(
        self,
    ) -> TrustRoots:
        """Return the trust roots of this installation: the key of its log, the roots of its timestamps."""
        return await self._transport.act(
            "GET",
            "/v1/log/trust",
            answer=TrustRoots,
        )

    async def prove(
        self,
        entity_id: UUID,
        seq: int,
    ) -> ProvenEvent:
        """Return the proof that an event of any stream is in the log; 409 while no checkpoint covers it."""
        return await self._transport.act(
            "GET",
            "/v1/log/proofs/{entity_id}/{seq}",
            path={"entity_id": entity_id, "seq": seq},
            answer=ProvenEvent,
        )

    async def anchored(
        self,
        *,
        limit: int = 100,
    ) -> AnchoredList:
        """Return the checkpoints that networks confirmed, with their proofs."""
        return await self._transport.act(
            "GET",
            "/v1/log/anchored",
            query={"limit": limit},
            answer=AnchoredList,
        )


class AccessActs:
    """What callers can do about access."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def me(
        self,
    ) -> Me:
        """Return who sends this request, and what it may do."""
        return await self._transport.act(
            "GET",
            "/v1/access/me",
            answer=Me,
        )

    async def names(
        self,
        actors: list[str],
    ) -> NameList:
        """Return the names of these actors that have one: of keys, people, and users of this machine."""
        return await self._transport.act(
            "GET",
            "/v1/access/names",
            query={"actor": actors},
            answer=NameList,
        )

    async def keys(
        self,
        *,
        tenant: str | None = None,
        limit: int = 100,
    ) -> KeyList:
        """List the newest keys of the tenant; of all tenants for a key of the installation."""
        return await self._transport.act(
            "GET",
            "/v1/access/keys",
            query={"tenant": tenant, "limit": limit},
            answer=KeyList,
        )

    async def create_key(
        self,
        scopes: str | Sequence[str] = ("read",),
        *,
        name: str = "",
        tenant: str | None = None,
        installation: bool = False,
        expires_at: str | None = "365d",
        idempotency_key: str | None = None,
    ) -> CreatedKey:
        """Make a key and show it, once; from then on, every HTTP request needs a key or a login."""
        return await self._transport.act(
            "POST",
            "/v1/access/keys",
            body={
                "scopes": scopes,
                "name": name,
                "tenant": tenant,
                "installation": installation,
                "expires_at": expires_at,
            },
            key=idempotency_key or new_key(),
            answer=CreatedKey,
        )

    async def revoke_key(
        self,
        key_id: str,
    ) -> Revoked:
        """Revoke a key. It ends everywhere within a second, with its sessions and streams."""
        return await self._transport.act(
            "POST",
            "/v1/access/keys/{key_id}/revoke",
            path={"key_id": key_id},
            answer=Revoked,
        )

    async def rotate_key(
        self,
        key_id: str,
        *,
        overlap_seconds: float = 86400.0,
    ) -> RotatedKey:
        """Give a key a new secret; the one before stays valid for a while."""
        return await self._transport.act(
            "POST",
            "/v1/access/keys/{key_id}/rotate",
            path={"key_id": key_id},
            body={"overlap_seconds": overlap_seconds},
            safe=False,
            answer=RotatedKey,
        )

    async def sessions(
        self,
        *,
        tenant: str | None = None,
        limit: int = 100,
    ) -> SessionList:
        """List the newest sessions that are not over."""
        return await self._transport.act(
            "GET",
            "/v1/access/sessions",
            query={"tenant": tenant, "limit": limit},
            answer=SessionList,
        )

    async def revoke_session(
        self,
        session_id: UUID | str,
    ) -> Revoked:
        """End a session everywhere within a second."""
        return await self._transport.act(
            "POST",
            "/v1/access/sessions/{session_id}/revoke",
            path={"session_id": session_id},
            answer=Revoked,
        )
