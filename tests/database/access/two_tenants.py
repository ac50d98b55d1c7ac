"""Two tenants of one installation: what `bob` has, and `ana`, who knows every id of it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.slots import Slots
from foja.tenant import TenantApp
from tests.png import png

SAY = "user_message_sent"
SECRET = "only for bob"


@dataclass(frozen=True)
class Scene:
    """The surfaces of both tenants, and everything of bob's."""

    ana: TenantApp
    bob: TenantApp
    talk: Conversation
    slots: Slots
    document: UUID
    sha256: str
    product: UUID
    image: UUID
    job: int
    webhook: UUID

    @property
    def secrets(self) -> list[str]:
        """Texts that only rows of bob contain."""
        ids = (self.talk.id, self.slots.token, self.document, self.product, self.image, self.webhook)
        return [SECRET, self.sha256, *map(str, ids)]


async def two_tenants(app: App) -> Scene:
    """Write for bob: a conversation, a reservation, a document, a gallery, jobs; and a little for ana."""
    ana, bob = app.tenant("ana"), app.tenant("bob")
    await (await ana.conversations.open()).append(SAY, {"content": "ana's own"})
    talk = await bob.conversations.open()
    await talk.append(SAY, {"content": SECRET})
    await talk.request_approval("pay", {"amount": 5}, approval_id="a-1")
    document = await bob.documents.add(SECRET.encode(), name="secret.txt")
    await document.protect()
    product = uuid4()
    image = await bob.images.add(product, png(red=77))
    await app.publish()
    slots = await talk.reserve(2, intents=[{"why": SECRET}, {}])
    [job, *_] = await bob.jobs.list()
    hook = await bob.webhooks.create("https://hooks.example.org/bob")
    return Scene(ana, bob, talk, slots, document.id, str(document.sha256), product, image.id, job.id, hook.id)
