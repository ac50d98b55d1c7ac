"""A strict DER reader and a DER writer: one encoding per value, nothing left over.

Deliberately absent: recursion, indefinite lengths, tags of several bytes. The caller names
the tag that comes next, so the input decides neither depth nor time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from foja.errors import Malformed
from foja.pure.core.event import FIRST, LAST, is_in_calendar

T = TypeVar("T")

BOOLEAN, INTEGER, BITS, OCTETS, NULL, OID = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
UTF8, UTC_TIME, TIME, SEQUENCE, SET = 0x0C, 0x17, 0x18, 0x30, 0x31
LONGEST_INTEGER, LONGEST_OID = 64, 64
CACHE_ENTRIES, CACHE_ENTRY_BYTES = 64, 16_384
_TIME = re.compile(rb"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{1,12}))?Z")


def plain(number: int) -> int:
    """Return the tag [number] of a primitive element."""
    return 0x80 | number


def tagged(number: int) -> int:
    """Return the tag [number] of a constructed element."""
    return 0xA0 | number


class DerReader:
    """A reader of DER elements that only moves forward."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self._data, self._at, self._end = data, at, len(data) if end is None else end

    @property
    def next(self) -> int:
        """The tag that comes next; -1 at the end."""
        return self._data[self._at] if self._at < self._end else -1

    @property
    def rest(self) -> bytes:
        """The bytes that were not read yet."""
        return self._data[self._at : self._end]

    def take(self, tag: int) -> bytes:
        """Return the content of the next element and move past it."""
        start, end = self._bounds(tag)
        self._at = end
        return self._data[start:end]

    def whole(self, tag: int) -> bytes:
        """Return the next element with its header and move past it."""
        start = self._at
        _, self._at = self._bounds(tag)
        return self._data[start : self._at]

    def any(self) -> bytes:
        """Return the next element, of any tag, with its header."""
        return self.whole(self.next)

    def enter(self, tag: int) -> DerReader:
        """Return a reader of the next element's parts and move past it."""
        start, end = self._bounds(tag)
        self._at = end
        return DerReader(self._data, start, end)

    def optional(self, tag: int) -> DerReader | None:
        """Enter the next element if it has this tag."""
        return self.enter(tag) if self.next == tag else None

    def into(self, tag: int) -> DerReader:
        """Move inside the next element, or raise `Malformed` if anything follows it."""
        self._at, end = self._bounds(tag)
        if end != self._end:
            raise Malformed("it holds more than expected")
        return self

    def finish(self) -> None:
        """Raise `Malformed` if anything is left."""
        if self._at != self._end:
            raise Malformed("it holds more than expected")

    def integer(self, tag: int = INTEGER) -> int:
        """Return the next integer."""
        content = self.take(tag)
        if not 0 < len(content) <= LONGEST_INTEGER or _is_padded(content):
            raise Malformed("an integer in it is empty, too long or padded")
        return int.from_bytes(content, signed=True)

    def boolean(self) -> bool:
        """Return the next boolean; false may be written although it is the default."""
        content = self.take(BOOLEAN)
        if content not in (b"\0", b"\xff"):
            raise Malformed("a boolean in it is not one byte, 00 or FF")
        return content == b"\xff"

    def oid(self) -> bytes:
        """Return the content of the next object identifier."""
        content = self.take(OID)
        if not 0 < len(content) <= LONGEST_OID or content[-1] & 0x80 or content[0] == 0x80:
            raise Malformed("an object identifier in it is empty, too long or cut short")
        return content

    def time(self) -> datetime:
        """Return the next GeneralizedTime, in UTC, truncated to microseconds, if it can be judged."""
        found = _TIME.fullmatch(self.take(TIME))
        if found is None:
            raise Malformed("a time in it is not written as YYYYMMDDhhmmss[.f]Z")
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction = int((found[7] or b"").ljust(6, b"0")[:6])
        try:
            moment = datetime(year, month, day, hour, minute, second, fraction, UTC)
        except ValueError:
            raise Malformed("a time in it is not a valid date and time") from None
        if not is_in_calendar(moment):
            raise Malformed(f"a time in it is not between {FIRST:%Y} and {LAST:%Y}")
        return moment

    def _bounds(self, tag: int) -> tuple[int, int]:
        data, at = self._data, self._at
        start = at + 2
        if start > self._end or data[at] != tag or tag & 0x1F == 0x1F:
            raise Malformed(f"expected an element with tag {tag:#04x} at byte {at}")
        length = data[at + 1]
        if length >= 0x80:
            start += length & 0x7F
            length = self._long(at + 2, start)
        end = start + length
        if end > self._end:
            raise Malformed(f"the element at byte {at} is cut short")
        return start, end

    def _long(self, at: int, start: int) -> int:
        digits = self._data[at:start]
        if not 0 < len(digits) <= 4 or start > self._end or digits[0] == 0:
            raise Malformed(f"the length at byte {at} is not DER")
        length = int.from_bytes(digits)
        if length < 0x80:
            raise Malformed(f"the length at byte {at} is not in its shortest form")
        return length


def cached(tag: int) -> Callable[[Callable[[DerReader], T]], Callable[[DerReader], T]]:
    """Cache what is read from an element, by its bytes; only for results that depend on nothing else.

    A refusal is not cached: it names a position in the input.
    """
    return lambda read: partial(_read_cached, tag, read, {})


def _read_cached(tag: int, read: Callable[[DerReader], T], cache: dict[bytes, T], parts: DerReader) -> T:
    start, end = parts._bounds(tag)
    content, parts._at = parts._data[start:end], end
    if content in cache:
        return cache[content]
    found = read(DerReader(parts._data, start, end))
    if len(content) <= CACHE_ENTRY_BYTES:
        if len(cache) >= CACHE_ENTRIES:
            cache.clear()
        cache[content] = found
    return found


def element(tag: int, *parts: bytes) -> bytes:
    """Return an element made of its parts."""
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    digits = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(digits))) + digits + content


def sequence(*parts: bytes) -> bytes:
    """Return a SEQUENCE of its parts."""
    return element(SEQUENCE, *parts)


def set_of(*parts: bytes) -> bytes:
    """Return a SET OF, its parts in the order that DER requires."""
    return element(SET, *sorted(parts))


def integer(value: int, tag: int = INTEGER) -> bytes:
    """Return an INTEGER."""
    bits = (~value if value < 0 else value).bit_length()  # without the sign: -128 fits in one byte
    return element(tag, value.to_bytes(bits // 8 + 1, signed=True))


def oid(dotted: str) -> bytes:
    """Return an OBJECT IDENTIFIER."""
    return element(OID, oid_content(dotted))


def oid_content(dotted: str) -> bytes:
    """Return the content of the OBJECT IDENTIFIER of a dotted text."""
    first, second, *rest = map(int, dotted.split("."))
    return b"".join(map(_base128, [first * 40 + second, *rest]))


def dotted(content: bytes) -> str:
    """Return an object identifier in dotted notation."""
    numbers, value = list[int](), 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - first * 40, *numbers[1:]]))


def _base128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(0x80 | number & 0x7F)
    return bytes(reversed(digits))


def _is_padded(content: bytes) -> bool:
    if len(content) == 1:
        return False
    return (content[0] == 0 and content[1] < 0x80) or (content[0] == 0xFF and content[1] >= 0x80)
