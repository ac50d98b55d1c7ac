"""The judge's interface for programs: it reads files and the clock. No database, no network."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TypeAlias

from foja.errors import Refused, Tampered
from foja.files import Named, open_file
from foja.pure.core.bundle.foreign import was_bundle
from foja.pure.core.bundle.names import MANIFEST, MEDIA_TYPE, MIMETYPE
from foja.pure.core.bundle.proof_file import MEDIA_TYPE as PROOF_TYPE
from foja.pure.core.event import FIRST, LAST, is_in_calendar
from foja.pure.core.fields import many
from foja.pure.judge.detached import MAX_PROOFS, Detached, judge_detached, limit_proofs, split_statements
from foja.pure.judge.existence import Proven, earliest_of
from foja.pure.judge.proof import MAX_BYTES, UNEXPECTED, not_judged, other_algorithms
from foja.pure.judge.report import Report, Subject, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Finding, Status
from foja.pure.proofs.ots.header import SIZE

TrustItem: TypeAlias = "bytes | Named"
Proof: TypeAlias = "bytes | Named | Detached"
_HEADERS = re.compile(r"block-([0-9]{1,9})\b.*")
_ZIP_HEADER = 30  # bytes before the name of the first file
_CHUNK_BYTES = 1024 * 1024
_LONGEST_PATH = 250
_LONG_LIST = b"\xf8"  # how RLP begins a list as long as a block header
_LARGEST_HEADER = 64 * 1024


def verify(
    subject: bytes | Named | BinaryIO | None = None,
    trust: Trust | TrustItem | Iterable[TrustItem] = (),
    at: datetime | None = None,
    *,
    proofs: Proof | Iterable[Proof] = (),
    headers: Named | Iterable[tuple[int, bytes] | Named] = (),
    digest: str | bytes | None = None,
    name: str | None = None,
    domain: str | None = None,
) -> Report:
    """Return what the evidence proves about a bundle, or about a file with detached proofs.

    `subject` is content, an open file, or a path; `digest` (SHA-256) may replace it, or states the
    digest of the document in a bundle. `trust` is content as docs/verify.md lists it, or paths to it.
    `headers` are block headers you trust; `domain` is that of a history that does not name it. Without `at`
    it is judged as of now.
    """
    moment = _moment(at or datetime.now(UTC))
    trusted = trust if isinstance(trust, Trust) else read(map(_content, many(trust)))
    trusted = with_headers(trusted, many(headers))
    stated = None if digest is None else _digest(digest)
    with ExitStack() as files:
        given = islice(many(proofs), MAX_PROOFS + 1)
        detached, beyond = limit_proofs([_detached(each, files) for each in given])
        if subject is None:
            report = judge_detached(Subject(stated, name), detached, trusted, moment)
            return replace(report, evidence=report.evidence + beyond)
        file, found = files.enter_context(_opened(subject))
        about = Subject(stated, name or found)
        try:
            report = _judge(file, about, detached, trusted, moment, domain)
            return replace(report, evidence=report.evidence + beyond) if beyond else report
        except UNEXPECTED as error:
            finding = not_judged("container", error)
            return Report(about, (finding,), moment, trusted.required, trusted.document())


def _moment(at: datetime) -> datetime:
    """Return the validation time in UTC, or raise `Refused` if it is out of range."""
    if at.tzinfo is None:
        raise Refused("the time to judge at has no time zone; give one, for instance UTC")
    try:
        moment = at.astimezone(UTC)
    except OverflowError:
        moment = LAST
    if not is_in_calendar(moment):
        raise Refused(f"the time to judge at must be from {FIRST:%Y} to {LAST:%Y}, not {at.isoformat()}")
    return moment


def _judge(
    file: BinaryIO,
    subject: Subject,
    proofs: list[Detached],
    trust: Trust,
    at: datetime,
    domain: str | None,
) -> Report:
    if _has_type(file, PROOF_TYPE):
        return _judge_proof_file(file, subject, proofs, trust, at)
    if _is_bundle(file) or (not proofs and was_bundle(file)):
        return _judge_with(file, subject, proofs, trust, at)
    digests = _digests_of(file, set[str]().union(*(other_algorithms(each.data) for each in proofs)))
    whole = Subject(digests["sha256"], subject.name)
    bundles = [each for each in proofs if each.is_bundle]
    if len(bundles) == 1 and subject.sha256 in (None, whole.sha256):
        bundle = bundles[0].bundle or io.BytesIO(bundles[0].data)
        others = [each for each in proofs if not each.is_bundle]
        return _judge_with(bundle, whole, others, trust, at)
    return judge_detached(
        whole, proofs, trust, at, stated=subject.sha256, content=file, digests=digests, domain=domain
    )


def _has_type(file: BinaryIO, media_type: bytes) -> bool:
    """Return whether this is a container of Foja of this type, and not any other ZIP."""
    file.seek(_ZIP_HEADER)
    named = MIMETYPE.encode() + media_type
    return file.read(len(named)) == named


def _judge_proof_file(
    file: BinaryIO, stated: Subject, proofs: list[Detached], trust: Trust, at: datetime
) -> Report:
    """Judge the proof of an event, and what further proofs show about the bytes of its file."""
    from foja.pure.judge.container.proof_file import judge_proof_file  # detached proofs do not need it

    subject = Subject(_digests_of(file, set())["sha256"], stated.name)
    statements, others = split_statements(proofs)
    report = judge_proof_file(file, subject, trust, at, statements)
    more = judge_detached(subject, others, trust, at, stated=stated.sha256).evidence
    return replace(report, evidence=report.evidence + more)


def _is_bundle(file: BinaryIO) -> bool:
    """Return whether this is an evidence bundle, and not a document that happens to be a ZIP.

    The end of the file, where a ZIP has its directory, names the manifest.
    """
    if not _has_type(file, MEDIA_TYPE):
        return False
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _CHUNK_BYTES))
    return MANIFEST.encode() in file.read(_CHUNK_BYTES)


def _judge_with(
    bundle: BinaryIO, subject: Subject, proofs: list[Detached], trust: Trust, at: datetime
) -> Report:
    """Judge a bundle, and proofs beside it: about its document, or else about the bundle's bytes.

    What is undecided is judged again, as of the time by which a proof shows that the bundle existed.
    """
    statements, others = split_statements(proofs)
    report = _judge_bundle(bundle, subject, statements, trust, at)
    more = judge_detached(report.subject, others, trust, at).evidence
    if any(each.status is Status.INVALID for each in more):
        itself = Subject(_digests_of(bundle, set())["sha256"], report.subject.name)
        whole = judge_detached(itself, others, trust, at).evidence
        if report.verdict is Verdict.INDETERMINATE and (anchored := earliest_of(whole)):
            report = _judge_bundle(bundle, subject, statements, trust, at, anchored)
        more = tuple(map(_about_either, more, whole))
    return replace(report, evidence=report.evidence + more)


def _about_either(document: Finding, bundle: Finding) -> Finding:
    """Return the finding about the document, or the one about the bundle if only that one is valid."""
    if document.status is not Status.INVALID or bundle.status is Status.INVALID:
        return document
    return replace(bundle, evidence="bundle")


def _judge_bundle(
    file: BinaryIO,
    subject: Subject,
    statements: list[Detached],
    trust: Trust,
    at: datetime,
    anchored: Proven | None = None,
) -> Report:
    from foja.pure.judge.container.bundle import BundleRequest, judge_bundle  # detached proofs do not need it

    request = BundleRequest(trust, at, subject.sha256, subject.name, anchored, tuple(statements))
    return judge_bundle(file, request)


def _digests_of(file: BinaryIO, others: set[str]) -> dict[str, bytes]:
    """Return the digests of a file of any size, read once, in chunks."""
    hashes = {name: hashlib.new(name) for name in {"sha256", *others}}
    file.seek(0)
    while chunk := file.read(_CHUNK_BYTES):
        for each in hashes.values():
            each.update(chunk)
    return {name: each.digest() for name, each in hashes.items()}


@contextmanager
def _opened(subject: bytes | Named | BinaryIO) -> Iterator[tuple[BinaryIO, str | None]]:
    if isinstance(subject, bytes):
        yield io.BytesIO(subject), None
    elif isinstance(subject, str | PathLike):
        with _open(subject) as file:
            yield _seekable(file), Path(subject).name
    else:
        yield _seekable(subject), None


def _open(path: Named) -> BinaryIO:
    """Return an open file, or raise `Refused` for one that cannot be read."""
    try:
        return open_file(path)
    except (OSError, ValueError) as error:
        raise Refused(f"{str(path)[:250]!a} cannot be read ({error}); give the path of a file") from None


def _read(path: Named) -> bytes:
    with _open(path) as file:
        return file.read()


def _seekable(file: BinaryIO) -> BinaryIO:
    if not file.seekable():
        raise Refused("evidence cannot be read from a pipe; save it to a file first")
    return file


def _content(item: TrustItem) -> str | bytes:
    """Return the content of an item; a short text that is the path of a file means its content."""
    if isinstance(item, bytes):
        return item
    if not isinstance(item, str | PathLike):
        raise Refused(f"{item!r:.80} is not a trust item; give a text, the content of a file, or its path")
    is_path = isinstance(item, PathLike) or (len(item) < _LONGEST_PATH and Path(item).is_file())
    return _read(item) if is_path else str(item)


def _detached(proof: bytes | Named | Detached, files: ExitStack) -> Detached:
    """Return a proof; a bundle stays open, and a proof that is too large is read far enough to be refused."""
    if isinstance(proof, Detached):
        return proof
    if isinstance(proof, bytes):
        return Detached(proof)
    file = files.enter_context(_open(proof))
    found = Detached(file.read(MAX_BYTES + 1), Path(proof).name)
    return replace(found, bundle=_seekable(file)) if found.is_bundle else found


def with_headers(trust: Trust, headers: Iterable[tuple[int, bytes] | Named]) -> Trust:
    """Return the trust with these headers added: Bitcoin headers by height, EVM headers by their hash.

    A file named `block-<height>.*` holds one Bitcoin header of 80 bytes, or several in a row; any
    other file holds one EVM header in RLP. Both are raw or in hexadecimal.
    """
    found, blocks = list(trust.headers), list(trust.blocks)
    for each in headers:
        if isinstance(each, tuple):
            found.append(each)
        elif block := _evm_block(Path(each)):
            blocks.append(block)
        else:
            found += _bitcoin_headers(Path(each))
    if (len(found), len(blocks)) == (len(trust.headers), len(trust.blocks)):
        return trust
    return replace(trust, headers=tuple(found), blocks=tuple(blocks))


def _bitcoin_headers(path: Path) -> list[tuple[int, bytes]]:
    named, data = _HEADERS.fullmatch(path.name), _from_hex(_read(path))
    if named is None:
        raise Refused(f"{path.name!a} does not name its block; rename it block-<height>.hex or .bin")
    if not data or len(data) % SIZE:
        raise Refused(f"{path.name!a} does not hold headers of {SIZE} bytes, raw or as hex")
    return [(int(named[1]) + at // SIZE, data[at : at + SIZE]) for at in range(0, len(data), SIZE)]


def _evm_block(path: Path) -> bytes | None:
    """Return the hash of the EVM block whose header is in this file, or None if it holds another one."""
    with _open(path) as file:
        data = _from_hex(file.read(_LARGEST_HEADER))
    if data[:1] < _LONG_LIST or (_HEADERS.fullmatch(path.name) and len(data) % SIZE == 0):
        return None
    from foja.pure.proofs.evm import parse_header

    try:
        return parse_header(data).hash
    except Tampered:
        return None


def _from_hex(data: bytes) -> bytes:
    """Return the bytes of a hexadecimal text; other data is returned unchanged."""
    try:
        return bytes.fromhex(data.decode().strip().removeprefix("0x"))
    except ValueError:
        return data


def _digest(given: str | bytes) -> bytes:
    try:
        data = given if isinstance(given, bytes) else bytes.fromhex(given.removeprefix("sha256:"))
    except ValueError:
        data = b""
    if len(data) != 32:
        raise Refused(f"{str(given)[:80]!a} is not a SHA-256 digest; write sha256: and 64 hexadecimal digits")
    return data
