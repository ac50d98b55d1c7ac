"""Bundles for tests: a ledger, a log and an authority that need no database, disk or clock."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from uuid import UUID

from foja.engine.embedded.tsa.issuer import SigningIdentity, new_root, new_signer
from foja.engine.embedded.tsa.responder import ReplyEncoder, granted
from foja.pure.core.bundle import assembly, history, names
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.manifest import EvidenceFile, Manifest, Signed, StreamHead
from foja.pure.core.bundle.record import recorded
from foja.pure.core.canonical import Json
from foja.pure.core.chain import leaf_entry
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.merkle import Frontier, inclusion_proof, leaf_hash, node_hash
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.core.proof import Proof
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.tsa import LOCAL_POLICY, read_request, request
from foja.pure.proofs.tsa.token import read_token
from tests.rules.streams import stream

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
ENTITY, CONVERSATION = UUID(int=7), UUID(int=70)
TEXT = b"the document\n"
Events = list[tuple[str, Json]]  # kinds and payloads


@dataclass
class Stamper:
    """A timestamp authority with a root of its own."""

    root: SigningIdentity = field(default_factory=lambda: new_root(NOW))
    serial: int = 1 << 100

    @cached_property
    def signer(self) -> SigningIdentity:
        return new_signer(self.root, NOW)

    def reply(self, digest: bytes, at: datetime = NOW, algorithm: str = "sha256") -> bytes:
        self.serial += 1
        asked = read_request(request(digest, nonce=self.serial, algorithm=algorithm))
        return granted(ReplyEncoder.of(self.signer, LOCAL_POLICY), asked, at, self.serial)

    def token(self, digest: bytes, at: datetime = NOW) -> bytes:
        return read_token(self.reply(digest, at)).der


@dataclass
class Scene:
    """An installation for tests: its authority, its log key, and the bundles it would make."""

    stamper: Stamper = field(default_factory=Stamper)
    key: Signer = field(default_factory=lambda: Signer("log.example", bytes(range(32))))

    @property
    def trust(self) -> Trust:
        return read([self.stamper.root.pem, self.key.verifier().vkey()])

    def document_events(
        self,
        digest: bytes,
        more: Events | None = None,
        required: Sequence[str] = ("tsa",),
        confirmed: Json = None,
    ) -> Events:
        """Return the events of a document until its artifact is required; `confirmed` is its token's."""
        witness = digest.hex()
        token = b64encode(self.stamper.token(digest)).decode()
        confirmed = confirmed or {"witness_hash": witness, "token_b64": token, "gen_time": "now"}
        return [
            ("document.added", {"sha256": witness, "custody": "stored", "name": "a.txt"}),
            ("document.protected.requested", {"witness_hash": witness, "required_evidence": [*required]}),
            ("job.run-tsa.required", {"witness_hash": witness, "attempt": 1, "deadline": "later"}),
            ("tsa.confirmed", confirmed),
            *(more or []),
            ("job.build-artifact.required", {"witness_hash": witness, "attempt": 1, "deadline": "later"}),
        ]

    def contents(self, text: bytes = TEXT, events: Events | None = None) -> Contents:
        """Return everything but the seal."""
        digest = sha256(text).digest()
        excerpts = stream("document", ENTITY, events or self.document_events(digest))
        proof = self.prove(excerpts[-1])
        manifest, proofs = self.manifest(digest, excerpts, proof)
        return Contents(
            manifest=manifest,
            events=part(names.EVENTS, b"".join(history.encode(excerpts))),
            document=part("document/a.txt", text),
            log_proof=proof.text(),
            proofs=proofs,
            trust={"tsa.pem": self.stamper.root.pem, "log.vkey": self.key.verifier().vkey().encode()},
        )

    def manifest(self, digest: bytes, events: list[Excerpt], proof: Proof) -> tuple[Manifest, list[Part]]:
        required: Sequence[str] = ()
        for event in events:
            if event.kind == "document.protected.requested" and isinstance(event.payload, dict):
                required = event.payload["required_evidence"]  # type: ignore[assignment]
        found = [record for event in events if (record := recorded(event)) and record.data]
        own = [
            assembly.proof_files(each, each.data or b"", number, "document/a.txt")
            for number, each in enumerate(found, 1)
        ]
        proofs = [each for some in own for each in some]
        evidence = tuple(
            EvidenceFile(record.evidence, each.entry.name, record.seq, each.sha256)
            for record, (each, *_) in zip(found, own, strict=True)
        )
        last = events[-1]
        head = StreamHead(last.domain, last.entity_id, len(events), last.chain_hash)
        note = proof.note.split("\n")
        signed = Signed(note[0], int(note[1]), self.root_of(last))
        return Manifest(digest, "document/a.txt", head, signed, None, tuple(required), evidence), proofs

    def leaves(self, event: Excerpt) -> list[bytes]:
        """Return a small log in which the event is the fourth entry."""
        entry = leaf_entry(event.entity_id, event.seq, event.chain_hash)
        return [leaf_hash(each) for each in (b"a", b"b", b"c", entry, b"d")]

    def root_of(self, event: Excerpt) -> bytes:
        return Frontier().extend(self.leaves(event)).root()

    def prove(self, event: Excerpt) -> Proof:
        leaves = self.leaves(event)
        levels = [leaves]
        while len(levels[-1]) > 1:
            row = levels[-1]
            levels.append([node_hash(*row[at : at + 2]) for at in range(0, len(row) - 1, 2)])
        path = inclusion_proof(3, len(leaves), lambda level, index: levels[level][index])
        checkpoint = Checkpoint("log.example/1", len(leaves), Frontier().extend(leaves).root())
        return Proof(3, tuple(path), self.key.sign(checkpoint.text()))

    def seal(self, parts: list[Part], stamper: Stamper | None = None) -> bytes:
        """Return the container of these files, listed and stamped."""
        token = (stamper or self.stamper).token(sha256(assembly.listing(parts)).digest())
        return b"".join(write(assembly.seal(parts, token)))

    def bundle(self, text: bytes = TEXT, events: Events | None = None) -> bytes:
        """Return a whole, valid bundle."""
        return self.seal(self.contents(text, events).parts())

    def changed(self, change: Callable[[Contents], Contents]) -> bytes:
        """Return a bundle whose contents were changed, listed and sealed anew."""
        return self.seal(change(self.contents()).parts())

    def renewed(self, days: int, stamper: Stamper | None = None) -> bytes:
        """Return a bundle that was stamped once more some days later."""
        parts = self.contents().parts()
        first = self.stamper.token(sha256(assembly.listing(parts)).digest())
        sealed = assembly.seal(parts, first)
        listed = sha256(assembly.listing(sealed, 1)).digest()
        token = (stamper or self.stamper).token(listed, NOW + timedelta(days=days))
        return b"".join(write(assembly.seal(sealed, token, 1)))

    def conversation(self, events: Events | None = None) -> Contents:
        """Return the contents for a conversation: its transcript, and the events it is made from."""
        excerpts = stream("conversation", CONVERSATION, events or [("user_message_sent", {"content": "hi"})])
        text = b"".join(history.transcript("conversation", CONVERSATION, excerpts))
        source = StreamHead("conversation", CONVERSATION, len(excerpts), excerpts[-1].chain_hash)
        named: Json = {
            "domain": "conversation",
            "entity_id": str(CONVERSATION),
            "events": len(excerpts),
            "head": source.head.hex(),
        }
        digest = sha256(text).digest()
        first, *rest = self.document_events(digest)
        added: Json = {"sha256": digest.hex(), "custody": "stored", "transcript_of": named}
        contents = self.contents(text, [(first[0], added), *rest])
        return replace(
            contents,
            manifest=replace(contents.manifest, source=source),
            source_events=part(names.SOURCE_EVENTS, b"".join(history.encode(excerpts))),
            source_proof=self.prove(excerpts[-1]).text(),
        )
