"""Signed notes and checkpoints, exactly as C2SP specifies them (Ed25519 only).

A note is a text, an empty line and signature lines; a checkpoint is a note whose text
is a log's origin, size and root (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).

The origin of a log is its name. Each restart opens another log, `NAME/NUMBER/SIZE-ROOT`: its number, and the
head of the newest log before it that has entries. So each checkpoint of it names the old head.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import ClassVar, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from foja.errors import Refused, Tampered
from foja.pure.quotation import quoted

_SEED_BYTES = 32
_KEY_ID_BYTES = 4
_ROOT_BYTES = 32
MAX_SIGNATURES = 100
_REMEMBERED_BYTES = 4096  # a longer note is checked each time, so that none fills the memory
_FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")
_SIGNATURE = re.compile("— ([^ ]+) ([^ ]+)")
_SIZE = re.compile("0|[1-9][0-9]{0,18}")
_RESTART = re.compile("([2-9]|[1-9][0-9]{1,8})/(0|[1-9][0-9]{0,18})-([0-9a-f]{64})")
FIRST = 1  # the number of a log that is no restart


def _accepts(public_key: bytes, text: str, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, text.encode())
    except InvalidSignature:
        return False
    return True


_recall = lru_cache(maxsize=64)(_accepts)  # the bundles of a batch hold the same checkpoint


@dataclass(frozen=True, slots=True)
class Verifier:
    """A name and the public key that signs under it."""

    name: str
    public_key: bytes
    ALGORITHM: ClassVar[bytes] = b"\x01"
    KEY_BYTES: ClassVar[int] = 32
    USE: ClassVar[str] = "an Ed25519 verifier key"

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise Refused(f"{self.name!a} cannot name a key; use text without spaces or '+'")
        if len(self.public_key) != self.KEY_BYTES:
            raise Refused(
                f"{self.USE} has {self.KEY_BYTES} bytes, not {len(self.public_key)}; copy all of name+id+key"
            )

    @classmethod
    def from_vkey(cls, text: str) -> Self:
        """Return the key in a `name+id+key` text, or raise `Refused`."""
        name, _, rest = text.partition("+")
        key = from_base64(rest.partition("+")[2]) or b""
        if not key.startswith(cls.ALGORITHM):
            raise Refused(f"{text!a} is not {cls.USE}; copy all of name+id+key")
        verifier = cls(name, key[len(cls.ALGORITHM) :])
        if verifier.vkey() != text:
            raise Refused(f"the id in {text!a} does not match its key; copy all of name+id+key")
        return verifier

    @property
    def key_id(self) -> bytes:
        """Four bytes that distinguish this key from others of the same name."""
        return sha256(self.name.encode() + b"\n" + self.ALGORITHM + self.public_key).digest()[:_KEY_ID_BYTES]

    def vkey(self) -> str:
        """Return the key as text, to be published."""
        return f"{self.name}+{self.key_id.hex()}+{_text64(self.ALGORITHM + self.public_key)}"

    def pem(self) -> str:
        """Return the key as PEM (SubjectPublicKeyInfo), for tools that do not read notes."""
        key = Ed25519PublicKey.from_public_bytes(self.public_key)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def signs_for(self, origin: str) -> bool:
        """Return whether this key signs this log: its name, or a restart that names the old head."""
        return number_of(self.name, origin) is not None

    def accepts(self, text: str, signature: bytes) -> bool:
        """Return whether this key made this signature of this text."""
        short = len(text) + len(signature) <= _REMEMBERED_BYTES
        return (_recall if short else _accepts)(self.public_key, text, signature)


@dataclass(frozen=True, slots=True)
class Signer:
    """A name and the private key that signs under it; never printed."""

    name: str
    private_key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.private_key) != _SEED_BYTES:
            raise Refused(f"an Ed25519 private key has {_SEED_BYTES} bytes; give the raw seed")
        self.verifier()

    def verifier(self) -> Verifier:
        """Return the public key that checks this signer's notes."""
        return Verifier(self.name, self._key().public_key().public_bytes_raw())

    def sign(self, text: str) -> str:
        """Return the text as a note with this one signature."""
        if not text.endswith("\n") or _FORBIDDEN.search(text):
            raise Refused("a note is whole lines without control characters; end it with a newline")
        signature = NoteSignature(self.name, self.verifier().key_id, self._key().sign(text.encode()))
        return f"{text}\n{signature.line()}"

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private_key)


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the key that it names, and the signature."""

    name: str
    key_id: bytes
    data: bytes

    def line(self) -> str:
        """Return the signature as a line of a note."""
        return f"— {self.name} {_text64(self.key_id + self.data)}\n"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The size and the root of a log."""

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        if not self.origin or "\n" in self.origin or _FORBIDDEN.search(self.origin):
            raise Refused(f"{self.origin!a} cannot name a log; use one line of plain text")
        if self.size < 0 or len(self.root) != _ROOT_BYTES:
            raise Refused(f"a checkpoint needs a size of 0 or more and a root of {_ROOT_BYTES} bytes")

    def text(self) -> str:
        """Return the text to sign."""
        return f"{self.origin}\n{self.size}\n{_text64(self.root)}\n"


