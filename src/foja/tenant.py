"""An installation as one tenant uses it: the services, on connections that all tenants share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from foja.domains.access.service import Access
from foja.domains.conversations.service import Conversations
from foja.domains.documents.bundles import Bundles
from foja.domains.documents.document import Document
from foja.domains.documents.service import Documents
from foja.domains.documents.stamper import Stamper
from foja.domains.images.service import Images
from foja.domains.streams import Registry, Streams
from foja.domains.system.service import System
from foja.domains.threads.service import Threads
from foja.domains.webhooks.service import Webhooks
from foja.engine.jobs.admin import Jobs
from foja.engine.ledger.ledger import Ledger
from foja.engine.settings import Settings
from foja.errors import UnknownDomain
from foja.pure.core.note import Signer
from foja.pure.core.registry import Domain


class TenantApp:
    """What one tenant can do. An id of another tenant is unknown here, for reading and for writing."""

    settings: Settings
    ledger: Ledger
    jobs: Jobs
    conversations: Conversations[Document]
    documents: Documents
    images: Images[Document]
    threads: Threads
    webhooks: Webhooks
    bundles: Bundles
    stamper: Stamper
    signer: Signer
    registry: Registry
    access: Access  # of the installation, as the next one
    system: System

    def streams(self, domain: Domain) -> Streams:
        """Return the streams of a domain of yours: open, append, follow, prove, protect."""
        if not isinstance(domain, Domain):
            raise UnknownDomain(
                f"{domain!r} is not a foja.Domain; `await app.registry.find(name)` returns one"
            )
        return Streams(self.ledger, domain, self.protect_stream, self.registry)

    @property
    def trust(self) -> list[str]:
        """This installation's own trust roots: its log's key, and the roots of its timestamps, as PEM."""
        return [self.signer.verifier().vkey(), *(root.pem.decode() for root in self.stamper.terms.roots)]

    async def protect_stream(
        self, entity_id: UUID, required_evidence: str | Iterable[str], actor: str | None
    ) -> Document:
        """Add the sealed events of a stream as a document and request evidence of it."""
        document = await self.documents.add_transcript(entity_id, actor=actor)
        await self.documents.protect(document.id, required_evidence, actor=actor)
        return document


@dataclass(frozen=True, slots=True)
class TenantServices:
    """What makes the services of a tenant, by its name."""

    documents: Callable[[str], Documents]
    conversations: Callable[[str], Conversations[Document]]
    images: Callable[[str], Images[Document]]
    threads: Callable[[str], Threads]
    webhooks: Callable[[str], Webhooks]

    def give(self, app: TenantApp, tenant: str) -> None:
        """Make the services of a tenant and set them."""
        app.documents, app.conversations = self.documents(tenant), self.conversations(tenant)
        app.images, app.threads = self.images(tenant), self.threads(tenant)
        app.webhooks = self.webhooks(tenant)
