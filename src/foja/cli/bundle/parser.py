"""The parser of `foja bundle`."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.cli.parser.verbs import AddVerb

EXAMPLES = (
    "  foja bundle DOC -o contract.asice\n"
    "  foja bundle DOC -o proof.asice --without-document    for readers who have the file\n"
    "  foja bundle DOC -o contract.asice --certificate contract.pdf --language es"
)


def add_bundle(add: AddVerb) -> None:
    """Add the verb `bundle`."""
    parser = add("bundle", "bundle.bundle:bundle", "write all evidence of a document as one file", EXAMPLES)
    parser.add_argument("document", type=UUID, metavar="DOC", help="the id of the document")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--without-document", action="store_true", help="leave out the bytes of the document")
    parser.add_argument("--certificate", type=Path, metavar="PDF", help="also write the report as a PDF")
    parser.add_argument("--language", choices=("en", "es"), default="en", help="the language of the PDF (en)")
