"""Judge the proof of one event that came as one file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

from foja.errors import BadBundle, NotCanonical, Tampered
from foja.pure.core.bundle.proof_file import PROOF, ProofFile, decode
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.core.excerpt import parse_excerpt
from foja.pure.core.proof import parse_proof
from foja.pure.judge.contents import arguments_match
from foja.pure.judge.detached import Detached
from foja.pure.judge.history import check_event
from foja.pure.judge.inclusion import refusal
from foja.pure.judge.others.monitors import alone
from foja.pure.judge.report import Report, Subject
from foja.pure.judge.trust import Trust
from foja.pure.proofs.finding import Finding

LEDGER = "ledger"


def judge_proof_file(
    file: BinaryIO, subject: Subject, trust: Trust, at: datetime, statements: Sequence[Detached] = ()
) -> Report:
    """Return what the file proves, then what monitors' statements about it do. No input makes it raise."""
    return Report(subject, _judge(file, trust, at, statements), at, trust.required, trust.document())


def _judge(file: BinaryIO, trust: Trust, at: datetime, statements: Sequence[Detached]) -> tuple[Finding, ...]:
    try:
        found = decode(file)
        arguments = _arguments(found)
        _check_spelling(found.proof)
    except BadBundle as error:
        return refusal(LEDGER, error), *map(alone, statements)
    return check_event(found.event, found.proof, trust, at, statements, arguments)


def _arguments(found: ProofFile) -> Json:
    """Return the arguments in the file, or raise `BadBundle` unless the event names their digest."""
    if found.arguments is None:
        return None
    try:
        arguments, event = parse(found.arguments), parse_excerpt(found.event)
        spelled = canonical(arguments)
    except BadBundle:
        raise
    except (NotCanonical, Tampered) as error:
        raise BadBundle("MALFORMED", f"the arguments or their event cannot be read ({error})") from None
    if spelled != found.arguments or not arguments_match(event, arguments):
        raise BadBundle("DIGEST_MISMATCH", "the arguments are not those whose digest the event names")
    return arguments


def _check_spelling(proof: bytes) -> None:
    """Raise `BadBundle` unless the proof is in its one spelling."""
    try:
        text = proof.decode()
        if parse_proof(text).text() == text:
            return
    except UnicodeDecodeError:
        raise BadBundle("MALFORMED", f"{PROOF} is not text in UTF-8") from None
    except Tampered as error:
        raise BadBundle("INCLUSION_INVALID", f"{PROOF}: {error}") from None
    raise BadBundle("NON_CANONICAL", f"{PROOF} is not in its one spelling")
