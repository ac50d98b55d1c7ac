"""The words of `foja protect`, `status`, `explain` and `retry`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from uuid import UUID

from foja.cli.parser.verbs import Verbs

MAX_LIMIT = 1_000_000
DOCUMENT = "a document's id, or the file that was protected"


def _count(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= MAX_LIMIT:
        raise ArgumentTypeError(f"{word!r} is no number from 1 to {MAX_LIMIT:,}")
    return int(word)


def add_papers(add: Verbs) -> None:
    """Add what can be done with documents."""
    _protect(add)
    status = add(
        "status",
        "documents.status:status",
        "list documents, or show where one stands and what happened to it",
        "  foja status\n"
        "  foja status contract.pdf\n"
        "  foja status DOC --json\n"
        "  foja status --rebuild                      after `foja audit` found a `summary` or a `track`",
    )
    status.add_argument("document", nargs="?", metavar="DOC", help=DOCUMENT)
    status.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="at most so many in the list (20)"
    )
    status.add_argument(
        "--rebuild",
        action="store_true",
        help="write the list and what the guards know anew from the events, and say what was wrong",
    )
    explain = add(
        "explain",
        "documents.status:explain",
        "say what a document waits for, since when, and what happens next",
        "  foja explain contract.pdf\n  foja explain DOC --json",
    )
    explain.add_argument("document", metavar="DOC", help=DOCUMENT)
    _retry(add)


def _retry(add: Verbs) -> None:
    retry = add(
        "retry",
        "documents.retry:retry",
        "grant new attempts for evidence that was given up",
        "  foja retry DOC tsa\n"
        "  foja retry DOC artifact --reason 'the disk is back'\n"
        "  foja retry --all                           after an outage: whatever was given up\n"
        "  foja retry --all --evidence tsa --json",
    )
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "documents",
        nargs="*",
        default=[],
        metavar="DOC",
        help=f"{DOCUMENT}; the last word may be an evidence: tsa, polygon, bitcoin, rekor or artifact",
    )
    which.add_argument("--all", action="store_true", help="every document of which something was given up")
    retry.add_argument("--evidence", metavar="LIST", help="only these, with commas between (all)")
    retry.add_argument("--reason", help="why, for the record")


def _protect(add: Verbs) -> None:
    protect = add(
        "protect",
        "documents.protect:protect",
        "add files and whole folders, and ask for evidence of each",
        "  foja protect contract.pdf --wait\n"
        "  foja protect invoices/ --wait              again after Ctrl-C: nothing is stamped twice\n"
        "  foja protect secret.key --hash-only        the bytes stay where they are\n"
        "  foja protect contract.pdf --predecessor ID --wait",
    )
    protect.add_argument("files", nargs="+", type=Path, metavar="FILE|FOLDER")
    protect.add_argument(
        "--evidence", default="tsa", metavar="LIST", help="tsa, and networks after commas (tsa)"
    )
    protect.add_argument(
        "--predecessor", type=UUID, metavar="ID", help="the document that this one file is a new version of"
    )
    protect.add_argument("--hash-only", action="store_true", help="keep the digest, not the bytes")
    protect.add_argument(
        "--wait",
        action="store_true",
        help="do the work here, and end when nothing is runnable any more; "
        "1 unless all that was asked for is there, the artifact too",
    )
