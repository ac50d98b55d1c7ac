"""What lies where in a bundle, and which names can be there at all."""

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
_UNSEEN = frozenset({"Cf", "Zl", "Zp"})  # what turns writing around, or is not seen at all
_HEADER = re.compile(r"evidence/bitcoin/block-(0|[1-9][0-9]{0,9})\.header")


def proof_name(evidence: str, number: int) -> str:
    """Return where the proof of this number lies, in the form of its own tool."""
    return f"evidence/{FOLDERS[evidence]}/{number:02d}.{ENDINGS[evidence]}"


def header_name(height: int) -> str:
    """Return where the Bitcoin header of a height lies: 80 bytes."""
    return f"evidence/bitcoin/block-{height}.header"


def header_height(name: str) -> int | None:
    """Return the height of the Bitcoin header that lies there, if one does."""
    found = _HEADER.fullmatch(name)
    return int(found[1]) if found else None


def renewal_names(number: int) -> tuple[str, str]:
    """Return the archive manifest and the token of a renewal, the first of which is 1."""
    return f"META-INF/ASiCArchiveManifest{number:03d}.xml", f"META-INF/timestamp{number:03d}.tst"


def document_name(name: str) -> str:
    """Return where a document of this name lies: in a folder of its own, so no name can be in the way."""
    seen = "".join("_" if unicodedata.category(each) in _UNSEEN else each for each in name)
    plain = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", seen).replace("/", "_")).strip(". ")
    while len(plain.encode()) > LONGEST_NAME - len(DOCUMENT):
        plain = plain[:-1]
    return DOCUMENT + (plain or "document")


def check_name(name: str) -> None:
    """Raise `BadBundle` if unpacking an entry of this name could touch anything outside."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or _FORBIDDEN.search(name):
        raise BadBundle("PATH_TRAVERSAL", f"{name!a} could lead out of the folder it is unpacked in")
    if "" in parts or "." in parts or len(name.encode()) > LONGEST_NAME:
        raise BadBundle("ZIP_LAYOUT", f"{name!a} cannot be the name of a file in a bundle")
