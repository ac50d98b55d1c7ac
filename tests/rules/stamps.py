"""`.ots` files as the library writes them, and headers with valid proof of work."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from opentimestamps.core.notary import BitcoinBlockHeaderAttestation, PendingAttestation
from opentimestamps.core.op import Op, OpAppend, OpPrepend, OpSHA256
from opentimestamps.core.serialize import BytesSerializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile, Timestamp

from foja.pure.proofs.ots.header import Header

SHA = OpSHA256()
DIGEST = sha256(b"document").digest()
EASY = bytes.fromhex("ffff7f20")  # the target of regtest: half of all hashes meet it
CALENDAR = PendingAttestation("https://calendar.example")


def mined(merkle_root: bytes, height: int = 100, previous: bytes = bytes(32), bits: bytes = EASY) -> Header:
    """Return a header whose proof of work is valid for its bits."""
    start = b"\x02\0\0\0" + previous + merkle_root + (1_700_000_000 + height).to_bytes(4, "little") + bits
    candidates = (Header(height, start + nonce.to_bytes(4, "little")) for nonce in range(1000))
    return next(each for each in candidates if each.has_valid_work(0))


def written(*ways: tuple[Iterable[Op], object], digest: bytes = DIGEST, file_hash: Op = SHA) -> bytes:
    """Return an `.ots` file as the library writes it: operations, then attestations."""
    stamp = Timestamp(digest)
    for operations, attestation in ways:
        end = stamp
        for operation in operations:
            end = end.ops.add(operation)
        end.attestations.add(attestation)
    context = BytesSerializationContext()
    DetachedTimestampFile(file_hash, stamp).serialize(context)
    data: bytes = context.getbytes()
    return data


def block(height: int = 100) -> object:
    return BitcoinBlockHeaderAttestation(height)


WAY = [OpPrepend(b"salt"), OpSHA256(), OpAppend(b"right"), OpSHA256()]
END = sha256(sha256(b"salt" + DIGEST).digest() + b"right").digest()
PROOF = written((WAY, block()))
HEADER = mined(END)
