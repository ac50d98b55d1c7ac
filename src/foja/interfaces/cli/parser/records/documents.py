"""The parsers of `foja protect`, `sign`, `status`, `explain`, `retry`, `bundle` and `verify`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.values import integer, moment, names_of
from foja.interfaces.cli.parser.verbs import Verbs, add_actor, add_force

STATES = ("none", "protected", "reinforced", "final", "given_up")
REQUIRABLE = ("tsa", "polygon", "bitcoin", "rekor")
EVIDENCE = (*REQUIRABLE, "artifact")
DOCUMENT = "the id of a document, or the protected file"


def add_documents(verbs: Verbs) -> None:
    """Add the verbs `protect`, `status`, `explain` and `retry`."""
    _add_protect(verbs)
    status = verbs.add(
        "documents.status:status",
        "list documents, or show the state and the timeline of one",
        "  foja status\n  foja status contract.pdf\n  foja status --state given_up\n  foja status DOC --json",
    )
    status.add_argument("document", nargs="?", metavar="DOC", help=DOCUMENT)
    status.add_argument(
        "--limit",
        type=integer(1, 1_000_000),
        default=20,
        metavar="N",
        help="at most this many in the list (20)",
    )
    status.add_argument("--state", choices=STATES, help="only documents in this state")
    status.add_argument(
        "--rebuild",
        action="store_true",
        help="the same as `foja rebuild`",
    )
    explain = verbs.add(
        "documents.status:explain",
        "explain what a document waits for, since when, and what happens next",
        "  foja explain contract.pdf\n  foja explain DOC --json",
    )
    explain.add_argument("document", metavar="DOC", help=DOCUMENT)
    _add_retry(verbs)


def _add_retry(verbs: Verbs) -> None:
    retry = verbs.add(
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
    retry.add_argument(
        "--evidence", type=names_of(*EVIDENCE), metavar="LIST", help="only these, separated by commas (all)"
    )
    retry.add_argument("--reason", help="the reason, which is recorded")
    add_actor(retry)


def add_sign(verbs: Verbs) -> None:
    """Add the verb `sign`."""
    sign = verbs.add(
        "documents.sign:sign",
        "check a signature over a document and record it",
        "  foja sign contract.pdf contract.pdf.p7s                  detached CMS or CAdES, over SHA-256\n"
        "  foja sign DOC contract.jws --certificate ana.pem\n"
        "  foja sign DOC contract.sig --key ana.pub\n"
        "  foja sign DOC scan.png --format unchecked --signer Ana   recorded, and shown as unchecked",
    )
    sign.add_argument("document", metavar="DOC", help=DOCUMENT)
    sign.add_argument(
        "signature", type=Path, metavar="FILE", help="the signature: DER, PEM, JWS or raw bytes"
    )
    key = sign.add_mutually_exclusive_group()
    key.add_argument("--key", type=Path, metavar="FILE", help="the public key of the signer, PEM or DER")
    key.add_argument(
        "--certificate", type=Path, metavar="FILE", help="the certificate of the signer, PEM or DER"
    )
    sign.add_argument(
        "--format",
        choices=("cms", "jws", "raw", "unchecked"),
        help="the format (found from the file); unchecked: record it without a check",
    )
    sign.add_argument("--signer", metavar="NAME", help="the name of the signer; nothing proves it")
    sign.add_argument("--reason", help="the reason, which is recorded")
    add_actor(sign)


def _add_protect(verbs: Verbs) -> None:
    protect = verbs.add(
        "documents.protect:protect",
        "add files and folders, and request evidence for each file",
        "  foja protect contract.pdf --wait\n"
        "  foja protect invoices/ --wait              after Ctrl-C, run it again: nothing is stamped twice\n"
        "  foja protect secret.key --hash-only        the bytes are not stored\n"
        "  foja protect contract.pdf --predecessor ID --wait",
    )
    protect.add_argument("files", nargs="+", type=Path, metavar="FILE|FOLDER")
    protect.add_argument(
        "--evidence",
        type=names_of(*REQUIRABLE),
        default="tsa",
        metavar="LIST",
        help="tsa, and networks that are enabled (polygon, bitcoin, rekor), separated by commas (tsa)",
    )
    protect.add_argument(
        "--predecessor", type=UUID, metavar="ID", help="the document of which this file is a new version"
    )
    add_actor(protect)
    protect.add_argument("--hash-only", action="store_true", help="store the digest, not the bytes")
    protect.add_argument(
        "--wait",
        action="store_true",
        help="run the jobs here until none is runnable; exit code 1 "
        "unless all requested evidence and the artifact are there",
    )


def add_bundle(verbs: Verbs) -> None:
    """Add the verb `bundle`."""
    bundle = verbs.add(
        "documents.bundle:bundle",
        "write all evidence of a document as one file",
        "  foja bundle contract.pdf -o contract.asice\n"
        "  foja bundle DOC -o proof.asice --without-document    for readers who have the file\n"
        "  foja bundle DOC -o contract.asice --certificate certificate.pdf --lang es\n"
        "  foja bundle DOC -o contract.asice --monitor contract.monitor",
    )
    bundle.add_argument("document", metavar="DOC", help=DOCUMENT)
    bundle.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    bundle.add_argument("--without-document", action="store_true", help="leave out the bytes of the document")
    bundle.add_argument(
        "--monitor",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="put the statement of a monitor about its last event into it; may be repeated",
    )
    bundle.add_argument("--certificate", type=Path, metavar="PDF", help="also write the report as a PDF")
    _add_language(bundle, "the language of the PDF (en)", "--language")
    add_force(bundle)


def add_trust(verbs: Verbs) -> None:
    """Add the verbs `trust` and `proofs`."""
    trust = verbs.add(
        "documents.trust:trust",
        "print what this installation trusts: roots, keys, blocks of a document's anchors, names of actors",
        "  foja trust -o roots.txt\n"
        "  foja trust contract.pdf -o contract.trust\n"
        "  foja verify contract.asice --trust contract.trust\n"
        "  foja trust ENTITY -o history.trust                  for `foja log export ENTITY` and its events",
    )
    which = f"{DOCUMENT}; or the id of another stream, for its history and events"
    trust.add_argument("document", nargs="?", metavar="DOC", help=which)
    trust.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file to write (print it)")
    add_force(trust)
    proofs = verbs.add(
        "documents.trust:proofs",
        "write each proof of a document in its tool's own format, with the commands that check it",
        "  foja proofs contract.pdf -o proofs/\n  foja proofs DOC -o proofs/ --json",
    )
    proofs.add_argument("document", metavar="DOC", help=DOCUMENT)
    proofs.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to write")
    add_force(proofs)


def add_verify(verbs: Verbs) -> None:
    """Add the verb `verify`."""
    verify = verbs.add(
        "verify.verify:verify",
        "check evidence offline; exit code 0 passed, 2 indeterminate, 1 failed",
        "  foja verify contract.asice --trust roots.pem --trust foja.vkey\n"
        "  foja verify contract.pdf --proof token.tsr --trust roots.pem\n"
        "  foja verify contract.pdf --proof contract.ers --proof contract.blinding --trust roots.pem\n"
        "  foja verify contract.pdf --proof contract.pdf.ots --headers block-358391.hex --json\n"
        "  foja verify --digest sha256:HEX --proof x.sigstore.json --trust trusted_root.json "
        "--html report.html\n"
        "  foja verify contract.asice --trust roots.pem --trust foja.vkey --lang es",
    )
    _add_proofs(verify)
    _add_trust(verify)
    verify.add_argument("--domain", metavar="NAME", help="the domain of a history that does not name it")
    verify.add_argument("--policy", type=Path, metavar="FILE", help="requirements and trust, as JSON")
    verify.add_argument("--at", type=moment, metavar="TIME", help="check as of this time (now)")
    verify.add_argument("--html", type=Path, metavar="OUT", help="also write the report as an HTML page")
    _add_language(verify, "the language of the text and of the page (en)")
    add_force(verify)
    verify.add_argument(
        "--online", action="store_true", help="request missing headers and blocks from your own nodes"
    )


def _add_proofs(verify: ArgumentParser) -> None:
    verify.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a bundle, or a file with --proof")
    verify.add_argument(
        "--proof",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a proof, or the blinding of one; may be repeated",
    )
    verify.add_argument("--digest", metavar="sha256:HEX", help="the digest of the file, instead of the file")


def _add_trust(verify: ArgumentParser) -> None:
    verify.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="FILE",
        help="trusted certificates, keys or trusted_root.json; may be repeated",
    )
    verify.add_argument(
        "--headers",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a trusted Bitcoin header (block-<height>.*) or EVM header; may be repeated",
    )


def _add_language(verb: ArgumentParser, help_text: str, *others: str) -> None:
    verb.add_argument("--lang", *others, dest="language", choices=("en", "es"), default="en", help=help_text)
