"""`foja images`: list products and their images, add images, delete a product, and print what was changed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from foja.engine.ledger.event import Event
from foja.errors import SetupFailed
from foja.interfaces.answers.images import ImageView
from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_line, print_result, progress_bar, shorten, table
from foja.interfaces.operations.records.images import gallery, view_of

if TYPE_CHECKING:
    from foja.app import App

HEAD = ("place", "image", "content", "alt")


async def overview(arguments: Namespace) -> None:
    """List products, or the images of one in order."""
    async with open_installation(arguments) as app:
        if arguments.product_id is None:
            await _print_products(arguments, app)
            return
        found = await gallery(app.images, arguments.product_id, at=arguments.at)
    rows = [(each.order, each.id, shorten(each.url, 60), shorten(each.alt or "-", 40)) for each in found]
    lines = table(HEAD, rows) if rows else [f"the product {found.product_id} has no images"]
    print_result(arguments, asdict(found), *lines)


async def _print_products(arguments: Namespace, app: App) -> None:
    rows = await app.images.products_with_counts(limit=arguments.limit)
    lines = table(("product", "images", "supplier"), rows) if rows else ["no products"]
    named = ("product_id", "images", "supplier_id")
    print_result(arguments, [dict(zip(named, row, strict=True)) for row in rows], *lines)


async def add(arguments: Namespace) -> None:
    """Add files, or an address elsewhere, at the end of a gallery."""
    if bool(arguments.files) == bool(arguments.url):
        raise SetupFailed("give files, or an address with --url")
    async with open_to_write(arguments) as app:
        opened = await app.images.open(arguments.product_id)
        about = {"supplier_id": arguments.supplier, "alt": arguments.alt, "actor": arguments.actor}
        added = []
        if arguments.url:
            added.append(await opened.add_url(arguments.url, **about))
        with progress_bar("adding") as progress:
            for number, file in enumerate(arguments.files, 1):
                added.append(await opened.add(file, name=file.name, **about))
                if progress:
                    progress(number, len(arguments.files))
    body = {"product_id": str(opened.id), "images": [asdict(view_of(opened.id, each)) for each in added]}
    print_result(arguments, body, *(f"image {image.id} at place {image.order}" for image in added))
    if not arguments.json and arguments.product_id is None:
        print_line(f"of the new product {opened.id}")


async def delete(arguments: Namespace) -> None:
    """Delete a product with its images."""
    async with open_to_write(arguments, existing=True) as app:
        count = await app.images.delete(arguments.product_id, reason=arguments.reason, actor=arguments.actor)
    body = {"product_id": str(arguments.product_id), "removed": count}
    print_result(arguments, body, f"deleted the product {arguments.product_id} and its {count:,} images")


async def rebuild(arguments: Namespace) -> None:
    """Write the rows of every gallery again from its events."""
    async with open_installation(arguments) as app:
        with progress_bar("rebuilding") as progress:
            rebuilt = await app.images.rebuild(progress)
    body = {"products": rebuilt.products, "mended": rebuilt.mended}
    print_result(arguments, body, f"rebuilt {rebuilt.products:,} galleries; {rebuilt.mended:,} were wrong")


def changed(found: ImageView, _: Namespace) -> Iterator[str]:
    """Yield an image that was changed."""
    alt = f", described as {found.alt!r}" if found.alt else ""
    yield f"image {found.id} at place {found.order}{alt}"


def removed(found: Event, _: Namespace) -> Iterator[str]:
    """Yield which image was removed."""
    yield f"removed image {found.payload['image_id']}: event {found.seq} of {found.entity_id}"
