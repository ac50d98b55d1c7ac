"""The paths of the files in a bundle, and the rules for their names."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from foja.errors import BadBundle
from foja.pure.quotation import quoted

MIMETYPE = "mimetype"
MEDIA_TYPE = b"application/vnd.etsi.asic-e+zip"
MANIFEST = "evidence/manifest.json"
EVENTS = "evidence/events.jsonl"
LOG_PROOF = "evidence/events.tlog-proof"
SOURCE_EVENTS = "evidence/source.jsonl"
SOURCE_PROOF = "evidence/source.tlog-proof"
MONITORED, SOURCE_MONITORED = "evidence/events.monitor", "evidence/source.monitor"
ASIC_MANIFEST = "META-INF/ASiCManifest.xml"
ARCHIVE_MANIFEST = "META-INF/ASiCArchiveManifest"  # the beginning of the names of renewals
NEWEST_MANIFEST = f"{ARCHIVE_MANIFEST}.xml"  # the list of the newest renewal; older ones have a number
STAMP = "META-INF/timestamp.tst"
TRUST = "trust/"
TSA_COPIES, LOG_COPY = "trust/tsa.pem", "trust/log.vkey"  # all that this folder may hold
DOCUMENT = "document/"
META = "META-INF/"

FOLDERS = {"tsa": "tsa", "bitcoin": "bitcoin", "polygon": "evm", "rekor": "rekor"}
ENDINGS = {"tsa": "tsr", "bitcoin": "ots", "polygon": "json", "rekor": "sigstore.json"}
BATCHED_START, _BATCHED = b'{"batch":', {"rekor": "rekor.json"}  # a proof of a batch that has its own form

RECORDED = "tsa"  # the kind of evidence whose proof may be an evidence record

_MEDIA_TYPES = {  # of the files that a bundle has, and of the most frequent documents
    "tst": "application/vnd.etsi.timestamp-token",
    "tsr": "application/timestamp-reply",
    "xml": "text/xml",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "pem": "application/pem-certificate-chain",
    "tlog-proof": "text/plain",
    "monitor": "text/plain",
    "vkey": "text/plain",
    "txt": "text/plain",
    "csv": "text/csv",
    "html": "text/html",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "odt": "application/vnd.oasis.opendocument.text",
}

LONGEST_NAME = 255
HEADER_BYTES = 80
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\:]")
_INVISIBLE = frozenset({"Cf", "Zl", "Zp"})  # characters that reverse the text or are not shown
_RECORD_FILE = re.compile(r"META-INF/(?:evidencerecord[0-9]+\.ers|ASiCEvidenceRecordManifest[0-9]+\.xml)")
_HEADER = re.compile(r"evidence/bitcoin/block-(0|[1-9][0-9]{0,9})\.header")


def proof_name(evidence: str, number: int, data: bytes = b"") -> str:
    """Return the path of the proof with this number that begins like `data`.

    The file is in the format of its own tool, except one that holds a place in a batch beside it.
    """
    endings = _BATCHED if evidence in _BATCHED and data.startswith(BATCHED_START) else ENDINGS
    return f"evidence/{FOLDERS[evidence]}/{number:02d}.{endings[evidence]}"


def loose_name(path: str) -> str:
    """Return the name of a proof outside a bundle: the last part of its path, and for EVM its format."""
    name = path.rpartition("/")[2]
    return name.replace(".json", ".evm.json") if f"/{FOLDERS['polygon']}/" in path else name


class RecordNames(NamedTuple):
    """The paths of an evidence record, of the list of its group, and of the random file in its group."""

    record: str
    listing: str
    blinding: str


def record_names(number: int) -> RecordNames:
    """Return the paths of the evidence record with this number, as EN 319 162-1 names them."""
    return RecordNames(
        f"{META}evidencerecord{number:02d}.ers",
        f"{META}ASiCEvidenceRecordManifest{number:02d}.xml",
        f"evidence/{FOLDERS[RECORDED]}/{number:02d}.blinding",
    )


SEAL_RECORD = RecordNames(  # in place of the first token, if one token seals a batch of bundles
    f"{META}evidencerecord.ers",
    f"{META}ASiCEvidenceRecordManifest.xml",
    f"{META}evidencerecord.blinding",
)


def is_record_file(name: str) -> bool:
    """Return whether this is the path of a proof that is an evidence record, or of the list of its group."""
    return _RECORD_FILE.fullmatch(name) is not None


def is_seal_list(name: str) -> bool:
    """Return whether this is the path of a list of files that an outer timestamp covers."""
    return name == ASIC_MANIFEST or name.startswith(ARCHIVE_MANIFEST)


def header_height(name: str) -> int | None:
    """Return the height of the Bitcoin header at this path, or None if it is another file."""
    found = _HEADER.fullmatch(name)
    return int(found[1]) if found else None


def seal_names(number: int) -> tuple[str, str]:
    """Return the paths of the newest list of files and of its token: the first (0), or those of a renewal."""
    if number == 0:
        return ASIC_MANIFEST, STAMP
    return NEWEST_MANIFEST, f"{META}timestamp{number:03d}.tst"


def renewed_names(number: int) -> tuple[str, str]:
    """Return the paths of the list and the token of a renewal that was renewed: its list has a number.

    In a bundle of the first version the newest renewal has these paths too.
    """
    return f"{ARCHIVE_MANIFEST}{number:03d}.xml", seal_names(number)[1]


def renewed_name(name: str, number: int) -> str:
    """Return the path of a file in a container that is renewed for this number of times."""
    return renewed_names(number - 1)[0] if name == NEWEST_MANIFEST else name


def media_type(name: str) -> str:
    """Return the media type of a file: by its name alone, so that a list has one encoding."""
    return _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def document_name(name: str) -> str:
    """Return the path of a document with this name. Its own folder prevents collisions of names."""
    visible = "".join("_" if unicodedata.category(each) in _INVISIBLE else each for each in name)
    plain = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", visible).replace("/", "_")).strip(". ")
    while len(plain.encode()) > LONGEST_NAME - len(DOCUMENT):
        plain = plain[:-1]
    return DOCUMENT + (plain or "document")


def check_name(name: str) -> None:
    """Raise `BadBundle` if this name is not valid or could be unpacked outside its folder."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or _FORBIDDEN.search(name):
        raise BadBundle("PATH_TRAVERSAL", f"{quoted(name)} could be unpacked outside its folder")
    if "" in parts or "." in parts or len(name.encode()) > LONGEST_NAME:
        raise BadBundle("ZIP_LAYOUT", f"{quoted(name)} is not a valid file name in a bundle")
