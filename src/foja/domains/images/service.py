"""Galleries of this tenant: every verb of one gallery, by the id of its product."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar
from uuid import UUID

from foja.domains.images.adoption import Adoption, GalleryAdopter, Progress
from foja.domains.images.gallery import Gallery
from foja.domains.images.reads import ImageReads
from foja.domains.images.uploads import Uploads
from foja.engine.driver.snapshot import ForeignTables
from foja.engine.ledger.event import bounded, new_id, parse_id
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.reader import HIGHEST
from foja.engine.ledger.stream import Document, Protect
from foja.errors import UnknownImage
from foja.pure.models.images.events import IMAGE
from foja.pure.models.images.gallery import Image
from foja.pure.models.images.rendering import RenderState

PAGE_PRODUCTS, LOCKED_AT_ONCE = 500, 20
Result = TypeVar("Result")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many products there are, and in how many galleries the rows were wrong."""

    products: int
    mended: int


@dataclass(frozen=True, slots=True)
class GallerySummary:
    """A gallery in a list: its product, how many images it has, and its main image."""

    product_id: UUID
    images: int
    main_id: UUID | None
    main_alt: str | None
    main_variants: Mapping[str, str] | None


def _of(
    verb: Callable[Concatenate[Gallery, P], Awaitable[Result]],
) -> Callable[Concatenate[Images[Document], UUID | str, P], Awaitable[Result]]:
    """Return a verb of a gallery as one of all galleries, with the id of the product first."""

    @wraps(verb)
    async def call(
        self: Images[Document], product_id: UUID | str, /, *values: P.args, **named: P.kwargs
    ) -> Result:
        return await verb(await self.open(product_id), *values, **named)

    return call


class Images(Generic[Document]):
    """Every gallery of this tenant."""

    def __init__(
        self, ledger: Ledger, uploads: Uploads, protect: Protect[Document], notify: Callable[[], None]
    ) -> None:
        """`notify` tells the workers that there may be images to render."""
        self._ledger, self._uploads, self._protect = ledger.only(IMAGE), uploads, protect
        self._reads = ImageReads(self._ledger)
        self._notify = notify

    add = _of(Gallery.add)
    add_url = _of(Gallery.add_url)
    replace = _of(Gallery.replace)
    move = _of(Gallery.move)
    main = _of(Gallery.main)
    remove = _of(Gallery.remove)
    describe = _of(Gallery.describe)
    list = _of(Gallery.list)
    image = _of(Gallery.image)
    content = _of(Gallery.content)
    protect = _of(Gallery.protect)

    async def open(self, product_id: UUID | str | None = None) -> Gallery[Document]:
        """Return the gallery of a product, or that of a new one."""
        found = parse_id(product_id, "product")
        return Gallery(found, self._ledger, self._uploads, self._reads, self._protect)

    async def render(
        self,
        image: Image | UUID | str | None = None,
        *,
        product_id: UUID | str | None = None,
        force: bool = False,
    ) -> int:
        """Render an image again, or all (of a product) whose last job failed or was skipped; return how many.

        An image that failed as often as it may be tried is left out, or refused with `AttemptsSpent` if you
        name it; `force` tries it again, and its attempts count from 0. Raise `UnknownImage` if this tenant
        has no such image.
        """
        wanted = None if image is None else _image_id(image)
        product = None if product_id is None else parse_id(product_id, "product")
        values = {"product": product, "image": wanted, "force": force, "key": str(new_id())}
        [(count,)] = await self._ledger.ask("render_again", **values)
        if wanted is not None and not count:
            raise UnknownImage(f"there is no image {wanted}; it was removed, or is of another tenant")
        self._notify()
        return int(count)

    async def rendering(self, image: Image | UUID | str) -> RenderState:
        """Return the state of an image's variants: of its last job, as the seed names it."""
        wanted = _image_id(image)
        rows = await self._ledger.ask("thumbnail_job", RenderState, image=wanted)
        if not rows:
            raise UnknownImage(f"there is no image {wanted}; it was removed, or is of another tenant")
        return rows[0]

    async def renderings(self, product_id: UUID | str) -> dict[UUID, RenderState]:
        """Return how far the variants of each image of a gallery are."""
        product = parse_id(product_id, "product")
        rows = await self._ledger.ask("gallery_renderings", product=product)
        return {image: RenderState(*state) for image, *state in rows}

    async def thumbhashes(self, product_id: UUID | str) -> dict[UUID, str]:
        """Return the blurred picture of each image of a gallery that was rendered, in base64."""
        rows = await self._ledger.ask("gallery_thumbhashes", product=parse_id(product_id, "product"))
        return dict(rows)

    async def summaries(self, *, before: UUID | None = None, limit: int = 100) -> Sequence[GallerySummary]:
        """Return galleries as a list shows them, newest first; `before` is the last id of the page before."""
        return await self._ledger.ask("product_page", GallerySummary, before=before or HIGHEST, limit=limit)

    async def delete(
        self, product_id: UUID | str, *, reason: str = "product deleted", actor: str | None = None
    ) -> int:
        """Delete a product: its images are removed, with an event each; return how many it had.

        A product that was deleted before has none. Raise `UnknownProduct` if this tenant has no such product.
        """
        bounded([reason, actor])
        product = parse_id(product_id, "product")
        [(count,)] = await self._ledger.change("delete_product", product, reason=reason, actor=actor)
        return int(count)

    async def products(self, *, after: UUID | None = None, limit: int = 100) -> Sequence[UUID]:
        """Return the ids of products in order; `after` is the last id of the page before."""
        return [each for (each,) in await self._ledger.ask("product_ids", after=after, limit=limit)]

    async def products_with_counts(self, *, limit: int = 100) -> Sequence[tuple[UUID, int, UUID | None]]:
        """Return products with the number of their images and their supplier, newest first."""
        rows = await self._ledger.ask("product_counts", limit=limit)
        return [(product, images, supplier) for product, images, supplier in rows]

    async def adopt(
        self,
        tables: ForeignTables,
        *,
        dry_run: bool = True,
        progress: Progress | None = None,
        actor: str | None = None,
    ) -> Adoption:
        """Take products and images from tables of another program; with `dry_run` only report it."""
        [(limit,)] = await self._ledger.ask("gallery_limit")
        return await GalleryAdopter(self._ledger, limit, actor).adopt(
            tables, dry_run=dry_run, progress=progress
        )

    async def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Write the rows of every gallery again from its events; others may write meanwhile."""
        products, mended, after = 0, 0, None
        [(total,)] = await self._ledger.ask("count_products") if progress else [(0,)]
        while page := await self.products(after=after, limit=PAGE_PRODUCTS):
            products, after = products + len(page), page[-1]
            for start in range(0, len(page), LOCKED_AT_ONCE):
                locked = page[start : start + LOCKED_AT_ONCE]
                mended += len(await self._ledger.ask("rebuild_galleries", products=locked))
            if progress:
                progress(products, max(products, total))
        return Rebuilt(products, mended)


def _image_id(image: Image | UUID | str) -> UUID:
    return image.id if isinstance(image, Image) else parse_id(image, "image")
