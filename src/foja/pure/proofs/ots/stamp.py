"""The `.ots` file: a digest, the operations on it, and the attestations of their results.

The file is read to its last byte and within limits, or refused. Operations are replayed while
they are read; a fork continues from the message at which it began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from foja.errors import Tampered
from foja.pure.proofs.budget import Budget

MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"
MAX_BYTES = 256 * 1024
SHA256, SHA1, RIPEMD160 = "SHA-256", "SHA-1", "RIPEMD-160"
BITCOIN, PENDING = bytes.fromhex("0588960d73d71901"), bytes.fromhex("83dfe30d2ef90c8e")
VERSION, FORK, ATTESTATION = 1, 0xFF, 0x00
APPEND, PREPEND, _REVERSE, _HEXLIFY = 0xF0, 0xF1, 0xF2, 0xF3
MAX_MESSAGE, MAX_PAYLOAD, MAX_ADDRESS = 4096, 8192, 1000
MAX_WORK, MAX_FORKS = 20_000, 256
_BLOCK_BYTES = 64  # of a message, counted as one more operation
_SLOW = 5  # a hash that the standard library does not have takes as long as so many more operations
_WORK_OF_A_UNIT = 1000
_OTHERS = {bytes.fromhex("06869a0d73d71b45"): "Litecoin", bytes.fromhex("30fe8087b5c7ead7"): "Ethereum"}
_ADDRESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/:")


@dataclass(frozen=True, slots=True)
class Attestation:
    """A claim that a message existed: `bitcoin` at a height, a calendar's promise, or another kind."""

    kind: str  # bitcoin | pending | the name or tag of another
    message: bytes
    hashes: frozenset[str]  # the hash functions that lead to the message
    height: int = 0
    calendar: str = ""


@dataclass(frozen=True, slots=True)
class OtsProof:
    """A whole `.ots` file."""

    algorithm: str
    digest: bytes
    attestations: tuple[Attestation, ...]


def parse_stamp(data: bytes, budget: Budget | None = None) -> OtsProof:
    """Return the proof in a file, or raise `Tampered`, or `Flaw` if replaying it is over the budget.

    No attestation is checked yet.
    """
    if len(data) > MAX_BYTES:
        raise Tampered(f"an .ots file of {len(data)} bytes is over the limit of {MAX_BYTES}")
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise Tampered("not an .ots file: it does not begin with the magic bytes")
    if (version := reader.number()) != VERSION:
        raise Tampered(f"version {version} of .ots files is not known, only {VERSION}")
    tag = reader.byte()
    if tag not in _HASHES:
        raise Tampered(f"an .ots file cannot be about a digest of operation {tag:#04x}")
    algorithm, size, _ = _HASHES[tag]
    digest = reader.take(size)
    attestations = tuple(Replay(reader, digest, budget=budget).attestations())
    return OtsProof(algorithm, digest, attestations)


@dataclass(slots=True)
class Reader:
    """Reads the fields of an `.ots` file, or raises `Tampered`."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        """Return so many bytes."""
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise Tampered("an .ots file ends in the middle of a field")
        self.at += size
        return taken

    def byte(self) -> int:
        """Return one byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """Return a number in groups of seven bits; only the shortest form is accepted."""
        value = 0
        for shift in range(0, 63, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    break
                return value
        raise Tampered("a number in an .ots file is too long")

    def text(self, longest: int, shortest: int = 0) -> bytes:
        """Return bytes that follow their own length."""
        size = self.number()
        if not shortest <= size <= longest:
            raise Tampered(f"a field of an .ots file has {size} bytes; {shortest} to {longest} are allowed")
        return self.take(size)

    def finish(self) -> None:
        """Raise `Tampered` unless everything was read."""
        if self.at != len(self.data):
            raise Tampered("an .ots file, or an attestation in it, has bytes after its end")


@dataclass(slots=True)
class Replay:
    """Replays the operations on a message while they are read."""

    reader: Reader
    message: bytes
    hashes: frozenset[str] = frozenset()
    forks: list[tuple[bytes, frozenset[str]]] = field(default_factory=list)
    work: int = 0
    budget: Budget | None = None

    def attestations(self) -> list[Attestation]:
        """Return every attestation with its message."""
        found = []
        while self.work < MAX_WORK:
            self._work(1 + len(self.message) // _BLOCK_BYTES)
            tag = self.reader.byte()
            if tag == FORK:
                if len(self.forks) == MAX_FORKS:
                    raise Tampered(f"an .ots file forks more than {MAX_FORKS} times on one path")
                self.forks.append((self.message, self.hashes))
                tag = self.reader.byte()
            if tag != ATTESTATION:
                self._apply(tag)
                continue
            found.append(self._attestation())
            if not self.forks:
                self.reader.finish()
                return found
            self.message, self.hashes = self.forks.pop()
        raise Tampered(f"replaying an .ots file takes more than {MAX_WORK:,} operations")

    def _work(self, operations: int) -> None:
        before, self.work = self.work, self.work + operations
        if self.budget is not None:
            self.budget.spend(self.work // _WORK_OF_A_UNIT - before // _WORK_OF_A_UNIT)

    def _apply(self, tag: int) -> None:
        if tag in _HASHES:
            name, _, digest = _HASHES[tag]
            if digest in _SLOW_HASHES:
                self._work(_SLOW)
            self.message = digest(self.message)
            self.hashes |= {name}
        elif tag == APPEND:
            self.message = self.message + self.reader.text(MAX_MESSAGE, 1)
        elif tag == PREPEND:
            self.message = self.reader.text(MAX_MESSAGE, 1) + self.message
        elif tag == _REVERSE:
            self.message = self.message[::-1]
        elif tag == _HEXLIFY:
            self.message = self.message.hex().encode()
        else:
            raise Tampered(f"operation {tag:#04x} of an .ots file is not known")
        if len(self.message) > MAX_MESSAGE:
            raise Tampered(f"a message in an .ots file is longer than {MAX_MESSAGE} bytes")

    def _attestation(self) -> Attestation:
        tag, payload = self.reader.take(8), Reader(self.reader.text(MAX_PAYLOAD))
        if tag == BITCOIN:
            found = Attestation("bitcoin", self.message, self.hashes, height=payload.number())
        elif tag == PENDING:
            found = Attestation("pending", self.message, self.hashes, calendar=_address(payload))
        else:
            return Attestation(_OTHERS.get(tag, tag.hex()), self.message, self.hashes)
        payload.finish()
        return found


def _address(payload: Reader) -> str:
    address = payload.text(MAX_ADDRESS)
    if not _ADDRESS.issuperset(address):
        raise Tampered("the address of a calendar in an .ots file has forbidden characters")
    return address.decode()


def _ripemd160(message: bytes) -> bytes:
    from Crypto.Hash import RIPEMD160  # not every OpenSSL has it

    return RIPEMD160.new(message).digest()


def _keccak256(message: bytes) -> bytes:
    from foja.pure.proofs.evm.keccak import keccak256

    return keccak256(message)


_HASHES: dict[int, tuple[str, int, Callable[[bytes], bytes]]] = {
    0x02: (SHA1, 20, lambda message: hashlib.sha1(message, usedforsecurity=False).digest()),
    0x03: (RIPEMD160, 20, _ripemd160),
    0x08: (SHA256, 32, lambda message: hashlib.sha256(message).digest()),
    0x67: ("Keccak-256", 32, _keccak256),
}
_SLOW_HASHES = (_ripemd160, _keccak256)
