"""The name that a token gives its authority (TSTInfo.tsa) must be one of its signer's certificate."""

from __future__ import annotations

from functools import lru_cache

from cryptography import x509

from foja.errors import Malformed
from foja.pure.proofs.der import SEQUENCE, SET, UTF8, DerReader, tagged
from foja.pure.proofs.finding import Flaw, Reason
from foja.pure.proofs.tsa.certificate import Certificate

_DIRECTORY = tagged(4)
_STRINGS = {
    UTF8: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}

Name = tuple[frozenset[tuple[bytes, str]], ...]


@lru_cache(maxsize=64)
def check_authority_name(stated: bytes | None, signer: Certificate) -> None:
    """Raise `Flaw` if the token names an authority that its signer's certificate does not name."""
    if stated is None:
        return
    parts = DerReader(stated)
    if parts.next == _DIRECTORY:
        name = parts.enter(_DIRECTORY)
        parts.finish()
        matches = _name(name) == _name(DerReader(signer.subject))
    else:
        matches = stated in _alternative_names(signer)
    if not matches:
        raise Flaw(Reason.TSA_NAME_MISMATCH, f"it names another authority than {signer.name}, its signer")


def _name(reader: DerReader) -> Name:
    """Return a distinguished name as X.500 compares it: without the case, spaces and types of its texts."""
    parts, found = reader.into(SEQUENCE), list[frozenset[tuple[bytes, str]]]()
    while parts.next != -1:
        attributes, values = parts.enter(SET), set[tuple[bytes, str]]()
        while attributes.next != -1:
            attribute = attributes.enter(SEQUENCE)
            values.add((attribute.oid(), _text(attribute)))
        found.append(frozenset(values))
    return tuple(found)


def _text(attribute: DerReader) -> str:
    tag = attribute.next
    try:
        text = attribute.take(tag).decode(_STRINGS.get(tag, "latin-1"))
    except UnicodeDecodeError:
        raise Malformed("a name in it is not text") from None
    attribute.finish()
    return " ".join(text.casefold().split())


def _alternative_names(signer: Certificate) -> list[bytes]:
    """Return the other names of a certificate, each as encoded."""
    try:
        names = signer.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    parts, found = DerReader(names.public_bytes()).into(SEQUENCE), list[bytes]()
    while parts.next != -1:
        found.append(parts.any())
    return found
