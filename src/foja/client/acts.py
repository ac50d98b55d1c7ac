"""The acts of a server, as the library has them. Written by `make generate`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from foja.answers.documents import AddedBatch, AddedDocument, Digest, DocumentPage, DocumentTrust, ProofList
from foja.answers.streams import (
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
from foja.client.transport import Transport, new_key
from foja.conversations.model.approvals import Approval
from foja.documents.model.view import Erasure, ShownDocument
from foja.jobs.model.view import ChangedJobs, EnqueuedJob, JobPage, JobView, PausedType
from foja.ledger.event import Event, Transient


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
        """Open a conversation. It exists from its first event on, which the body may contain."""
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
        """List conversations, newest first; `next` says where older ones begin."""
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
        """Append an event. The same Idempotency-Key again returns the first event, with 200."""
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
        """List the streams of a domain, newest first; `next` says where older ones begin."""
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
        """Append an event of a domain of yours. The same Idempotency-Key again returns the first event."""
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
        """Append many events of a domain of yours, all or none, or each by itself."""
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
        """List documents, newest first; `next` says where older ones begin."""
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
        signature: str | None = None,
        *,
        witness_hash: str | None = None,
        format: Literal["cms", "jws", "raw", "unchecked"] | None = None,
        key: str | None = None,
        certificate: str | None = None,
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
        """List jobs, newest first; `next` says where older ones begin."""
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
