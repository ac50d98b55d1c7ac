"""The judge's door for programs: reads files and the clock, then asks the judge. No database, no network."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TypeAlias

from foja.core.bundle.names import MANIFEST, MEDIA_TYPE, MIMETYPE
from foja.core.bundle.reader import looks_like
from foja.errors import Refused, Tampered
from foja.judge.detached import Detached, judge_detached
from foja.judge.proof import other_algorithm
from foja.judge.report import Report, Subject
from foja.judge.trust import Trust
from foja.judge.trust_parser import read
from foja.proofs.finding import Finding, Status
from foja.proofs.ots.header import SIZE

Named: TypeAlias = "str | PathLike[str]"
_HEADERS = re.compile(r"block-([0-9]{1,9})\b.*")
_SNIFF_BYTES = 30 + len(MIMETYPE) + len(MEDIA_TYPE)  # of a ZIP whose first file says what it is
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_PIECE = 1024 * 1024
_EVIDENCE = MANIFEST.encode().partition(b"/")[0] + b"/"  # the folder of everything that proves
_LONGEST_PATH = 250
_LONG_LIST = b"\xf8"  # how RLP begins a list as long as a block's header
_LARGEST_HEADER = 64 * 1024
_LARGEST_PROOF = 64 * 1024 * 1024


def verify(
    subject: bytes | Named | BinaryIO | None = None,
    trust: Trust | Iterable[str | bytes | PathLike[str]] = (),
    at: datetime | None = None,
    *,
    proofs: Iterable[bytes | Named | Detached] = (),
    headers: Iterable[tuple[int, bytes] | Named] = (),
    digest: str | bytes | None = None,
    name: str | None = None,
) -> Report:
    """Return what the evidence proves about a bundle, or about a file with its proofs beside it.

    `subject` is content, an open file, or where one lies; `digest` (SHA-256) may stand for it, or
    says what must be inside a bundle. `trust` is content as docs/verify.md lists it, or paths to it.
    `headers` are block headers you trust. Without `at` it is judged as of now.
    """
    moment = _moment(at or datetime.now(UTC))
    believed = trust if isinstance(trust, Trust) else read(map(_content, trust))
    believed = with_headers(believed, headers)
    stated = None if digest is None else _digest(digest)
    loose = [_loose(each) for each in proofs]
    if subject is None:
        return judge_detached(Subject(stated, name), loose, believed, moment)
    with _opened(subject) as (file, found):
        return _judge(file, Subject(stated, name or found), loose, believed, moment)


def _moment(at: datetime) -> datetime:
    """Return a time in UTC at which anything can be judged, or raise `Refused`."""
    if at.tzinfo is None:
        raise Refused("the time to judge at has no time zone; give one, for instance UTC")
    try:
        moment = at.astimezone(UTC)
    except OverflowError:
        moment = _FIRST
    if not _FIRST < moment < _LAST:
        raise Refused(f"the time to judge at is between {_FIRST:%Y} and {_LAST:%Y}, not {at.isoformat()}")
    return moment


def _judge(file: BinaryIO, subject: Subject, proofs: list[Detached], trust: Trust, at: datetime) -> Report:
    if _lists_evidence(file) and (_is_bundle(file) or (not proofs and looks_like(file))):
        return _with_more(_judge_bundle(file, subject, trust, at), file, proofs, trust)
    digests = _digests_of(file, {other_algorithm(each.data) for each in proofs})
    whole = Subject(digests["sha256"], subject.name)
    bundles, others = (
        [each for each in proofs if each.is_bundle],
        [each for each in proofs if not each.is_bundle],
    )
    if len(bundles) == 1 and subject.sha256 in (None, whole.sha256):
        bundle = io.BytesIO(bundles[0].data)
        return _with_more(_judge_bundle(bundle, whole, trust, at), bundle, others, trust)
    return judge_detached(whole, proofs, trust, at, stated=subject.sha256, content=file, digests=digests)


def _is_bundle(file: BinaryIO) -> bool:
    """Say whether this is a bundle of evidence, and not a document that happens to be a ZIP."""
    file.seek(0)
    return file.read(_SNIFF_BYTES).endswith(MIMETYPE.encode() + MEDIA_TYPE)


def _lists_evidence(file: BinaryIO) -> bool:
    """Say whether the end of a file, where a ZIP lists what it holds, names any of our evidence."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _PIECE))
    return _EVIDENCE in file.read(_PIECE)


