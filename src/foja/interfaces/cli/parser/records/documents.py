"""The commands `foja protect`, `sign`, `status`, `explain`, `retry`, `bundle` and `verify`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, FORCE, OUTPUT, REASON, Argument, OneOf, command
from foja.interfaces.cli.parser.values import integer, moment, names_of

STATES = ("none", "protected", "reinforced", "final", "given_up")
REQUIRABLE = ("tsa", "polygon", "bitcoin", "rekor")
EVIDENCE = (*REQUIRABLE, "artifact")
EITHER = "the id of a document, or the protected file"
LANGUAGE = Argument("--lang", None, str, "language", choices=("en", "es"), default="en")
DOCUMENT = Argument("DOC", EITHER, parameter="document")
COMMANDS = (
    command(
        "protect",
        "documents.protect:protect",
        "add files and folders, and request evidence for each file",
        "foja protect contract.pdf --wait\n"
        "foja protect invoices/ --wait              after Ctrl-C, run it again: nothing is stamped twice\n"
        "foja protect secret.key --hash-only        the bytes are not stored\n"
        "foja protect contract.pdf --predecessor ID --wait",
        Argument("FILE|FOLDER...", type=Path, parameter="files"),
        Argument(
            "--evidence LIST",
            "tsa, and networks that are enabled (polygon, bitcoin, rekor), separated by commas (tsa)",
            names_of(*REQUIRABLE),
            default="tsa",
        ),
        Argument("--predecessor ID", "the document of which this file is a new version", UUID),
        ACTOR,
        Argument("--hash-only", "store the digest, not the bytes"),
        Argument(
            "--wait",
            "run the jobs here until none is runnable; exit code 1"
            " unless all requested evidence and the artifact are there",
        ),
    ),
    command(
        "status",
        "documents.status:status",
        "list documents, or show the state and the timeline of one",
        "foja status\nfoja status contract.pdf\nfoja status --state given_up\nfoja status DOC --json",
        Argument("[DOC]", EITHER, parameter="document"),
        Argument("--limit N", "at most this many in the list (20)", integer(1, 1_000_000), default=20),
        Argument("--state", "only documents in this state", choices=STATES),
        Argument("--rebuild", "the same as `foja rebuild`"),
    ),
    command(
        "explain",
        "documents.status:explain",
        "explain what a document waits for, since when, and what happens next",
        "foja explain contract.pdf\nfoja explain DOC --json",
        DOCUMENT,
    ),
    command(
        "retry",
        "documents.retry:retry",
        "grant new attempts for evidence that has failed",
        "foja retry DOC tsa\n"
        "foja retry DOC artifact --reason 'the disk is back'\n"
        "foja retry --all                           after an outage: everything that has failed\n"
        "foja retry --all --evidence tsa --json",
        OneOf(
            (
                Argument(
                    "[DOC...]",
                    f"{EITHER}; the last argument may be an evidence: tsa, polygon, bitcoin, rekor or"
                    " artifact",
                    parameter="documents",
                ),
                Argument("--all", "every document with evidence that has failed"),
            ),
            required=True,
        ),
        Argument("--evidence LIST", "only these, separated by commas (all)", names_of(*EVIDENCE)),
        REASON,
        ACTOR,
    ),
    command(
        "sign",
        "documents.sign:sign",
        "check a signature over a document and record it",
        "foja sign contract.pdf contract.pdf.p7s                  detached CMS or CAdES, over SHA-256\n"
        "foja sign DOC contract.jws --certificate ana.pem\n"
        "foja sign DOC contract.sig --key ana.pub\n"
        "foja sign DOC scan.png --format unchecked --signer Ana   recorded, and shown as unchecked",
        DOCUMENT,
        Argument("FILE", "the signature: DER, PEM, JWS or raw bytes", Path, "signature"),
        OneOf(
            (
                Argument("--key FILE", "the public key of the signer, PEM or DER", Path),
                Argument("--certificate FILE", "the certificate of the signer, PEM or DER", Path),
            )
        ),
        Argument(
            "--format",
            "the format (found from the file); unchecked: record it without a check",
            choices=("cms", "jws", "raw", "unchecked"),
        ),
        Argument("--signer NAME", "the name of the signer; nothing proves it"),
        REASON,
        ACTOR,
    ),
    command(
        "bundle",
        "documents.bundle:bundle",
        "write all evidence of a document as one file",
        "foja bundle contract.pdf -o contract.asice\n"
        "foja bundle DOC -o proof.asice --without-document    for readers who have the file\n"
        "foja bundle DOC -o contract.asice --certificate certificate.pdf --lang es\n"
        "foja bundle DOC -o contract.asice --monitor contract.monitor",
        DOCUMENT,
        OUTPUT,
        Argument("--without-document", "leave out the bytes of the document"),
        Argument(
            "--monitor FILE...",
            "put the statement of a monitor about its last event into it; may be repeated",
            Path,
        ),
        Argument("--certificate PDF", "also write the report as a PDF", Path),
        replace(LANGUAGE, usage="--lang --language", help="the language of the PDF (en)"),
        FORCE,
    ),
    command(
        "trust",
        "documents.trust:trust",
        "print what this installation trusts: roots, keys, blocks of a document's anchors, names of actors",
        "foja trust -o roots.txt\n"
        "foja trust contract.pdf -o contract.trust\n"
        "foja verify contract.asice --trust contract.trust\n"
        "foja trust ENTITY -o history.trust                  for `foja log export ENTITY` and its events",
        Argument(
            "[DOC]",
            f"{EITHER}; or the id of another stream, for its history and events",
            parameter="document",
        ),
        Argument("-o --output FILE", "the file to write (print it)", Path),
        FORCE,
    ),
    command(
        "proofs",
        "documents.trust:proofs",
        "write each proof of a document in its tool's own format, with the commands that check it",
        "foja proofs contract.pdf -o proofs/\nfoja proofs DOC -o proofs/ --json",
        DOCUMENT,
        Argument("-o --output FOLDER", "where to write", Path, required=True),
        FORCE,
    ),
    command(
        "verify",
        "verify.verify:verify",
        "check evidence offline; exit code 0 passed, 2 indeterminate, 1 failed",
        "foja verify contract.asice --trust roots.pem --trust foja.vkey\n"
        "foja verify contract.pdf --proof token.tsr --trust roots.pem\n"
        "foja verify contract.pdf --proof contract.ers --proof contract.blinding --trust roots.pem\n"
        "foja verify contract.pdf --proof contract.pdf.ots --headers block-358391.hex --json\n"
        "foja verify --digest sha256:HEX --proof x.sigstore.json --trust trusted_root.json "
        "--html report.html\n"
        "foja verify contract.asice --trust roots.pem --trust foja.vkey --lang es",
        Argument("[FILE]", "a bundle, or a file with --proof", Path),
        Argument("--proof FILE...", "a proof, or the blinding of one; may be repeated", Path),
        Argument("--digest sha256:HEX", "the digest of the file, instead of the file"),
        Argument("--trust FILE...", "trusted certificates, keys or trusted_root.json; may be repeated"),
        Argument(
            "--headers FILE...",
            "a trusted Bitcoin header (block-<height>.*) or EVM header; may be repeated",
            Path,
        ),
        Argument("--domain NAME", "the domain of a history that does not name it"),
        Argument("--policy FILE", "requirements and trust, as JSON", Path),
        Argument("--at TIME", "check as of this time (now)", moment),
        Argument("--html OUT", "also write the report as an HTML page", Path),
        replace(LANGUAGE, help="the language of the text and of the page (en)"),
        FORCE,
        Argument("--online", "request missing headers and blocks from your own nodes"),
    ),
)
