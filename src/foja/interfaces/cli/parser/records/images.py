"""The commands `foja images` and `foja stress`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, REASON, Argument, command
from foja.interfaces.cli.parser.values import (
    any_text,
    elsewhere,
    id_or,
    natural,
    place_or_id,
    positive,
    seconds,
)

PRODUCT = Argument("PRODUCT", "the id of a product", UUID, "product_id")
IMAGE = Argument("IMAGE", "the id of an image, or its place in the gallery as it is", place_or_id, "image_id")
EXPECTED = Argument(
    "--expected-seq N",
    "`next_seq` of the list that the change is about; refused if the gallery has changed since",
    natural,
)
LOAD = (
    Argument("--writers WRITERS", "writers at the same time (64)", positive, default=64),
    Argument("--products PRODUCTS", "products that they share (2)", positive, default=2),
    Argument("--seconds SECONDS", "for so long (10)", seconds, default=10.0),
    Argument("--write FILE", "write the report as a page, and its chart beside it as SVG", Path),
)
COMMANDS = (
    command(
        "images",
        "images.gallery:overview",
        "list, add, order, describe, remove and adopt the images of products",
        "foja images add new front.jpg back.jpg\nfoja images list PRODUCT\nfoja images move PRODUCT IMAGE 0",
        defaults={"product_id": None, "at": None, "limit": 100},
    ),
    command(
        "images list",
        "images.gallery:overview",
        "list products, or the images of one in order",
        "foja images list\nfoja images list PRODUCT --json\nfoja images list PRODUCT --at 12",
        Argument("[PRODUCT]", "the id of a product", UUID, "product_id"),
        Argument("--at N", "the gallery as it was after so many events", natural),
        Argument("--limit LIMIT", "at most this many products (100)", positive, default=100),
    ),
    command(
        "images add",
        "images.gallery:add",
        "add images at the end of the gallery of a product",
        "foja images add PRODUCT front.jpg back.jpg --alt 'a red chair'\n"
        "foja images add new front.jpg --supplier SUPPLIER\n"
        "foja images add PRODUCT --url https://cdn.example.com/front.jpg    kept, never fetched",
        Argument("PRODUCT", "the id of a product, or `new`", id_or("new"), "product_id"),
        Argument("[FILE...]", type=Path, parameter="files"),
        Argument("--url URL", "the address of an image that is stored elsewhere", elsewhere),
        Argument("--supplier ID", "the owner of a new product, or who must own it", UUID),
        Argument("--alt TEXT", "the alternative text of each image", any_text),
        ACTOR,
    ),
    command(
        "images move",
        "images.move",
        "move an image to a place, from 0 on",
        "foja images move PRODUCT 3 0",
        PRODUCT,
        IMAGE,
        Argument("PLACE", "its new place, from 0 on", natural, "to"),
        EXPECTED,
        ACTOR,
    ),
    command(
        "images main",
        "images.move",
        "make an image the main one",
        "foja images main PRODUCT IMAGE",
        PRODUCT,
        IMAGE,
        EXPECTED,
        ACTOR,
        defaults={"to": 0},
    ),
    command(
        "images describe",
        "images.describe",
        "set the alternative text of an image; an empty text removes it",
        "foja images describe PRODUCT 0 'a red chair'",
        PRODUCT,
        IMAGE,
        Argument("TEXT", type=any_text, parameter="alt"),
        EXPECTED,
        ACTOR,
    ),
    command(
        "images remove",
        "images.remove",
        "remove an image; those after it move up",
        "foja images remove PRODUCT IMAGE --reason 'out of date'",
        PRODUCT,
        IMAGE,
        REASON,
        EXPECTED,
        ACTOR,
    ),
    command(
        "images delete",
        "images.gallery:delete",
        "delete a product: its images are removed, and their objects are purged later",
        "foja images delete PRODUCT --reason 'no longer sold'",
        PRODUCT,
        replace(REASON, default="product deleted"),
        ACTOR,
    ),
    command(
        "images rebuild",
        "images.gallery:rebuild",
        "write the rows of every gallery again from its events, after `foja audit` finds a `gallery`",
        "foja images rebuild",
    ),
    command(
        "images render",
        "images.variants:render",
        "render the variants of an image again, or of all whose last job failed or was skipped",
        "foja images render\nfoja images render IMAGE --force",
        Argument("--force", "also what failed as often as FOJA_THUMBNAIL_MAX_ATTEMPTS allows"),
        Argument("[IMAGE]", "the id of an image", UUID),
    ),
    command(
        "images adopt",
        "images.adopt:adopt",
        "take products and images from existing tables; exit code 1 if a row is left out",
        "foja images adopt --from postgresql://shop@db/shop --schema public          report only\n"
        "foja images adopt --from postgresql://shop@db/shop --schema public --yes",
        Argument(
            "--from URL", "the database with the tables; it is only read", parameter="source", required=True
        ),
        Argument("--schema NAME", "the schema of products and product_images", required=True),
        ACTOR,
        Argument("--yes", "record it; without this, only report"),
    ),
    command(
        "stress",
        "images.stress:images",
        "run concurrent changes in a temporary database; exit code 1 if an invariant is broken",
        "foja stress images --seconds 30 --json",
        *LOAD,
    ),
    command(
        "stress images",
        "images.stress:images",
        "add, move, remove and choose main images of a few products from many writers at once",
        "foja stress images\nfoja stress images --writers 64 --products 1 --seconds 60",
        *LOAD,
    ),
)
