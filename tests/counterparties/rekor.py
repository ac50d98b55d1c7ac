"""A Rekor log of version 2 over real HTTP: it grows, refuses, and fails as it is told.

with running_rekor() as log:
    … FOJA_REKOR_URL=log.url, FOJA_REKOR_KEY=log.vkey …
    log.behave("lost", "honest")    # one per entry; the last one stays

Its tree, its notes and its tiles are made here, without the code that is tested.
"""

from __future__ import annotations

import json
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from tests.counterparties.http_server import listening

NAME = "rekor.example"
WIDTH = 256
_TILE = re.compile(r"tile/([0-5])/((?:x\d{3}/)*\d{3})(?:\.p/(\d+))?")


def text64(data: bytes) -> str:
    return b64encode(data).decode()


def tree_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, 2.1."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256(b"").digest()
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + tree_root(leaves[:middle]) + tree_root(leaves[middle:])).digest()


def audit_path(index: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return []
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    if index < middle:
        return [*audit_path(index, leaves[:middle]), tree_root(leaves[middle:])]
    return [*audit_path(index - middle, leaves[middle:]), tree_root(leaves[:middle])]


class RekorLog:
    """One log: its key, its entries, its published size, and what it will do next."""

    def __init__(self, name: str = NAME) -> None:
        self.name, self.url = name, ""
        self.key = Ed25519PrivateKey.generate()
        self.entries = list[bytes]()
        self.published = 0
        self.automatic = True  # publish a checkpoint with every entry
        self.posts = 0
        self.released = threading.Event()
        self._next = ["honest"]
        self._lock = threading.Lock()

    # keys and trust

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    @property
    def log_id(self) -> bytes:
        return sha256(f"{self.name}\n".encode() + b"\x01" + self.public_key).digest()

    @property
    def vkey(self) -> str:
        key = text64(b"\x01" + self.public_key)
        return f"{self.name}+{self.log_id[:4].hex()}+{key}"

    @property
    def pem(self) -> str:
        pem = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem.decode()

    def trusted_root(self, *authorities: bytes) -> dict[str, Any]:
        """Return the trusted root of an instance with this log and a timestamp authority, leaf first, DER."""
        since = {"start": "2020-01-01T00:00:00Z"}
        der = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        chain = {"certificates": [{"rawBytes": text64(each)} for each in authorities]}
        log = {
            "baseUrl": f"https://{self.name}",
            "hashAlgorithm": "SHA2_256",
            "publicKey": {"rawBytes": text64(der), "keyDetails": "PKIX_ED25519", "validFor": since},
            "logId": {"keyId": text64(self.log_id)},
        }
        subject = {"organization": "example", "commonName": "authority"}
        authority = {"subject": subject, "uri": "https://tsa.example", "certChain": chain, "validFor": since}
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log],
            "certificateAuthorities": [],
            "ctlogs": [],
            "timestampAuthorities": [authority],
        }

    # what a test may do

    def behave(self, *ways: str) -> None:
        """Do this with the next entries, one by one; the last way stays."""
        self._next = list(ways)

    def grow(self, count: int) -> None:
        """Record entries of others and publish them."""
        with self._lock:
            self.entries += [b"entry %d of another" % (len(self.entries) + at) for at in range(count)]
            self.published = len(self.entries)

    def publish(self) -> None:
        with self._lock:
            self.published = len(self.entries)

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = Ed25519PrivateKey.generate()

    # the protocol

    def leaves(self, size: int) -> list[bytes]:
        return [sha256(b"\x00" + entry).digest() for entry in self.entries[:size]]

    def note(self, size: int) -> str:
        text = f"{self.name}\n{size}\n{text64(tree_root(self.leaves(size)))}\n"
        return f"{text}\n— {self.name} {text64(self.log_id[:4] + self.key.sign(text.encode()))}\n"

    def add(self, request: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and answer for a request, after what the next way says."""
        with self._lock:
            self.posts += 1
            way = self._next.pop(0) if len(self._next) > 1 else self._next[0]
        if way == "unsaved":
            return 0, {}
        if way in ("400", "500"):
            return int(way), {"code": 3, "message": f"made to answer {way}"}
        try:
            body = entry_of(request)
        except (InvalidSignature, ValueError, KeyError, TypeError) as error:
            return 400, {"code": 3, "message": f"invalid request: {type(error).__name__}"}
        with self._lock:
            if body in self.entries:
                index = self.entries.index(body)
                said = index + 1 if way == "wrong index" else index
                where = "" if way == "no index" else f" with index {said}"
                return 409, {"code": 6, "message": f"an equivalent entry already exists{where}"}
            self.entries.append(body)
            if self.automatic:
                self.published = len(self.entries)
            answer = self.answer(len(self.entries) - 1)
        if way == "lost":
            return 0, {}
        if way == "slow":
            self.released.wait(30)
        return 201, bent(way, answer, self)

    def answer(self, index: int) -> dict[str, Any]:
        size = len(self.entries)
        leaves = self.leaves(size)
        return {
            "logIndex": str(index),
            "logId": {"keyId": text64(self.log_id)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "integratedTime": "0",
            "inclusionPromise": None,
            "inclusionProof": {
                "logIndex": str(index),
                "rootHash": text64(tree_root(leaves)),
                "treeSize": str(size),
                "hashes": [text64(each) for each in audit_path(index, leaves)],
                "checkpoint": {"envelope": self.note(size)},
            },
            "canonicalizedBody": text64(self.entries[index]),
        }

    def file(self, path: str) -> bytes | None:
        """Return what is published at a path."""
        if path == "checkpoint":
            return self.note(self.published).encode()
        found = _TILE.fullmatch(path)
        if not found:
            return None
        row = self.leaves(self.published)
        for _ in range(int(found[1])):
            full = len(row) // WIDTH
            row = [tree_root(row[at * WIDTH : (at + 1) * WIDTH]) for at in range(full)]
        index = int(found[2].replace("x", "").replace("/", ""))
        tile = row[index * WIDTH : (index + 1) * WIDTH]
        if found[3] is None:
            return b"".join(tile) if len(tile) == WIDTH else None
        # A partial tile is deleted when the full one is there.
        return b"".join(tile[: int(found[3])]) if int(found[3]) <= len(tile) < WIDTH else None


def entry_of(request: bytes) -> bytes:
    """Return the entry for a request; raise if its signature is not valid."""
    asked = json.loads(request)["hashedRekordRequestV002"]
    signature, digest = asked["signature"], b64decode(asked["digest"], validate=True)
    verifier = signature["verifier"]
    key = load_der_public_key(b64decode(verifier["publicKey"]["rawBytes"], validate=True))
    if verifier["keyDetails"] != "PKIX_ECDSA_P256_SHA_256" or not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError(verifier["keyDetails"])
    key.verify(b64decode(signature["content"], validate=True), digest, ec.ECDSA(Prehashed(SHA256())))
    data = {"algorithm": "SHA2_256", "digest": asked["digest"]}
    record = {"data": data, "signature": signature}
    whole: Any = {"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": record}}
    canonical: bytes = rfc8785.dumps(whole)
    return canonical


def bent(way: str, answer: dict[str, Any], log: RekorLog) -> dict[str, Any]:
    """Return the answer of a log that lies."""
    if way == "another entry":
        return log.answer(0)
    proof = answer["inclusionProof"]
    if way == "another body":
        answer["canonicalizedBody"] = text64(log.entries[0])
    elif way == "another path":
        proof["hashes"] = [text64(bytes(32)) for _ in proof["hashes"]]
    elif way == "another root":
        proof["rootHash"] = text64(bytes(32))
    elif way == "no proof":
        del answer["inclusionProof"]
    elif way == "forged checkpoint":
        lines = proof["checkpoint"]["envelope"].split("\n")
        lines[1] = str(int(lines[1]) + 1)
        proof["checkpoint"]["envelope"] = "\n".join(lines)
    elif way == "garbage":
        return {"logIndex": [], "x": None}
    return answer


@contextmanager
def running_rekor(name: str = NAME) -> Iterator[RekorLog]:
    """Serve a log on a free port of this machine."""
    log = RekorLog(name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(log))
    with listening(server) as log.url:
        try:
            yield log
        finally:
            log.released.set()


def handler(log: RekorLog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["content-length"]))
            status, answer = log.add(request) if self.path == "/api/v2/log/entries" else (404, {})
            if status:  # 0: the connection ends without an answer
                self.reply(status, json.dumps(answer).encode())

        def do_GET(self) -> None:
            data = log.file(self.path.removeprefix("/static").lstrip("/"))
            self.reply(404 if data is None else 200, data or b"")

        def reply(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
