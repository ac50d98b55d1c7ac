"""JWS in compact form (RFC 7515): its payload is the witness, as 64 hexadecimal digits, or left out."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm

from foja.errors import Malformed, NotCanonical
from foja.pure.core.canonical import Json, parse
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.signatures.signer import Signature, Signer, certified, given_signer, unsupported
from foja.pure.proofs.tsa.certificate import parse_certificates
from foja.pure.proofs.tsa.cms import MAX_CERTIFICATES
from foja.pure.quotation import quoted

MAX_BYTES = 65_536
HASHES: Mapping[str, HashAlgorithm] = {"256": SHA256(), "384": SHA384(), "512": SHA512()}
CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


class _Parts(NamedTuple):
    header: Mapping[str, Json]
    signed: bytes
    value: bytes


def verify_jws(signature: Signature, witness: bytes) -> Signer:
    """Return the signer of a JWS over this digest, or raise `Flaw` or `Malformed`."""
    parts = _parse(signature.value, witness)
    algorithm = parts.header.get("alg")
    if algorithm == "none":
        raise Flaw(Reason.SIGNATURE_INVALID, "its algorithm is none: it is not signed")
    if "crit" in parts.header or parts.header.get("b64") is not None:
        raise Flaw(Reason.EXTENSION_UNSUPPORTED, "its header has a critical extension", Status.UNSUPPORTED)
    signer = _signer(parts.header, signature)
    try:
        _verify(signer, str(algorithm), parts)
    except (InvalidSignature, ValueError):
        raise Flaw(Reason.SIGNATURE_INVALID, f"{signer.name} did not sign it") from None
    return signer


def _parse(value: bytes, witness: bytes) -> _Parts:
    if len(value) > MAX_BYTES:
        raise Malformed(f"the JWS has {len(value):,} bytes; at most {MAX_BYTES:,} are read")
    pieces = value.split(b".")
    if len(pieces) != 3:
        raise Malformed("it is not a JWS in compact form: three parts with dots between them")
    encoded, payload, made = pieces
    try:
        header = parse(_decode(encoded))
    except NotCanonical as error:
        raise Malformed(f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise Malformed("its header is not a JSON object")
    about = urlsafe_b64encode(witness.hex().encode()).rstrip(b"=")
    if payload not in (b"", about):
        raise Flaw(Reason.DIGEST_MISMATCH, "its payload is not the digest of the document in hexadecimal")
    return _Parts(header, encoded + b"." + about, _decode(made))


def _decode(text: bytes) -> bytes:
    """Return bytes that are written in base64url without padding, in their one spelling."""
    try:
        data = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except (NotBase64, ValueError):
        data = b""
    if urlsafe_b64encode(data).rstrip(b"=") != text:
        raise Malformed("a part of it is not base64url")
    return data


def _signer(header: Mapping[str, Json], signature: Signature) -> Signer:
    """Return the signer that was given, else that of the certificates in the header."""
    given, listed = given_signer(signature), header.get("x5c")
    if listed is None:
        if given is None:
            raise Flaw(
                Reason.SIGNER_CERTIFICATE_MISSING,
                "the key of its signer is neither in it nor given",
                Status.INDETERMINATE,
            )
        return given
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_CERTIFICATES:
        raise Malformed(f"its header does not list 1 to {MAX_CERTIFICATES} certificates")
    try:
        embedded = parse_certificates([b64decode(str(each), validate=True) for each in listed])
    except (NotBase64, ValueError):
        raise Malformed("a certificate in its header is not base64") from None
    signer = certified(embedded[0])._replace(embedded=embedded)
    if given and given.spki != signer.spki:
        raise Flaw(Reason.SIGNATURE_INVALID, f"its header names {signer.name}, not the key given")
    return signer


def _verify(signer: Signer, algorithm: str, parts: _Parts) -> None:
    key, (value, signed) = signer.key, (parts.value, parts.signed)
    digest = HASHES.get(algorithm[2:])
    if algorithm in ("EdDSA", "Ed25519") and isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(value, signed)
    elif isinstance(key, ec.EllipticCurvePublicKey) and CURVES.get(algorithm) == key.curve.name and digest:
        key.verify(_dss(value, (key.key_size + 7) // 8), signed, ec.ECDSA(digest))
    elif isinstance(key, rsa.RSAPublicKey) and algorithm[:2] == "RS" and digest:
        key.verify(value, signed, padding.PKCS1v15(), digest)
    elif isinstance(key, rsa.RSAPublicKey) and algorithm[:2] == "PS" and digest:
        key.verify(value, signed, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
    else:
        raise unsupported(f"its algorithm {quoted(algorithm)} is not supported with this key")


def _dss(value: bytes, size: int) -> bytes:
    """Return a signature of two numbers of this size as DER."""
    if len(value) != 2 * size:
        raise ValueError("its signature has the wrong size")
    return encode_dss_signature(int.from_bytes(value[:size]), int.from_bytes(value[size:]))
