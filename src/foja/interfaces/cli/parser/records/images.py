"""The parsers of `foja images` and `foja stress`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.values import any_text, natural, place_or_id, positive, seconds
from foja.interfaces.cli.parser.verbs import Verbs, add_actor
from foja.pure.models.images.address import has_other_form

PRODUCT = "the id of a product"
CHANGES = {
    "move": ("move an image to a place, from 0 on", "  foja images move PRODUCT 3 0", ("to",)),
    "main": ("make an image the main one", "  foja images main PRODUCT IMAGE", ()),
    "describe": (
        "set the alternative text of an image; an empty text removes it",
        "  foja images describe PRODUCT 0 'a red chair'",
        ("alt",),
    ),
    "remove": (
        "remove an image; those after it move up",
        "  foja images remove PRODUCT IMAGE --reason 'out of date'",
        (),
    ),
}


def add_images(verbs: Verbs) -> None:
    """Add the verb `images` and its verbs; without a verb the products are listed."""
    images = verbs.add(
        "images.gallery:overview",
        "list, add, order, describe, remove and adopt the images of products",
        "  foja images add new front.jpg back.jpg\n"
        "  foja images list PRODUCT\n"
        "  foja images move PRODUCT IMAGE 0",
        name="images",
    )
    images.set_defaults(product=None, at=None, limit=100)
    inner = Verbs(images)
    _add_list(inner)
    _add_add(inner)
    for name in CHANGES:
        _add_change(inner, name)
    _add_delete(inner)
    inner.add(
        "images.gallery:rebuild",
        "write the rows of every gallery again from its events, after `foja audit` finds a `gallery`",
        "  foja images rebuild",
    )
    render = inner.add(
        "images.variants:render",
        "render the variants of an image again, or of all whose last job failed or was skipped",
        "  foja images render\n  foja images render IMAGE --force",
    )
    render.add_argument(
        "--force", action="store_true", help="also what failed as often as FOJA_THUMBNAIL_MAX_ATTEMPTS allows"
    )
    render.add_argument("image", nargs="?", type=UUID, metavar="IMAGE", help="the id of an image")
    _add_adopt(inner)


def _add_list(verbs: Verbs) -> None:
    listing = verbs.add(
        "images.gallery:overview",
        "list products, or the images of one in order",
        "  foja images list\n  foja images list PRODUCT --json\n  foja images list PRODUCT --at 12",
        name="list",
    )
    listing.add_argument("product", nargs="?", type=UUID, metavar="PRODUCT", help=PRODUCT)
    listing.add_argument("--at", type=natural, metavar="N", help="the gallery as it was after so many events")
    listing.add_argument("--limit", type=positive, default=100, help="at most this many products (100)")


def _add_add(verbs: Verbs) -> None:
    add = verbs.add(
        "images.gallery:add",
        "add images at the end of the gallery of a product",
        "  foja images add PRODUCT front.jpg back.jpg --alt 'a red chair'\n"
        "  foja images add new front.jpg --supplier SUPPLIER\n"
        "  foja images add PRODUCT --url https://cdn.example.com/front.jpg    kept, never fetched",
    )
    add.add_argument("product", type=_product, metavar="PRODUCT", help=f"{PRODUCT}, or `new`")
    add.add_argument("files", nargs="*", type=Path, metavar="FILE")
    add.add_argument("--url", type=_url, help="the address of an image that is stored elsewhere")
    add.add_argument(
        "--supplier", type=UUID, metavar="ID", help="the owner of a new product, or who must own it"
    )
    add.add_argument("--alt", type=any_text, metavar="TEXT", help="the alternative text of each image")
    add_actor(add)


def _add_change(verbs: Verbs, name: str) -> None:
    sentence, examples, more = CHANGES[name]
    change = verbs.add(f"images.gallery:{name}", sentence, examples)
    change.add_argument("product", type=UUID, metavar="PRODUCT", help=PRODUCT)
    change.add_argument(
        "image",
        type=place_or_id,
        metavar="IMAGE",
        help="the id of an image, or its place in the gallery as it is",
    )
    if "to" in more:
        change.add_argument("to", type=natural, metavar="PLACE", help="its new place, from 0 on")
    if "alt" in more:
        change.add_argument("alt", type=any_text, metavar="TEXT")
    if name == "remove":
        change.add_argument("--reason", default="removed", help="the reason, which is recorded")
    change.add_argument(
        "--expected-seq",
        type=natural,
        metavar="N",
        help="`next_seq` of the list that the change is about; refused if the gallery has changed since",
    )
    add_actor(change)


def _add_delete(verbs: Verbs) -> None:
    delete = verbs.add(
        "images.gallery:delete",
        "delete a product: its images are removed, and their objects are purged later",
        "  foja images delete PRODUCT --reason 'no longer sold'",
    )
    delete.add_argument("product", type=UUID, metavar="PRODUCT", help=PRODUCT)
    delete.add_argument("--reason", default="product deleted", help="the reason, which is recorded")
    add_actor(delete)


def _add_adopt(verbs: Verbs) -> None:
    adopt = verbs.add(
        "images.adopt:adopt",
        "take products and images from existing tables; exit code 1 if a row is left out",
        "  foja images adopt --from postgresql://shop@db/shop --schema public          report only\n"
        "  foja images adopt --from postgresql://shop@db/shop --schema public --yes",
    )
    adopt.add_argument(
        "--from",
        dest="source",
        required=True,
        metavar="URL",
        help="the database with the tables; it is only read",
    )
    adopt.add_argument(
        "--schema", required=True, metavar="NAME", help="the schema of products and product_images"
    )
    add_actor(adopt)
    adopt.add_argument("--yes", action="store_true", help="record it; without this, only report")


def add_stress(verbs: Verbs) -> None:
    """Add the verb `stress` and its verbs."""
    stress = verbs.add(
        "images.stress:images",
        "run concurrent changes in a temporary database; exit code 1 if an invariant is broken",
        "  foja stress images --seconds 30 --json",
        name="stress",
    )
    _add_load(stress)
    _add_load(
        Verbs(stress).add(
            "images.stress:images",
            "add, move, remove and choose main images of a few products from many writers at once",
            "  foja stress images\n  foja stress images --writers 64 --products 1 --seconds 60",
        )
    )


def _add_load(verb: ArgumentParser) -> None:
    verb.add_argument("--writers", type=positive, default=64, help="writers at the same time (64)")
    verb.add_argument("--products", type=positive, default=2, help="products that they share (2)")
    verb.add_argument("--seconds", type=seconds, default=10.0, help="for so long (10)")
    verb.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="write the report as a page, and its chart beside it as SVG",
    )


def _url(text: str) -> str:
    if not text or has_other_form(text):
        raise ArgumentTypeError(f"{text!r} is not valid: expected an https:// address, or a path")
    return text


def _product(text: str) -> UUID | None:
    try:
        return None if text == "new" else UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not valid: expected a UUID or `new`") from None
