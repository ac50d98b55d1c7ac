"""An encrypted keystore (Web3 Secret Storage, version 3): the private key in it, for a password."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from foja.errors import NotCanonical, Refused
from foja.pure.core.canonical import parse
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.signer import PrivateKey

MAX_MEMORY = 512 << 20  # of scrypt: 128 · n · r
MAX_ROUNDS = 10_000_000
_KEY, _IV = 32, 16


def open_keystore(text: bytes, password: str) -> PrivateKey:
    """Return the private key of a keystore, or raise `Refused`."""
    keystore = _object(_parsed(text), "")
    crypto = _object(keystore.get("crypto", keystore.get("Crypto")), "crypto")
    if keystore.get("version") != 3 or crypto.get("cipher") != "aes-128-ctr":
        raise Refused("the keystore is not of version 3 with the cipher aes-128-ctr; export it again")
    secret = _bytes(crypto, "ciphertext")
    key = _derived(crypto, password.encode())
    if not hmac.compare_digest(keccak256(key[16:32] + secret), _bytes(crypto, "mac")):
        raise Refused("the password does not open the keystore; check the file with the password")
    iv = _bytes(_object(crypto.get("cipherparams"), "cipherparams"), "iv")
    if len(iv) != _IV:
        raise Refused(f"the keystore's iv has {len(iv)} bytes, not {_IV}; export it again")
    cipher = Cipher(algorithms.AES(key[:16]), modes.CTR(iv)).decryptor()
    private_key = PrivateKey.decode(cipher.update(secret) + cipher.finalize())
    _check_address(keystore, private_key)
    return private_key


def _check_address(keystore: Mapping[str, Any], key: PrivateKey) -> None:
    stated = keystore.get("address")
    if stated and str(stated).lower().removeprefix("0x") != key.address.hex():
        raise Refused(f"the keystore holds the key of 0x{key.address.hex()}, not of the account it names")


def _derived(crypto: Mapping[str, Any], password: bytes) -> bytes:
    """Return the key that the password gives, within the limits for memory and time."""
    terms = _object(crypto.get("kdfparams"), "kdfparams")
    salt, kind = _bytes(terms, "salt"), crypto.get("kdf")
    if _count(terms, "dklen") != _KEY:
        raise Refused(f"the keystore derives a key of another length than {_KEY} bytes; export it again")
    try:
        if kind == "scrypt":
            return _scrypt(terms, salt).derive(password)
        if kind == "pbkdf2" and terms.get("prf") == "hmac-sha256" and _count(terms, "c") <= MAX_ROUNDS:
            return PBKDF2HMAC(SHA256(), _KEY, salt, _count(terms, "c")).derive(password)
    except (ValueError, UnsupportedAlgorithm, MemoryError) as error:
        raise Refused(f"the keystore cannot be opened ({error}); export it again") from None
    raise Refused(f"the keystore derives its key in an unknown way ({str(kind)[:40]!a}); export it again")


def _scrypt(terms: Mapping[str, Any], salt: bytes) -> Scrypt:
    n, r, p = (_count(terms, name) for name in "nrp")
    if 128 * n * r > MAX_MEMORY or p > 16:
        raise Refused(f"the keystore needs more than {MAX_MEMORY >> 20} MiB to be opened; export it again")
    return Scrypt(salt, _KEY, n, r, p)


def _parsed(text: bytes) -> object:
    try:
        return parse(text)
    except NotCanonical:
        raise Refused("the keystore is not JSON; give a keystore of version 3") from None


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Refused(f"the keystore has no object {name or 'at its top'}; give a keystore of version 3")
    return value


def _bytes(fields: Mapping[str, Any], name: str) -> bytes:
    try:
        return bytes.fromhex(fields[name].removeprefix("0x"))
    except (KeyError, AttributeError, ValueError):
        raise Refused(f"the keystore has no {name} in hexadecimal; export it again") from None


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Refused(f"the keystore has no number {name}; export it again")
    return value
