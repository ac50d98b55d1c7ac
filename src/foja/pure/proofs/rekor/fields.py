"""A strict reader of Sigstore JSON: known fields only, each in its canonical encoding."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from foja.errors import NotCanonical, Tampered
from foja.pure.core.canonical import Json, parse
from foja.pure.core.event import is_in_calendar
from foja.pure.core.serializer import MAX_INTEGER
from foja.pure.quotation import quoted

_COUNT = re.compile("0|[1-9][0-9]{0,15}")
_PEM = re.compile("-----BEGIN ([A-Z ]+)-----\n([A-Za-z0-9+/=\n]+)\n-----END \\1-----\n*")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z")


class Fields:
    """A JSON object whose fields are read one by one; unknown fields are refused."""

    def __init__(self, value: Json, where: str, known: Iterable[str] | None = None) -> None:
        if not isinstance(value, dict):
            raise Tampered(f"{where} is not a JSON object")
        self._value: Mapping[str, Json] = value
        self._where = where
        unknown = sorted(set(value) - set(known)) if known is not None else []
        if unknown:
            raise Tampered(f"{where} has the field {quoted(unknown[0])}, which is not known")

    @classmethod
    def parse(cls, data: bytes, where: str, known: Iterable[str] | None = None) -> Fields:
        """Return the JSON object in this text, or raise `Tampered`."""
        try:
            return cls(parse(data), where, known)
        except NotCanonical as error:
            raise Tampered(f"{where} is not JSON: {error}") from None

    def has(self, name: str) -> bool:
        """Return whether the field is present and not null."""
        return self._value.get(name) is not None

    def inner(self, name: str, known: Iterable[str] | None = None) -> Fields:
        """Return an object inside this one."""
        return Fields(self._value.get(name), f"{self._where}.{name}", known)

    def each(self, name: str, known: Iterable[str] | None = None, *, most: int = 100) -> list[Fields]:
        """Return the objects of a list inside this one; a missing list is empty."""
        return [Fields(each, f"{self._where}.{name}", known) for each in self._list(name, most)]

    def text(self, name: str) -> str:
        """Return a string."""
        value = self._value.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def count(self, name: str) -> int:
        """Return a number that is written as a string of digits."""
        value = self.text(name)
        if not _COUNT.fullmatch(value) or int(value) > MAX_INTEGER:
            raise self._wrong(name, f"a number from 0 to {MAX_INTEGER}")
        return int(value)

    def data(self, name: str) -> bytes:
        """Return bytes that are written in base64."""
        return self._base64(name, self.text(name))

    def data_list(self, name: str, *, most: int = 100) -> tuple[bytes, ...]:
        """Return a list of bytes; a missing list is empty."""
        texts = self._list(name, most)
        return tuple(self._base64(name, each) if isinstance(each, str) else b"" for each in texts)

    def hexadecimal(self, name: str) -> bytes:
        """Return bytes that are written in hexadecimal."""
        value = self.text(name)
        try:
            data = bytes.fromhex(value)
        except ValueError:
            data = b""
        if data.hex() != value:
            raise self._wrong(name, "hexadecimal")
        return data

    def time(self, name: str) -> datetime | None:
        """Return a time, or None if the field is missing."""
        if not self.has(name):
            return None
        found = _TIME.fullmatch(self.text(name))
        try:
            if found:
                whole = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
                moment = whole.replace(microsecond=int((found[2] or ".0")[1:7].ljust(6, "0")))
                if is_in_calendar(moment):
                    return moment
        except ValueError:
            pass
        raise self._wrong(name, "a time in UTC")

    def pem(self, name: str) -> bytes:
        """Return the DER of a PEM text that is itself written in base64."""
        try:
            found = _PEM.fullmatch(self.data(name).decode())
            if found and found[1] in ("CERTIFICATE", "PUBLIC KEY"):
                return b64decode(found[2].replace("\n", ""), validate=True)
        except (UnicodeDecodeError, NotBase64, ValueError):
            pass
        raise self._wrong(name, "a certificate or a public key in PEM")

    def _list(self, name: str, most: int) -> list[Json]:
        value = self._value.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            raise self._wrong(name, f"a list of at most {most}")
        return value

    def _base64(self, name: str, text: str) -> bytes:
        try:
            data = b64decode(text, validate=True)
        except (NotBase64, ValueError):
            data = b""
        if b64encode(data).decode() != text:
            raise self._wrong(name, "canonical base64")
        return data

    def _wrong(self, name: str, expected: str) -> Tampered:
        return Tampered(f"{self._where}.{name} is not {expected}")
