"""The gallery of one product: add, move, replace, describe and remove images, in a gapless order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from foja.domains.images.reads import ImageReads, ImageRow
from foja.domains.images.uploads import Uploads
from foja.engine.blobs.objects import until_referred
from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.ledger.event import Event, new_id, parse_id
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.stream import Document, Protect, ProtectableStream
from foja.errors import BadPayload, UnknownEntity, UnknownImage, UnknownProduct
from foja.pure.models.images.address import OTHER_FORM, has_other_form
from foja.pure.models.images.events import ADDED, DESCRIBED, IMAGE, MOVED, REMOVED, REPLACED, Fact
from foja.pure.models.images.gallery import Image, added, fold


class GalleryView(list[Image]):
    """The images of a gallery in order; `next_seq` is the `expected_seq` of a change to exactly this."""

    def __init__(self, images: list[Image], next_seq: int) -> None:
        super().__init__(images)
        self.next_seq = next_seq


class Gallery(ProtectableStream[Document]):
    """A handle on the gallery of one product, which exists from its first image on."""

    __slots__ = ("_reads", "_uploads")

    def __init__(
        self,
        product_id: UUID,
        ledger: Ledger,
        uploads: Uploads,
        reads: ImageReads,
        protect: Protect[Document],
    ) -> None:
        super().__init__(product_id, ledger, IMAGE, protect)
        self._uploads, self._reads = uploads, reads

    async def add(
        self,
        data: bytes | Path,
        *,
        supplier_id: UUID | str | None = None,
        alt: str | None = None,
        name: str | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Image:
        """Add an image at the end. The first one of an unknown product creates it, for this supplier."""
        more = _given(supplier_id=_text(supplier_id), alt=alt, name=name)
        event = await self._upload(ADDED, data, more, idempotency_key, expected_seq, actor)
        return await self.after(event)

    async def add_url(
        self,
        url: str,
        *,
        supplier_id: UUID | str | None = None,
        alt: str | None = None,
        adopted: Mapping[str, Any] | None = None,
        image_id: UUID | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Image:
        """Add an image that is stored elsewhere. Its address is kept and never fetched.

        `adopted` is the row of another table that it is taken from, and `image_id` its id there.
        """
        if has_other_form(url) and not url.startswith("foja:"):  # the guard says more about those
            raise BadPayload(OTHER_FORM)
        body = {"url": url} | _given(supplier_id=_text(supplier_id), alt=alt, adopted=adopted)
        draft = self.draft(
            ADDED,
            body,
            event_id=image_id,
            idempotency_key=idempotency_key,
            expected_seq=expected_seq,
            actor=actor,
        )
        event = await self._ledger.append(draft)
        return await self.after(event)

    async def replace(
        self,
        image_id: UUID | str,
        data: bytes | Path,
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Image:
        """Give an image another content. Its id and its place stay."""
        image = parse_id(image_id, "image")
        more, key = {"image_id": str(image)} | _given(name=name), _key(image, idempotency_key)
        event = await self._upload(REPLACED, data, more, key, expected_seq, actor)
        return await self.after(event, image)

    async def move(
        self,
        image_id: UUID | str,
        *,
        to: int,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Image:
        """Move an image to a place; `expected_seq` refuses it if others changed the gallery."""
        image = parse_id(image_id, "image")
        body = {"image_id": str(image), "to": to}
        with self._known():
            event = await self.append(
                MOVED, body, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor
            )
        return await self.after(event, image)

    async def main(
        self, image_id: UUID | str, *, expected_seq: int | None = None, actor: str | None = None
    ) -> Image:
        """Make an image the main one: move it to place 0."""
        return await self.move(image_id, to=0, expected_seq=expected_seq, actor=actor)

    async def remove(
        self,
        image_id: UUID | str,
        *,
        reason: str = "removed",
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Event:
        """Remove an image; those after it move up."""
        body = {"image_id": str(parse_id(image_id, "image")), "reason": reason}
        with self._known():
            return await self.append(
                REMOVED, body, idempotency_key=idempotency_key, expected_seq=expected_seq, actor=actor
            )

    async def describe(
        self,
        image_id: UUID | str,
        alt: str,
        *,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
        actor: str | None = None,
    ) -> Image:
        """Set the alternative text of an image; an empty text removes it."""
        image = parse_id(image_id, "image")
        body, key = {"image_id": str(image), "alt": alt}, _key(image, idempotency_key)
        with self._known():
            event = await self.append(
                DESCRIBED, body, idempotency_key=key, expected_seq=expected_seq, actor=actor
            )
        return await self.after(event, image)

    async def list(self, *, at: int | None = None) -> GalleryView:
        """Return the images in order; with `at`, as they were after so many events."""
        if at is not None:
            facts = await self._ask("gallery_facts", Fact, length=at)
            return GalleryView(fold(facts), len(facts))
        rows = await self._ask("gallery", ImageRow)
        images = [row.image() for row in rows if row.id is not None]
        return GalleryView(images, rows[0].next_seq if rows else 0)

    async def image(self, image_id: UUID | str) -> Image:
        """Return one image, or raise `UnknownImage`."""
        image = parse_id(image_id, "image")
        found = await self._reads.find(self.id, image)
        if found is None:
            raise UnknownImage(f"{self.id} has no image {image}; it was removed, or is of another product")
        return found

    async def after(self, event: Event, image_id: UUID | None = None) -> Image:
        """Return the image that an event of yours added, or changed if you name it, as it was right after it.

        It is read, with what others changed since, if the answer of the append did not say its place.
        """
        assert event.id is not None
        image = event.id if image_id is None else image_id
        if event.result is not None and event.at is not None:
            return added(Fact(event.seq, event.id, ADDED, event.at, None, event.payload), event.result)
        if found := await self._reads.find(self.id, image):
            return replace(found, replayed=event.replayed)
        then = await self.list(at=event.seq + 1)
        return replace(next(each for each in then if each.id == image), replayed=event.replayed)

    async def content(self, image_id: UUID | str, variant: str | None = None) -> bytes:
        """Return the stored bytes of an image, or of one of its variants."""
        image = await self.image(image_id)
        return await self._uploads.read(self._ledger.tenant, image, variant)

    async def _upload(
        self,
        kind: str,
        data: bytes | Path,
        more: Mapping[str, Any],
        key: str | None,
        expected_seq: int | None,
        actor: str | None,
    ) -> Event:
        """Check and store the bytes, then append the event that refers to them."""
        upload = await self._uploads.check(data)

        async def record() -> Event:
            body = {**await self._uploads.store(self._ledger.tenant, upload), **more}
            return await self.append(kind, body, idempotency_key=key, expected_seq=expected_seq, actor=actor)

        with self._known():
            return await until_referred(record)

    @contextmanager
    def _known(self) -> Iterator[None]:
        """Say of a product of another tenant what is said of one that does not exist."""
        try:
            yield
        except UnknownEntity as error:
            if type(error) is UnknownEntity:
                raise UnknownProduct(f"there is no product {self.id}") from None
            raise

    async def _ask(self, query: str, of: type[Row] = UNNAMED, /, **values: object) -> Sequence[Row]:
        return await self._ledger.ask(query, of, entity=self.id, **values)


def _key(image: UUID, given: str | None) -> str:
    """Return the key of an event whose body can be erased: the key still names its image."""
    return f"{image}:{new_id() if given is None else given}"


def _given(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _text(value: UUID | str | None) -> str | None:
    return None if value is None else str(parse_id(value, "supplier"))
