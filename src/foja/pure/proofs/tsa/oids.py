"""The object identifiers of RFC 3161 and of the documents it builds on."""

from __future__ import annotations

from typing import Final

from foja.pure.proofs.der import NULL, OID, SEQUENCE, DerReader, cached, element, oid_content, sequence

ALGORITHMS: Final = {
    "sha256": oid_content("2.16.840.1.101.3.4.2.1"),
    "sha384": oid_content("2.16.840.1.101.3.4.2.2"),
    "sha512": oid_content("2.16.840.1.101.3.4.2.3"),
}
SIZES: Final = {"sha256": 32, "sha384": 48, "sha512": 64}
ALGORITHM_NAMES: Final = {content: name for name, content in ALGORITHMS.items()}
IDENTIFIERS: Final = {
    name: sequence(element(OID, content), b"\x05\x00") for name, content in ALGORITHMS.items()
}

SIGNED_DATA: Final = oid_content("1.2.840.113549.1.7.2")
DATA: Final = oid_content("1.2.840.113549.1.7.1")
TST_INFO: Final = oid_content("1.2.840.113549.1.9.16.1.4")
CONTENT_TYPE: Final = oid_content("1.2.840.113549.1.9.3")
MESSAGE_DIGEST: Final = oid_content("1.2.840.113549.1.9.4")
SIGNING_CERTIFICATE: Final = oid_content("1.2.840.113549.1.9.16.2.12")
SIGNING_CERTIFICATE_V2: Final = oid_content("1.2.840.113549.1.9.16.2.47")
OCSP_RESPONSE: Final = oid_content("1.3.6.1.5.5.7.16.2")

RSA_WITH: Final = {
    oid_content("1.2.840.113549.1.1.1"): ("sha256", "sha384", "sha512"),
    oid_content("1.2.840.113549.1.1.11"): ("sha256",),
    oid_content("1.2.840.113549.1.1.12"): ("sha384",),
    oid_content("1.2.840.113549.1.1.13"): ("sha512",),
}
RSA_PSS: Final = oid_content("1.2.840.113549.1.1.10")
MGF1: Final = oid_content("1.2.840.113549.1.1.8")
ECDSA_WITH: Final = {
    oid_content("1.2.840.10045.4.3.2"): "sha256",
    oid_content("1.2.840.10045.4.3.3"): "sha384",
    oid_content("1.2.840.10045.4.3.4"): "sha512",
}
ED25519: Final = oid_content("1.3.101.112")

# The policy of Foja's local authority, in the arc of a UUID (2.25): no other authority uses it.
LOCAL_POLICY: Final = "2.25.45111257507295778030454494987936127169"


@cached(SEQUENCE)
def algorithm_of(identifier: DerReader) -> str | None:
    """Return the hash algorithm that comes next, or None if it is not supported."""
    name = ALGORITHM_NAMES.get(identifier.oid())
    if identifier.next == NULL and identifier.take(NULL):
        return None
    if identifier.next != -1:
        return None
    return name
