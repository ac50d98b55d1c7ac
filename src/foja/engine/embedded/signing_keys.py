"""The P-256 keys with which this installation signs for others to verify: one in use, all earlier ones kept.

Each key is a file of mode 600, `keys/signer/NNNN.pem` in the home: a line with its time, then PKCS#8 in PEM.
The one with the highest number is in use. No file is ever changed: a key is retired when the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
)

from foja.engine import private
from foja.engine.embedded.keys import read_private
from foja.errors import Refused, SetupFailed

PURPOSE = "signing"  # of these keys, among all of an installation
FOLDER = Path("keys", "signer")  # in the home
_NAME = re.compile(r"([0-9]{4,})\.pem")
_HEAD = re.compile("# signing key of Foja, created (.+)\n")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key, and the times between which it was in use; it is never printed."""

    number: int
    created_at: datetime
    private_key: ec.EllipticCurvePrivateKey = field(repr=False)
    retired_at: datetime | None = None  # None: in use

    @property
    def public_key(self) -> bytes:
        """The public key, as DER (SubjectPublicKeyInfo)."""
        return self.private_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @property
    def id(self) -> str:
        """The SHA-256 of the public key in hexadecimal, as reports show it."""
        return sha256(self.public_key).hexdigest()

    def public_pem(self) -> str:
        """Return the public key as `foja verify --trust` takes it."""
        return public_pem(self.public_key)

    def sign(self, digest: bytes) -> bytes:
        """Return the signature of the content with this SHA-256 digest."""
        return self.private_key.sign(digest, ec.ECDSA(Prehashed(SHA256())))


def _now() -> datetime:
    return datetime.now(UTC)


class SigningKeys:
    """The keys of an installation, read again at every use: another process may have rotated them."""

    def __init__(self, home: Path, now: Callable[[], datetime] = _now) -> None:
        self._folder, self._now = home / FOLDER, now

    def all(self) -> list[SigningKey]:
        """Return every key, oldest first."""
        paths = list(self._folder.iterdir()) if self._folder.is_dir() else []
        numbered = sorted((int(found[1]), path) for path in paths if (found := _NAME.fullmatch(path.name)))
        keys = [_read(number, path) for number, path in numbered]
        ended = [replace(key, retired_at=after.created_at) for key, after in pairwise(keys)]
        return [*ended, *keys[-1:]]

    def current(self) -> SigningKey:
        """Return the key in use. Create the first one if there is none."""
        if not self.all():
            with suppress(FileExistsError):  # another process was first
                self._create(1)
        return self.all()[-1]

    def rotate(self) -> SigningKey:
        """Create a new key and return it; the one before it is retired and kept."""
        number = max((key.number for key in self.all()), default=0) + 1
        try:
            self._create(number)
        except FileExistsError:
            raise Refused("another process has just rotated the signing key; list the keys first") from None
        return self.all()[-1]

    def find(self, prefix: str) -> SigningKey:
        """Return the key whose id begins so, or raise `Refused`."""
        found = [key for key in self.all() if prefix and key.id.startswith(prefix)]
        if len(found) != 1:
            raise Refused(f"{len(found)} signing keys have an id that begins with {prefix!a}; list the keys")
        return found[0]

    def _create(self, number: int) -> None:
        private.make_folder(self._folder)
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        text = f"# signing key of Foja, created {self._now().isoformat()}\n{pem}"
        private.create_whole(self._folder / f"{number:04d}.pem", text.encode())
        private.sync(self._folder)


def public_pem(der: bytes) -> str:
    """Return a public key as PEM."""
    return load_der_public_key(der).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def rotation(previous: SigningKey | None, current: SigningKey) -> dict[str, str]:
    """Return what `key.rotated` records: no secret, and enough to tell which key signed what."""
    before = {"previous": previous.id} if previous else {}
    return {"key_id": current.id, "purpose": PURPOSE, "public_key": current.public_pem(), **before}


def _read(number: int, path: Path) -> SigningKey:
    text = read_private(path).decode(errors="replace")
    head = _HEAD.match(text)
    try:
        created = datetime.fromisoformat(head[1]) if head else None
        key = load_pem_private_key(text[head.end() :].encode(), None) if head else None
    except (ValueError, TypeError):
        created = key = None
    if created is None or created.tzinfo is None or not isinstance(key, ec.EllipticCurvePrivateKey):
        raise SetupFailed(f"{path} is not a signing key of Foja; restore it from a backup")
    if not isinstance(key.curve, ec.SECP256R1):
        raise SetupFailed(f"{path} is on the curve {key.curve.name}, not P-256; restore it from a backup")
    return SigningKey(number, created, key)
