"""Cosignatures: others vouch that a log showed them the same history (c2sp.org/tlog-cosignature).

A cosigner checks that a checkpoint continues the last one that it saw, and signs it with its time: by Ed25519
or by ML-DSA-44, which a quantum computer does not forge. The second one also signs the cosigner's name.
The request to one and its answer are those of c2sp.org/tlog-witness.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from foja.errors import Refused, Tampered
from foja.pure.core.merkle import HASH_BYTES
from foja.pure.core.note import NoteSignature, Verifier, from_base64, parse_checkpoint, split_note
from foja.pure.proofs import mldsa
from foja.pure.quotation import quoted

MAX_REQUEST_BYTES, MAX_HASHES = 64 << 10, 63
MAX_COSIGNERS = 32
MAX_NAME_BYTES = 255  # of a cosigner and of a log, for ML-DSA-44
_LABEL = b"subtree/v1\n\0"
_TIME_BYTES = 8
_LATEST = 2**63 - 1
_OLD = re.compile("old (0|[1-9][0-9]{0,18})")
_POLICY = re.compile("([1-9][0-9]{0,2}) of ([1-9][0-9]{0,2})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CosignatureAlgorithm(StrEnum):
    """How a cosigner signs."""

    ED25519 = "ed25519"
    ML_DSA_44 = "ml-dsa-44"


@dataclass(frozen=True, slots=True)
class CosignerKey(Verifier):
    """The name and the public key of a cosigner. As text it differs from the key of a log."""

    ALGORITHM: ClassVar[bytes] = b"\x04"
    USE: ClassVar[str] = "the Ed25519 key of a cosigner"

    def can_check(self) -> bool:
        """Return whether signatures of this kind can be checked here."""
        return True

    def accepts(self, text: str, signature: bytes) -> bool:
        """Return whether this key cosigned this text, at the time in the signature."""
        time, rest = _time(signature), signature[_TIME_BYTES:]
        return len(signature) > _TIME_BYTES and time <= _LATEST and self._signed(text, time, rest)

    def _signed(self, text: str, time: int, signature: bytes) -> bool:
        return Verifier(self.name, self.public_key).accepts(_message(text, time), signature)


@dataclass(frozen=True, slots=True)
class MLDSACosignerKey(CosignerKey):
    """The name and the public key of a cosigner that signs by ML-DSA-44."""

    ALGORITHM: ClassVar[bytes] = b"\x06"
    KEY_BYTES: ClassVar[int] = mldsa.PUBLIC_BYTES
    USE: ClassVar[str] = "the ML-DSA-44 key of a cosigner"

    def can_check(self) -> bool:
        """Return whether the installed `cryptography` has ML-DSA-44."""
        return mldsa.is_available()

    def _signed(self, text: str, time: int, signature: bytes) -> bool:
        try:
            message = _cosigned_message(self.name, text, time)
        except (Refused, Tampered):
            return False
        return mldsa.accepts(self.public_key, message, signature)


def parse_cosigner_key(text: str) -> CosignerKey:
    """Return the key of a cosigner in a `name+id+key` text, of either kind, or raise `Refused`."""
    key = from_base64(text.split("+", 2)[-1]) or b""
    kind = MLDSACosignerKey if key.startswith(MLDSACosignerKey.ALGORITHM) else CosignerKey
    return kind.from_vkey(text)


@dataclass(frozen=True, slots=True)
class CosignerSigner:
    """The name and the private key of a cosigner; never printed."""

    name: str
    private_key: bytes = field(repr=False)
    algorithm: CosignatureAlgorithm = CosignatureAlgorithm.ED25519

    def key(self) -> CosignerKey:
        """Return the public key, or raise `Refused` if `cryptography` lacks the algorithm."""
        if self.algorithm is CosignatureAlgorithm.ED25519:
            return CosignerKey(self.name, self._key().public_key().public_bytes_raw())
        if not mldsa.is_available():
            raise Refused(f"cosignatures by ML-DSA-44 need {mldsa.NEEDED} or later; install it")
        return MLDSACosignerKey(self.name, mldsa.public_key(self.private_key))

    def cosign(self, text: str, time: int) -> str:
        """Return the signature line of a checkpoint at this time, in seconds since 1970."""
        if not 0 <= time <= _LATEST:
            raise Refused(f"{time} is not a time of a cosignature; correct the clock")
        data = time.to_bytes(_TIME_BYTES, "big") + self._sign(text, time)
        return NoteSignature(self.name, self.key().key_id, data).line()

    def _sign(self, text: str, time: int) -> bytes:
        if self.algorithm is CosignatureAlgorithm.ED25519:
            return self._key().sign(_message(text, time).encode())
        return mldsa.sign(self.private_key, _cosigned_message(self.name, text, time))

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private_key)


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A valid cosignature: the key that made it, its time, and its line."""

    key: CosignerKey
    time: int  # seconds since 1970
    line: str

    def is_after(self, moment: datetime) -> bool:
        """Return whether the cosigner's clock was later than this."""
        return self.time > (moment - _EPOCH) // timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Policy:
    """How many of the known cosigners must vouch for a checkpoint."""

    required: int
    of: int

    def __str__(self) -> str:
        return f"{self.required} of {self.of}"


