"""`foja images add`, `list`, `move`, `main`, `describe`, `remove` and `delete`: the images of one product."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from foja.errors import SetupFailed, UnknownImage
from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_line, print_result, progress_bar, shorten, table

if TYPE_CHECKING:
    from foja.app import App
    from foja.domains.images.gallery import Gallery
    from foja.pure.models.images.gallery import Image

HEAD = ("place", "image", "content", "alt")


async def overview(arguments: Namespace) -> int:
    """List products, or the images of one in order."""
    async with open_installation(arguments) as app:
        if arguments.product is None:
            return await _print_products(arguments, app)
        view = await app.images.list(arguments.product, at=arguments.at)
    body = {"product_id": str(arguments.product), "next_seq": view.next_seq, "images": describe_all(view)}
    rows = [(image.order, image.id, shorten(image.url, 60), shorten(image.alt or "-", 40)) for image in view]
    lines = table(HEAD, rows) if rows else [f"the product {arguments.product} has no images"]
    print_result(arguments, body, *lines)
    return 0


async def _print_products(arguments: Namespace, app: App) -> int:
    rows = await app.images.products_with_counts(limit=arguments.limit)
    lines = table(("product", "images", "supplier"), rows) if rows else ["no products"]
    named = ("product_id", "images", "supplier_id")
    print_result(arguments, [dict(zip(named, row, strict=True)) for row in rows], *lines)
    return 0


async def add(arguments: Namespace) -> int:
    """Add files, or an address elsewhere, at the end of a gallery."""
    if bool(arguments.files) == bool(arguments.url):
        raise SetupFailed("give files, or an address with --url")
    async with open_to_write(arguments) as app:
        gallery = await app.images.open(arguments.product)
        about = {"supplier_id": arguments.supplier, "alt": arguments.alt, "actor": arguments.actor}
        added = []
        if arguments.url:
            added.append(await gallery.add_url(arguments.url, **about))
        with progress_bar("adding") as progress:
            for number, file in enumerate(arguments.files, 1):
                added.append(await gallery.add(file, name=file.name, **about))
                if progress:
                    progress(number, len(arguments.files))
    body = {"product_id": str(gallery.id), "images": describe_all(added)}
    print_result(arguments, body, *(f"image {image.id} at place {image.order}" for image in added))
    if not arguments.json and arguments.product is None:
        print_line(f"of the new product {gallery.id}")
    return 0


async def move(arguments: Namespace) -> int:
    """Move an image to a place."""
    async with open_to_write(arguments, existing=True) as app:
        gallery, image, expected = await _find(app, arguments)
        moved = await gallery.move(image, to=arguments.to, expected_seq=expected, actor=arguments.actor)
    _print_image(arguments, moved)
    return 0


async def main(arguments: Namespace) -> int:
    """Make an image the main one."""
    arguments.to = 0
    return await move(arguments)


async def describe(arguments: Namespace) -> int:
    """Set the alternative text of an image."""
    async with open_to_write(arguments, existing=True) as app:
        gallery, image, expected = await _find(app, arguments)
        described = await gallery.describe(image, arguments.alt, expected_seq=expected, actor=arguments.actor)
    _print_image(arguments, described)
    return 0


async def remove(arguments: Namespace) -> int:
    """Remove an image."""
    async with open_to_write(arguments, existing=True) as app:
        gallery, image, expected = await _find(app, arguments)
        event = await gallery.remove(
            image, reason=arguments.reason, expected_seq=expected, actor=arguments.actor
        )
    print_result(arguments, event.envelope(), f"removed image {image}: event {event.seq} of {gallery.id}")
    return 0


async def delete(arguments: Namespace) -> int:
    """Delete a product with its images."""
    async with open_to_write(arguments, existing=True) as app:
        count = await app.images.delete(arguments.product, reason=arguments.reason, actor=arguments.actor)
    body = {"product_id": str(arguments.product), "removed": count}
    print_result(arguments, body, f"deleted the product {arguments.product} and its {count:,} images")
    return 0


async def rebuild(arguments: Namespace) -> int:
    """Write the rows of every gallery again from its events."""
    async with open_installation(arguments) as app:
        with progress_bar("rebuilding") as progress:
            rebuilt = await app.images.rebuild(progress)
    body = {"products": rebuilt.products, "mended": rebuilt.mended}
    print_result(arguments, body, f"rebuilt {rebuilt.products:,} galleries; {rebuilt.mended:,} were wrong")
    return 0


async def _find(app: App, arguments: Namespace) -> tuple[Gallery, UUID, int | None]:
    """Return the gallery, the image and the expected number. A place is that of the gallery as it is now."""
    gallery, named = await app.images.open(arguments.product), arguments.image
    if isinstance(named, UUID):
        return gallery, (await gallery.image(named)).id, arguments.expected_seq
    view = await gallery.list()
    if named >= len(view):
        raise UnknownImage(f"{gallery.id} has {len(view)} images and none at place {named}; list them")
    expected = view.next_seq if arguments.expected_seq is None else arguments.expected_seq
    return gallery, view[named].id, expected


def _print_image(arguments: Namespace, image: Image) -> None:
    alt = f", described as {image.alt!r}" if image.alt else ""
    print_result(arguments, describe_all([image])[0], f"image {image.id} at place {image.order}{alt}")


def describe_all(images: Iterable[Image]) -> list[dict[str, Any]]:
    """Return images as JSON objects."""
    return [
        {
            "id": str(image.id),
            "order": image.order,
            "main": image.main,
            "image_url": image.url,
            "alt": image.alt,
            "created_at": image.created_at,
            **image.metadata,
            "variants": dict(image.variants),
        }
        for image in images
    ]
