"""The words of `foja bundle`."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.cli.parser.verbs import Verbs

EXAMPLES = (
    "  foja bundle DOC -o contract.asice\n"
    "  foja bundle DOC -o proof.asice --without-document    who has the file needs no second one\n"
    "  foja bundle DOC -o contract.asice --certificate contract.pdf --language es"
)


def add_bundle(add: Verbs) -> None:
    """Add the verb."""
    parser = add(
        "bundle", "bundle.command:bundle", "write the evidence about a document as one file", EXAMPLES
    )
    parser.add_argument("document", type=UUID, metavar="DOC", help="the document's id")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--without-document", action="store_true", help="leave the document itself out")
    parser.add_argument("--certificate", type=Path, metavar="PDF", help="also write a page for people")
    parser.add_argument("--language", choices=("en", "es"), default="en", help="of that page (en)")
