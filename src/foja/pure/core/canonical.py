"""Canonical JSON: RFC 8785 (JCS), within limits.

`canonical` accepts the values that Python, PostgreSQL and JavaScript read back alike and
refuses the rest: U+0000, lone surrogates, numbers that are not finite, whole numbers that a
double cannot hold (beyond ±(2⁵³−1), below 1e21), more than 64 nested containers.

Most values are plain: their floats are fractions that every encoder prints as ECMAScript does. orjson
writes those, with their keys put in order before if that by code point is another one than that by UTF-16
unit; `serializer` writes the others and explains every refusal.

A text is refused before it is parsed if it is over `MAX_BYTES`, and an object with more than `MAX_KEYS`
keys: more than fit in the largest body of an event. Both cost linear time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import NoReturn, TypeAlias

from foja.errors import NotCanonical
from foja.pure.core.serializer import MAX_DEPTH, MAX_INTEGER, quoted_key, serialize, utf16_units

try:
    import orjson
except ImportError:  # `foja verify` alone needs no further package: `serializer` writes every value then
    orjson = None  # type: ignore[assignment]

MAX_BYTES = 4 << 20
MAX_KEYS = 1 << 18
DEEPEST = 500  # containers that are parsed; how many may be nested is checked by `canonical`
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one deeper, or one less deep: as signed bytes
_OTHERS = bytes({*range(256)} - {*b"[{]}"})
_CONTAINERS = frozenset((dict, list, tuple))
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def canonical(value: object) -> bytes:
    """Return the canonical form of this value, or raise `NotCanonical`."""
    return _encode_plain(value) or serialize(value).encode()


def parse(data: bytes | str) -> Json:
    """Return the value of a JSON text, or raise `NotCanonical` if the text is ambiguous.

    Duplicate keys, NaN and overflowing numbers are refused here. Whether the value has a
    canonical form is checked by `canonical`.
    """
    if len(data) > MAX_BYTES:
        raise NotCanonical(f"refused: the text has {len(data):,} bytes, over {MAX_BYTES:,}; send less")
    try:
        text = data if isinstance(data, str) else data.decode()
        if _is_deep(text):
            raise RecursionError
        value: Json = _decode(text)
    except UnicodeDecodeError:
        raise NotCanonical("refused: the text is not UTF-8; encode it as UTF-8") from None
    except ValueError as error:
        raise NotCanonical(f"refused: the text is not JSON ({error}); send one JSON value") from None
    except RecursionError:
        raise NotCanonical(f"refused: more than {MAX_DEPTH} containers are nested; flatten it") from None
    return value


def _is_deep(text: str) -> bool:
    """Return whether the text nests deeper than the decoder can follow on any stack.

    Python's own limit cannot be relied on: some libraries raise it so far that the process would end.
    """
    text = text.replace("[]", "").replace("{}", "")  # they nest nothing, and a text may have many
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    brackets = _STRING.sub("", text).encode("ascii", "ignore").translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0) > DEEPEST


def _encode_plain(value: object) -> bytes | None:
    """Return the output of orjson if it is surely canonical, else None."""
    if orjson is None or not _is_plain((value,), 0):
        return None
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # half of a surrogate pair, or a key that is not exactly a text
        return None
    if b"\\" in text and b"\\u0000" in text:  # one byte is found faster than six, and most texts lack it
        return None
    if not (text.isascii() or _has_plain_keys((value,))):
        text = orjson.dumps(_in_order((value,)))[1:-1]
    return text


def _is_plain(values: Iterable[object], depth: int) -> bool:
    """Return whether orjson gives the canonical form of these values, apart from the order of keys.

    Every value of every event passes here, so there is one call per container, and only exact
    types are plain.
    """
    for value in values:
        kind = type(value)
        if kind is str:
            continue
        if kind is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
                return False
        elif kind is list or kind is tuple:
            if depth == MAX_DEPTH or not _is_plain(value, depth + 1):  # type: ignore[arg-type]
                return False
        elif kind is dict:
            if depth == MAX_DEPTH or not _is_plain(value.values(), depth + 1):  # type: ignore[attr-defined]
                return False
        elif kind is float:
            if value.is_integer() or not 1e-4 <= abs(value) < 1e16:  # type: ignore[attr-defined, arg-type]
                return False
        elif not (value is None or kind is bool):
            return False
    return True


def _has_plain_keys(values: Iterable[object]) -> bool:
    """Return whether all keys have the same order by code point as by UTF-16 unit. Asked of plain values."""
    for value in values:
        if isinstance(value, dict):
            if max("".join(value), default="") > "\uffff" or not _has_plain_keys(value.values()):
                return False
        elif isinstance(value, list | tuple) and not _has_plain_keys(value):
            return False
    return True


def _in_order(value: object) -> object:
    """Return a plain container with the keys of each object ordered by UTF-16 unit."""
    if not isinstance(value, dict):
        items = value if isinstance(value, list | tuple) else ()
        return [_in_order(each) if type(each) in _CONTAINERS else each for each in items]
    keys = sorted(value, key=utf16_units)
    if keys == [*value] and _CONTAINERS.isdisjoint(map(type, value.values())):
        return value  # large objects that are judged are mostly in order
    return {key: _in_order(each) if type(each := value[key]) in _CONTAINERS else each for key in keys}


def _refuse_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len(pairs) > MAX_KEYS:
        raise NotCanonical(f"refused: an object has {len(pairs):,} keys, over {MAX_KEYS:,}; send a list")
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotCanonical(f"refused: the key {quoted_key(key)} occurs twice; send it once")
            seen.add(key)
    return value


def _refuse_overflow(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise NotCanonical("refused: a number is too large for a double; send it as a string")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise NotCanonical(f"refused: {name} is not a JSON number; send null or a string")


_decode = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_float=_refuse_overflow, parse_constant=_refuse_constant
).decode
