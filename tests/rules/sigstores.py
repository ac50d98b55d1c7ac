"""A Sigstore instance for tests: logs of both versions, authorities, and bundles of every form."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from foja.pure.core.canonical import canonical
from foja.pure.core.merkle import Frontier, inclusion_proof, leaf_hash, node_hash
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.proofs.rekor.trusted_root import TransparencyLog
from tests.rules.bundles import Stamper

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
DIGEST = sha256(b"document").digest()
IDENTITY, ISSUER = "ana@example.com", "https://accounts.example.com"
_SCTS, _ISSUER = "1.3.6.1.4.1.11129.2.4.2", "1.3.6.1.4.1.57264.1.8"
Change = Callable[[dict[str, Any]], None]


def text64(data: bytes) -> str:
    return b64encode(data).decode()


def spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def armour(kind: str, der: bytes) -> str:
    """Return a PEM text in base64, as Rekor version 1 stores it."""
    body = text64(der)
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return text64("\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""]).encode())


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Instance:
    """All keys of an instance, and the `trusted_root.json` that lists them."""

    old_log: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    new_log: Signer = field(default_factory=lambda: Signer("rekor.example", bytes(range(1, 33))))
    certificate_log: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    authority_key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    stamper: Stamper = field(default_factory=Stamper)
    signer: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    @cached_property
    def authority(self) -> x509.Certificate:
        builder = _named("ca", "ca", self.authority_key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        ca_usage = _usage(key_cert_sign=True, crl_sign=True)
        builder = builder.add_extension(ca_usage, critical=True)
        builder = builder.add_extension(_key_id(self.authority_key), critical=False)
        return builder.sign(self.authority_key, SHA256())

    def certificate(self, *, logged: bool = True, code: bool = True, since: datetime = NOW) -> bytes:
        """Return a certificate of ten minutes for the signer."""
        purpose = ExtendedKeyUsageOID.CODE_SIGNING if code else ExtendedKeyUsageOID.SERVER_AUTH
        start = since - timedelta(minutes=5)
        builder = _named("", "ca", self.signer.public_key(), start, start + timedelta(minutes=10))
        builder = builder.add_extension(_usage(digital_signature=True), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority_key.public_key()),
            critical=False,
        )
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.RFC822Name(IDENTITY)]), critical=True
        )
        issuer = x509.ObjectIdentifier(_ISSUER)
        named = x509.UnrecognizedExtension(issuer, b"\x0c" + bytes([len(ISSUER)]) + ISSUER.encode())
        builder = builder.add_extension(named, critical=False)
        before = builder.sign(self.authority_key, SHA256())
        if not logged:
            return before.public_bytes(Encoding.DER)
        promise = x509.UnrecognizedExtension(
            x509.ObjectIdentifier(_SCTS), self._promise(before.tbs_certificate_bytes)
        )
        return (
            builder.add_extension(promise, critical=False)
            .sign(self.authority_key, SHA256())
            .public_bytes(Encoding.DER)
        )

    def _promise(self, body: bytes) -> bytes:
        moment = int(NOW.timestamp() * 1000).to_bytes(8, "big")
        entry = sha256(spki(self.authority_key)).digest() + len(body).to_bytes(3, "big") + body
        signed = b"\0\0" + moment + b"\0\1" + entry + b"\0\0"
        signature = self.certificate_log.sign(signed, ec.ECDSA(SHA256()))
        log_id = sha256(spki(self.certificate_log)).digest()
        one = b"\0" + log_id + moment + b"\0\0" + b"\4\3" + len(signature).to_bytes(2, "big") + signature
        many = len(one).to_bytes(2, "big") + one
        several = len(many).to_bytes(2, "big") + many
        return (
            b"\x04"
            + (bytes([len(several)]) if len(several) < 128 else b"\x81" + bytes([len(several)]))
            + several
        )

    def trusted_root(self) -> bytes:
        """Return the file that makes all of these keys trusted."""
        since = {"start": "2026-01-01T00:00:00Z"}
        old, new = spki(self.old_log), TransparencyLog.of(self.new_log.verifier())
        new_key = bytes.fromhex("302a300506032b6570032100") + self.new_log.verifier().public_key
        tokens = [self.stamper.signer, self.stamper.root]
        document = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [
                _log("old.example", old, "PKIX_ECDSA_P256_SHA_256", sha256(old).digest()),
                _log("rekor.example", new_key, "PKIX_ED25519", new.id),
            ],
            "certificateAuthorities": [_chain("fulcio", [self.authority.public_bytes(Encoding.DER)], since)],
            "ctlogs": [
                _log(
                    "ct.example",
                    spki(self.certificate_log),
                    "PKIX_ECDSA_P256_SHA_256",
                    sha256(spki(self.certificate_log)).digest(),
                )
            ],
            "timestampAuthorities": [_chain("tsa", [_der(each.pem) for each in tokens], since)],
        }
        return json.dumps(document).encode()

    def bundle(
        self,
        *,
        version: int = 2,
        statement: bool = False,
        certificate: bytes | None = None,
        change: Change | None = None,
        change_body: Change | None = None,
        tokens: int = 1,
        kind: str | None = None,
    ) -> bytes:
        """Return a bundle: by key or certificate, of a digest or a statement, in a log of either version."""
        signed = _statement() if statement else None
        signature = (
            self.signer.sign(_pae(signed), ec.ECDSA(SHA256()))
            if signed
            else self.signer.sign(DIGEST, ec.ECDSA(Prehashed(SHA256())))
        )
        body = _body(version, kind, signed, signature, certificate, spki(self.signer))
        if change_body:
            change_body(body)
        material: dict[str, Any] = (
            {"certificate": {"rawBytes": text64(certificate)}}
            if certificate
            else {"publicKey": {"hint": "ana"}}
        )
        material["tlogEntries"] = [self._entry(version, body)]
        stamped = [{"signedTimestamp": text64(self.stamper.reply(sha256(signature).digest()))}] * tokens
        if version == 2:
            material["timestampVerificationData"] = {"rfc3161Timestamps": stamped}
        document: dict[str, Any] = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": material,
        }
        if signed:
            envelope = {
                "payload": text64(signed),
                "payloadType": _INTOTO,
                "signatures": [{"sig": text64(signature)}],
            }
            document["dsseEnvelope"] = envelope
        else:
            digest = {"algorithm": "SHA2_256", "digest": text64(DIGEST)}
            document["messageSignature"] = {"messageDigest": digest, "signature": text64(signature)}
        if change:
            change(document)
        return json.dumps(document).encode()

    def _entry(self, version: int, body: dict[str, Any]) -> dict[str, Any]:
        data = canonical(body)
        leaves = [leaf_hash(each) for each in (b"a", b"b", data, b"c", b"d")]

        def hash_at(level: int, at: int) -> bytes:
            if level == 0:
                return leaves[at]
            return node_hash(hash_at(level - 1, 2 * at), hash_at(level - 1, 2 * at + 1))

        root = Frontier().extend(leaves).root()
        entry: dict[str, Any] = {
            "logIndex": "2",
            "logId": {"keyId": text64(self._log_id(version))},
            "kindVersion": {"kind": body["kind"], "version": body["apiVersion"]},
            "inclusionProof": {
                "logIndex": "2",
                "rootHash": text64(root),
                "treeSize": str(len(leaves)),
                "hashes": [text64(each) for each in inclusion_proof(2, len(leaves), hash_at)],
                "checkpoint": {"envelope": self._checkpoint(version, Checkpoint("x", len(leaves), root))},
            },
            "canonicalizedBody": text64(data),
        }
        return entry | (self._promised(data) if version == 1 else {})

    def _promised(self, body: bytes) -> dict[str, Any]:
        log_id, moment = self._log_id(1), int(NOW.timestamp())
        promise = {"body": text64(body), "integratedTime": moment, "logID": log_id.hex(), "logIndex": 2}
        signature = self.old_log.sign(canonical(promise), ec.ECDSA(SHA256()))
        return {
            "integratedTime": str(moment),
            "inclusionPromise": {"signedEntryTimestamp": text64(signature)},
        }

    def _checkpoint(self, version: int, checkpoint: Checkpoint) -> str:
        if version == 2:
            return self.new_log.sign(replace(checkpoint, origin=self.new_log.name).text())
        text = replace(checkpoint, origin="old.example - 123").text()
        signature = self._log_id(1)[:4] + self.old_log.sign(text.encode(), ec.ECDSA(SHA256()))
        return f"{text}\n— old.example {text64(signature)}\n"

    def _log_id(self, version: int) -> bytes:
        return (
            sha256(spki(self.old_log)).digest()
            if version == 1
            else TransparencyLog.of(self.new_log.verifier()).id
        )


_INTOTO = "application/vnd.in-toto+json"


def _statement() -> bytes:
    subject = [{"name": "document", "digest": {"sha256": DIGEST.hex()}}]
    kind = "https://in-toto.io/Statement/v1"
    return canonical(
        {"_type": kind, "subject": subject, "predicateType": "https://example.com", "predicate": {}}
    )


def _pae(payload: bytes) -> bytes:
    return b"DSSEv1 %d %b %d %b" % (len(_INTOTO), _INTOTO.encode(), len(payload), payload)


def _body(
    version: int,
    kind: str | None,
    signed: bytes | None,
    signature: bytes,
    certificate: bytes | None,
    key: bytes,
) -> dict[str, Any]:
    name = kind or ("dsse" if signed and version == 1 else "hashedrekord")
    label, verifier = ("CERTIFICATE", certificate) if certificate else ("PUBLIC KEY", key)
    raw = {"rawBytes": text64(verifier)}
    modern = {
        "keyDetails": "PKIX_ECDSA_P256_SHA_256",
        **({"x509Certificate": raw} if certificate else {"publicKey": raw}),
    }
    payload = sha256(signed or b"")
    old_hash = {"algorithm": "sha256", "value": payload.hexdigest()}
    specs: dict[tuple[str, int], Any] = {
        ("hashedrekord", 1): {
            "data": {"hash": {"algorithm": "sha256", "value": DIGEST.hex()}},
            "signature": {"content": text64(signature), "publicKey": {"content": armour(label, verifier)}},
        },
        ("dsse", 1): {
            "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
            "payloadHash": old_hash,
            "signatures": [{"signature": text64(signature), "verifier": armour(label, verifier)}],
        },
        ("intoto", 1): {
            "content": {
                "envelope": {
                    "payloadType": _INTOTO,
                    "signatures": [
                        {
                            "publicKey": armour(label, verifier),
                            "sig": text64(text64(signature).encode()),
                        }
                    ],
                },
                "hash": {"algorithm": "sha256", "value": "0" * 64},
                "payloadHash": old_hash,
            }
        },
        ("hashedrekord", 2): {
            "hashedRekordV002": {
                "data": {
                    "algorithm": "SHA2_256",
                    "digest": text64(sha256(_pae(signed)).digest() if signed else DIGEST),
                },
                "signature": {"content": text64(signature), "verifier": modern},
            }
        },
        ("dsse", 2): {
            "dsseV002": {
                "payloadHash": {"algorithm": "SHA2_256", "digest": text64(payload.digest())},
                "signatures": [{"content": text64(signature), "verifier": modern}],
            }
        },
    }
    api = "0.0.2" if version == 2 or name == "intoto" else "0.0.1"
    return {"apiVersion": api, "kind": name, "spec": specs[name, version]}


def _log(name: str, key: bytes, details: str, log_id: bytes) -> dict[str, Any]:
    return {
        "baseUrl": f"https://{name}",
        "hashAlgorithm": "SHA2_256",
        "publicKey": {
            "rawBytes": text64(key),
            "keyDetails": details,
            "validFor": {"start": "2026-01-01T00:00:00Z"},
        },
        "logId": {"keyId": text64(log_id)},
    }


def _chain(name: str, certificates: list[bytes], since: dict[str, str]) -> dict[str, Any]:
    return {
        "subject": {"organization": "example", "commonName": name},
        "uri": f"https://{name}.example",
        "certChain": {"certificates": [{"rawBytes": text64(each)} for each in certificates]},
        "validFor": since,
    }


def _der(pem: bytes) -> bytes:
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def _named(
    subject: str,
    issuer: str,
    key: ec.EllipticCurvePublicKey,
    start: datetime = NOW - timedelta(days=100),
    end: datetime = NOW + timedelta(days=1000),
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder(_name(issuer), _name(subject), key, 7)
        .not_valid_before(start)
        .not_valid_after(end)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)] if text else [])


def _key_id(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _usage(**allowed: bool) -> x509.KeyUsage:
    names = [
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
    ]
    names += ["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"]
    return x509.KeyUsage(**{name: allowed.get(name, False) for name in names})