def parse_policy(text: str, keys: Iterable[CosignerKey]) -> Policy:
    """Return the policy in `2 of 3` about these keys, or raise `Refused`."""
    found = _POLICY.fullmatch(text.strip())
    count = len({each.public_key for each in keys})
    if not found or int(found[1]) > int(found[2]):
        raise Refused(f"{text[:80]!a} is not a policy of cosigners; write, for instance, 2 of 3")
    if int(found[2]) != count:
        raise Refused(f"the policy is {text.strip()}, but {count} different keys of cosigners are given")
    return Policy(int(found[1]), int(found[2]))


def find_cosignatures(
    note: str, keys: Iterable[CosignerKey], own: Collection[bytes]
) -> tuple[Cosignature, ...]:
    """Return the cosignatures of known keys under a note, one for each public key, by name.

    `own` are public keys of the log: it does not vouch for itself, under no name. Lines of unknown keys, and
    of keys that cannot be checked here, are ignored; raise `Tampered` for a wrong line of any other key.
    """
    text, signatures = split_note(note)
    counted = [each for each in keys if each.public_key not in own and each.can_check()]
    known = {(each.name, each.key_id): each for each in counted}
    found: dict[bytes, Cosignature] = {}
    for each in signatures:
        key = known.get((each.name, each.key_id))
        if key is None:
            continue
        cosignature = _check(key, text, each)
        earlier = found.get(key.public_key)
        if earlier is None or cosignature.time < earlier.time:
            found[key.public_key] = cosignature
    return tuple(sorted(found.values(), key=lambda each: (each.key.name, each.key.public_key)))


def read_answer(note: str, answer: str, key: CosignerKey) -> Cosignature:
    """Return the cosignature of this key in the answer of a cosigner, or raise `Tampered`."""
    text, signatures = split_note(note + answer)
    if text != split_note(note)[0]:  # the answer has an empty line
        raise Tampered("the answer is not signature lines")
    for each in signatures:
        if (each.name, each.key_id) == (key.name, key.key_id):
            return _check(key, text, each)
    raise Tampered(f"no signature in the answer is by {key.name}+{key.key_id.hex()}")


@dataclass(frozen=True, slots=True)
class CosignRequest:
    """What a cosigner is asked: the size that it saw last, the proof from there, and the checkpoint."""

    old_size: int
    proof: tuple[bytes, ...]
    note: str

    def text(self) -> str:
        """Return the body of the request."""
        hashes = [b64encode(each).decode() for each in self.proof]
        return "\n".join([f"old {self.old_size}", *hashes, "", self.note])


def parse_request(data: bytes) -> CosignRequest:
    """Return what `CosignRequest.text` wrote, or raise `Tampered`."""
    try:
        head, blank, note = data.decode().partition("\n\n")
    except UnicodeDecodeError:
        raise Tampered("the request is not UTF-8") from None
    first, *hashes = head.split("\n")
    old = _OLD.fullmatch(first)
    if not blank or not old:
        raise Tampered("the request is not a line `old <size>`, hashes, an empty line and a checkpoint")
    if len(hashes) > MAX_HASHES:
        raise Tampered(f"the proof has more than {MAX_HASHES} hashes")
    return CosignRequest(int(old[1]), _hashes(hashes), note)


def _check(key: CosignerKey, text: str, signature: NoteSignature) -> Cosignature:
    if not key.accepts(text, signature.data):
        raise Tampered(f"the cosignature of {quoted(key.name)} does not match the checkpoint")
    return Cosignature(key, _time(signature.data), signature.line())


def _hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    hashes = tuple(from_base64(each) or b"" for each in lines)
    if any(len(each) != HASH_BYTES for each in hashes):
        raise Tampered(f"a hash of the proof is not {HASH_BYTES} bytes in base64")
    return hashes


def _message(text: str, time: int) -> str:
    return f"cosignature/v1\ntime {time}\n{text}"


def _cosigned_message(name: str, text: str, time: int) -> bytes:
    """Return the `cosigned_message` of the whole tree of a checkpoint; its extension lines are not signed."""
    checkpoint = parse_checkpoint(text)
    numbers = (0).to_bytes(8, "big") + checkpoint.size.to_bytes(8, "big")
    moment = time.to_bytes(_TIME_BYTES, "big")
    return _LABEL + _opaque(name) + moment + _opaque(checkpoint.origin) + numbers + checkpoint.root


def _opaque(text: str) -> bytes:
    data = text.encode()
    if len(data) > MAX_NAME_BYTES:
        raise Refused(f"{text[:80]!a} has over {MAX_NAME_BYTES} bytes; ML-DSA-44 cosigners sign no such name")
    return len(data).to_bytes(1, "big") + data


def _time(signature: bytes) -> int:
    return int.from_bytes(signature[:_TIME_BYTES], "big")
