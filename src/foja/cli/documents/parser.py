"""The parsers of `foja protect`, `status`, `explain` and `retry`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from uuid import UUID

from foja.cli.parser.verbs import AddVerb

MAX_LIMIT = 1_000_000
DOCUMENT = "the id of a document, or the protected file"


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise ArgumentTypeError(f"{text!r} is not valid: expected an integer from 1 to {MAX_LIMIT:,}")
    return int(text)


def add_documents(add: AddVerb) -> None:
    """Add the verbs `protect`, `status`, `explain` and `retry`."""
    _add_protect(add)
    status = add(
        "status",
        "documents.status:status",
        "list documents, or show the state and the timeline of one",
        "  foja status\n"
        "  foja status contract.pdf\n"
        "  foja status DOC --json\n"
        "  foja status --rebuild                      after `foja audit` finds a `summary` or a `track`",
    )
    status.add_argument("document", nargs="?", metavar="DOC", help=DOCUMENT)
    status.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="at most this many in the list (20)"
    )
    status.add_argument(
        "--rebuild",
        action="store_true",
        help="rebuild the list and the attempts from the events, and print how many were wrong",
    )
    explain = add(
        "explain",
        "documents.status:explain",
        "explain what a document waits for, since when, and what happens next",
        "  foja explain contract.pdf\n  foja explain DOC --json",
    )
    explain.add_argument("document", metavar="DOC", help=DOCUMENT)
    _add_retry(add)


def _add_retry(add: AddVerb) -> None:
    retry = add(
        "retry",
        "documents.retry:retry",
        "grant new attempts for evidence that has failed",
        "  foja retry DOC tsa\n"
        "  foja retry DOC artifact --reason 'the disk is back'\n"
        "  foja retry --all                           after an outage: everything that has failed\n"
        "  foja retry --all --evidence tsa --json",
    )
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "documents",
        nargs="*",
        default=[],
        metavar="DOC",
        help=f"{DOCUMENT}; the last argument may be an evidence: tsa, polygon, bitcoin, rekor or artifact",
    )
    which.add_argument("--all", action="store_true", help="every document with evidence that has failed")
    retry.add_argument("--evidence", metavar="LIST", help="only these, separated by commas (all)")
    retry.add_argument("--reason", help="the reason, which is recorded")


def _add_protect(add: AddVerb) -> None:
    protect = add(
        "protect",
        "documents.protect:protect",
        "add files and folders, and request evidence for each file",
        "  foja protect contract.pdf --wait\n"
        "  foja protect invoices/ --wait              after Ctrl-C, run it again: nothing is stamped twice\n"
        "  foja protect secret.key --hash-only        the bytes are not stored\n"
        "  foja protect contract.pdf --predecessor ID --wait",
    )
    protect.add_argument("files", nargs="+", type=Path, metavar="FILE|FOLDER")
    protect.add_argument(
        "--evidence", default="tsa", metavar="LIST", help="tsa, and others separated by commas (tsa)"
    )
    protect.add_argument(
        "--predecessor", type=UUID, metavar="ID", help="the document of which this file is a new version"
    )
    protect.add_argument("--hash-only", action="store_true", help="store the digest, not the bytes")
    protect.add_argument(
        "--wait",
        action="store_true",
        help="run the jobs here until none is runnable; exit code 1 "
        "unless all requested evidence and the artifact are there",
    )