@dataclass(frozen=True, slots=True)
class Restart:
    """What the origin of a restarted log says: its number, and the head of the log before it."""

    number: int
    size: int
    root: bytes


def restart_of(name: str, origin: str) -> Restart | None:
    """Return what this origin says as a restart of the log of this name; None if it is none."""
    found = _RESTART.fullmatch(origin.removeprefix(f"{name}/")) if origin.startswith(f"{name}/") else None
    return Restart(int(found[1]), int(found[2]), bytes.fromhex(found[3])) if found else None


def number_of(name: str, origin: str) -> int | None:
    """Return the number of a log of this name, or None for a log of another name.

    `NAME/1` is the first log too: so the first bundles call it.
    """
    if origin in (name, f"{name}/{FIRST}"):
        return FIRST
    restart = restart_of(name, origin)
    return restart.number if restart else None


def open_note(note: str | bytes, verifiers: Iterable[Verifier]) -> str:
    """Return the text of a note that a known key signed, or raise `Tampered`.

    Signatures of unknown keys are ignored; a wrong signature of a known key is refused.
    """
    text, signatures = split_note(note)
    known = {(verifier.name, verifier.key_id): verifier for verifier in verifiers}
    found = [
        (known[each.name, each.key_id], each) for each in signatures if (each.name, each.key_id) in known
    ]
    if not found:
        raise Tampered("no key you trust signed the note; check which log it comes from")
    for verifier, signature in found:
        if not verifier.accepts(text, signature.data):
            raise Tampered(f"the signature of {verifier.name} does not match the note; fetch it again")
    return text


def split_note(note: str | bytes) -> tuple[str, list[NoteSignature]]:
    """Return the text and the signatures of a note; nothing is verified yet."""
    try:
        whole = note if isinstance(note, str) else note.decode()
    except UnicodeDecodeError:
        raise Tampered("the note is not UTF-8; fetch it again") from None
    text, gap, tail = whole.rpartition("\n\n")
    lines = tail.split("\n")
    if not gap or _FORBIDDEN.search(whole) or lines.pop() or not 0 < len(lines) <= MAX_SIGNATURES:
        raise Tampered("this is not a signed note: text, an empty line, then signature lines")
    return text + "\n", [_signature(line) for line in lines]


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint in an opened note; extension lines are ignored."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or "" in lines or _FORBIDDEN.search(text):
        raise Tampered("a checkpoint is three full lines or more: origin, size, root")
    if not _SIZE.fullmatch(lines[1]):
        raise Tampered(f"the size of a checkpoint is a plain number, not {quoted(lines[1])}")
    root = from_base64(lines[2])
    if root is None or len(root) != _ROOT_BYTES:
        raise Tampered(f"the root of a checkpoint is 32 bytes in base64, not {quoted(lines[2])}")
    return Checkpoint(lines[0], int(lines[1]), root)


def _signature(line: str) -> NoteSignature:
    match = _SIGNATURE.fullmatch(line)
    name, encoded = match.groups() if match else ("", "")
    data = from_base64(encoded) or b""
    if not _is_name(name) or len(data) <= _KEY_ID_BYTES:
        raise Tampered(f"{quoted(line)} is not a signature line: dash, name, base64")
    return NoteSignature(name, data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])


def _is_name(name: str) -> bool:
    return name.split() == [name] and "+" not in name and not _FORBIDDEN.search(name)


def from_base64(text: str) -> bytes | None:
    """Return the bytes of a text in canonical base64, or None."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _text64(data) == text else None


def _text64(data: bytes) -> str:
    return b64encode(data).decode()
