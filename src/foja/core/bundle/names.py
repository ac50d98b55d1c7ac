"""The paths of the files in a bundle, and the rules for their names."""

from __future__ import annotations

import re
import unicodedata

from foja.errors import BadBundle

MIMETYPE = "mimetype"
MEDIA_TYPE = b"application/vnd.etsi.asic-e+zip"
MANIFEST = "evidence/manifest.json"
EVENTS = "evidence/events.jsonl"
LOG_PROOF = "evidence/events.tlog-proof"
SOURCE_EVENTS = "evidence/source.jsonl"
SOURCE_PROOF = "evidence/source.tlog-proof"
ASIC_MANIFEST = "META-INF/ASiCManifest.xml"
STAMP = "META-INF/timestamp.tst"
TRUST = "trust/"
DOCUMENT = "document/"
META = "META-INF/"

FOLDERS = {"tsa": "tsa", "bitcoin": "bitcoin", "polygon": "evm", "rekor": "rekor"}
ENDINGS = {"tsa": "tsr", "bitcoin": "ots", "polygon": "json", "rekor": "sigstore.json"}

LONGEST_NAME = 255
HEADER_BYTES = 80
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\:]")
_INVISIBLE = frozenset({"Cf", "Zl", "Zp"})  # characters that reverse the text or are not shown
_HEADER = re.compile(r"evidence/bitcoin/block-(0|[1-9][0-9]{0,9})\.header")


def proof_name(evidence: str, number: int) -> str:
    """Return the path of the proof with this number; the file is in the format of its own tool."""
    return f"evidence/{FOLDERS[evidence]}/{number:02d}.{ENDINGS[evidence]}"


def header_name(height: int) -> str:
    """Return the path of the Bitcoin header of a height, a file of 80 bytes."""
    return f"evidence/bitcoin/block-{height}.header"


def header_height(name: str) -> int | None:
    """Return the height of the Bitcoin header at this path, or None if it is another file."""
    found = _HEADER.fullmatch(name)
    return int(found[1]) if found else None


def renewal_names(number: int) -> tuple[str, str]:
    """Return the paths of a renewal's archive manifest and token; renewals count from 1."""
    return f"META-INF/ASiCArchiveManifest{number:03d}.xml", f"META-INF/timestamp{number:03d}.tst"


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
        raise BadBundle("PATH_TRAVERSAL", f"{name!a} could be unpacked outside its folder")
    if "" in parts or "." in parts or len(name.encode()) > LONGEST_NAME:
        raise BadBundle("ZIP_LAYOUT", f"{name!a} is not a valid file name in a bundle")