def _with_more(report: Report, bundle: BinaryIO, proofs: list[Detached], trust: Trust) -> Report:
    """Add what proofs beside a bundle show about its document, or else about the bundle's own bytes."""
    more = judge_detached(report.subject, proofs, trust, report.at).evidence
    if any(each.status is Status.INVALID for each in more):
        itself = Subject(_digests_of(bundle, set())["sha256"], report.subject.name)
        whole = judge_detached(itself, proofs, trust, report.at).evidence
        more = tuple(map(_about_either, more, whole))
    return replace(report, evidence=report.evidence + more)


def _about_either(document: Finding, bundle: Finding) -> Finding:
    """Of what a proof shows about a document and about its bundle, return what fits."""
    if document.status is not Status.INVALID or bundle.status is Status.INVALID:
        return document
    return replace(bundle, evidence="bundle")


def _judge_bundle(file: BinaryIO, subject: Subject, trust: Trust, at: datetime) -> Report:
    from foja.judge.container.bundle import BundleRequest, judge_bundle  # late: loose proofs need none of it

    return judge_bundle(file, BundleRequest(trust, at, subject.sha256, subject.name))


def _digests_of(file: BinaryIO, others: set[str | None]) -> dict[str, bytes]:
    """Return the digests of a file of any size, read once, a piece at a time."""
    hashes = {name: hashlib.new(name) for name in {"sha256", *others} if name}
    file.seek(0)
    while piece := file.read(_PIECE):
        for each in hashes.values():
            each.update(piece)
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
        return Path(path).open("rb")
    except (OSError, ValueError) as error:
        raise Refused(f"{str(path)[:250]!a} cannot be read ({error}); give the path of a file") from None


def _seekable(file: BinaryIO) -> BinaryIO:
    if not file.seekable():
        raise Refused("evidence is read from both ends, and a pipe has one; save it to a file first")
    return file


def _content(item: str | bytes | PathLike[str]) -> str | bytes:
    """Return what an item says; a short text that is the name of a file stands for what is in it."""
    if isinstance(item, bytes):
        return item
    named = isinstance(item, PathLike) or (len(item) < _LONGEST_PATH and Path(item).is_file())
    if not named:
        return str(item)
    with _open(item) as file:
        return file.read()


def _loose(proof: bytes | Named | Detached) -> Detached:
    if isinstance(proof, Detached):
        return proof
    if isinstance(proof, bytes):
        return Detached(proof)
    with _open(proof) as file:
        return Detached(file.read(_LARGEST_PROOF), Path(proof).name)


def with_headers(trust: Trust, headers: Iterable[tuple[int, bytes] | Named]) -> Trust:
    """Return the trust with these headers in it: Bitcoin's by height, those of EVM chains by their hash.

    A file named `block-<height>.*` holds one Bitcoin header of 80 bytes, or more that follow it; any
    other holds one EVM header in RLP. Both raw or as hexadecimal.
    """
    found, blocks = list(trust.headers), list(trust.blocks)
    for each in headers:
        if isinstance(each, tuple):
            found.append(each)
        elif block := _evm_block(Path(each)):
            blocks.append(block)
        else:
            found += _bitcoin_headers(Path(each))
    return replace(trust, headers=tuple(found), blocks=tuple(blocks))


def _bitcoin_headers(path: Path) -> list[tuple[int, bytes]]:
    named, data = _HEADERS.fullmatch(path.name), _unhexed(path.read_bytes())
    if named is None:
        raise Refused(f"{path.name!a} does not say which block it is; name it block-<height>.hex or .bin")
    if not data or len(data) % SIZE:
        raise Refused(f"{path.name!a} does not hold headers of {SIZE} bytes, raw or as hex")
    first = int(named[1])
    found = [data[at : at + SIZE] for at in range(0, len(data), SIZE)]
    return [(first + distance, header) for distance, header in enumerate(found)]


def _evm_block(path: Path) -> bytes | None:
    """Return the hash of the EVM block whose header this is, if it is one."""
    with _open(path) as file:
        data = _unhexed(file.read(_LARGEST_HEADER))
    if data[:1] < _LONG_LIST or (_HEADERS.fullmatch(path.name) and len(data) % SIZE == 0):
        return None
    from foja.proofs.evm import parse_header

    try:
        return parse_header(data).hash
    except Tampered:
        return None


def _unhexed(data: bytes) -> bytes:
    """Return the bytes that hexadecimal spells; what is not hexadecimal is raw."""
    try:
        return bytes.fromhex(data.decode().strip().removeprefix("0x"))
    except ValueError:
        return data


def _digest(given: str | bytes) -> bytes:
    if isinstance(given, bytes):
        data = given
    else:
        try:
            data = bytes.fromhex(given.removeprefix("sha256:"))
        except ValueError:
            data = b""
    if len(data) != 32:
        raise Refused(f"{str(given)[:80]!a} is not a SHA-256 digest; write sha256: and 64 hexadecimal digits")
    return data
