"""The list of files that the outer timestamp covers: an ASiCManifest of EN 319 162-1, in canonical form.

Expat parses it; declarations of any kind are refused. The result is encoded again and must be equal to the
input, byte by byte. So a reader of XML and a reader of bytes cannot see two different lists.

Each file has its media type, and a renewal marks the list of the renewal before it (`Rootfile`). Lists of the
first version have neither; they are still read (`typed` is false), and no longer written.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn
from urllib.parse import quote, unquote
from xml.parsers import expat

from foja.errors import BadBundle
from foja.pure.core.bundle.names import ARCHIVE_MANIFEST, SEAL_RECORD, media_type
from foja.pure.quotation import quoted

ASIC = "http://uri.etsi.org/02918/v1.2.1#"
DSIG = "http://www.w3.org/2000/09/xmldsig#"
SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256"
MAX_BYTES = 4 << 20
_DIGEST = re.compile("[A-Za-z0-9+/]{43}=")
_ROOT = f'<asic:ASiCManifest xmlns:asic="{ASIC}" xmlns:ds="{DSIG}">'
_PATHS: Mapping[tuple[str, ...], Collection[str]] = {
    (): {"asic:ASiCManifest"},
    ("asic:ASiCManifest",): {"asic:SigReference", "asic:DataObjectReference"},
    ("asic:ASiCManifest", "asic:DataObjectReference"): {"ds:DigestMethod", "ds:DigestValue"},
}


@dataclass(frozen=True, slots=True)
class AsicManifest:
    """The name of a token or evidence record, and the SHA-256 of every file that it covers, in order."""

    token: str
    digests: Mapping[str, bytes]
    typed: bool = True

    def encode(self) -> bytes:
        """Return the canonical form of this list."""
        if self.token == SEAL_RECORD.record:
            return encode_group(self.token, self.digests, typed=self.typed)
        reference = f'URI="{_uri(self.token)}" MimeType="{media_type(self.token)}"'
        return _encode(reference, self.digests, typed=self.typed)


def encode_group(record: str, digests: Mapping[str, bytes], *, typed: bool = True) -> bytes:
    """Return the list of the files that an evidence record is about: an ASiCEvidenceRecordManifest."""
    return _encode(f'URI="{_uri(record)}"', digests, typed=typed)


def decode(data: bytes) -> AsicManifest:
    """Return the list that `encode` wrote, or raise `BadBundle`."""
    if len(data) > MAX_BYTES:
        raise BadBundle("ZIP_BOMB", f"the list of files has {len(data)} bytes; at most {MAX_BYTES} are read")
    parser = _Parser()
    parser.parse(data)
    if len(set(parser.names)) != len(parser.names) or len(parser.names) != len(parser.digests):
        raise BadBundle("MALFORMED", "the list names a file twice, or a file without its digest")
    digests = dict(zip(parser.names, parser.digests, strict=True))
    manifest = AsicManifest(parser.token, digests, parser.typed)
    if manifest.encode() != data:
        raise BadBundle("NON_CANONICAL", "the list of files is not in canonical form")
    return manifest


def _encode(reference: str, digests: Mapping[str, bytes], *, typed: bool) -> bytes:
    renewed = [name for name in digests if name.startswith(ARCHIVE_MANIFEST)][-1:]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _ROOT,
        f"  <asic:SigReference {reference}/>",
        *(
            _reference(name, digest, _attributes(name, root=name in renewed) if typed else "")
            for name, digest in digests.items()
        ),
        "</asic:ASiCManifest>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _attributes(name: str, *, root: bool) -> str:
    return f' MimeType="{media_type(name)}"' + (' Rootfile="true"' if root else "")


def _reference(name: str, digest: bytes, attributes: str) -> str:
    return (
        f'  <asic:DataObjectReference URI="{_uri(name)}"{attributes}>\n'
        f'    <ds:DigestMethod Algorithm="{SHA256}"/>\n'
        f"    <ds:DigestValue>{b64encode(digest).decode()}</ds:DigestValue>\n"
        "  </asic:DataObjectReference>"
    )


@lru_cache(maxsize=256)  # most bundles have the same names; one is at most 65,535 bytes long
def _uri(name: str) -> str:
    return quote(name, safe="/")


@dataclass(slots=True)
class _Parser:
    """What expat has reported so far."""

    token: str = ""
    typed: bool = False  # whether the last file that was seen has a media type
    names: list[str] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def parse(self, data: bytes) -> None:
        parser = expat.ParserCreate("UTF-8")
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_entity
        parser.SkippedEntityHandler = _refuse_entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = "XML_ENTITY" if error.code in _ENTITY_ERRORS else "MALFORMED"
            raise BadBundle(reason, f"the list of files is not valid XML ({error})") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name not in _PATHS.get(tuple(self.path), ()):
            raise BadBundle("MALFORMED", f"the list of files has an unexpected element {quoted(name)}")
        if name == "asic:SigReference":
            self.token = unquote(attributes.get("URI", ""))
        if name == "asic:DataObjectReference":
            self.names.append(unquote(attributes.get("URI", "")))
            self.typed = "MimeType" in attributes
        self.path.append(name)
        self.text = []

    def _end(self, name: str) -> None:
        self.path.pop()
        if name == "ds:DigestValue":
            text = "".join(self.text)
            if not _DIGEST.fullmatch(text):
                raise BadBundle("MALFORMED", f"{quoted(text)} is not a SHA-256 in base64")
            self.digests.append(b64decode(text))

    def _characters(self, text: str) -> None:
        if self.path[-1:] == ["ds:DigestValue"]:
            self.text.append(text)


def _refuse_doctype(*_: object) -> NoReturn:
    raise BadBundle("XML_DTD", "the list of files declares a document type, which is not allowed")


def _refuse_entity(*_: object) -> NoReturn:
    raise BadBundle("XML_ENTITY", "the list of files uses an entity, which is not allowed")


_ENTITY_ERRORS = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_UNDEFINED_ENTITY,
        expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF,
        expat.errors.XML_ERROR_ENTITY_DECLARED_IN_PE,
    )
}
