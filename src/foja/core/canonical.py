"""Canonical JSON: RFC 8785 (JCS), within limits.

`canonical` accepts the values that Python, PostgreSQL and JavaScript read back alike and
refuses the rest: U+0000, lone surrogates, numbers that are not finite, whole numbers that a
double cannot hold (beyond ±(2⁵³−1), below 1e21), more than 64 nested containers.

Most values are plain: they hold no float, and their keys have the same order by code point
as by UTF-16 unit. The C encoder writes those; `serializer` writes the others and explains
every refusal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import NoReturn, TypeAlias

from foja.core.serializer import MAX_DEPTH, MAX_INTEGER, serialize
from foja.errors import NotCanonical

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def canonical(value: object) -> bytes:
    """Return the canonical form of this value, or raise `NotCanonical`."""
    return _encode_plain(value) or serialize(value).encode()


def parse(data: bytes | str) -> Json:
    """Return the value of a JSON text, or raise `NotCanonical` if the text is ambiguous.

    Duplicate keys, NaN and overflowing numbers are refused here. Whether the value has a
    canonical form is checked by `canonical`.
    """
    try:
        value: Json = _decode(data if isinstance(data, str) else data.decode())
    except UnicodeDecodeError:
        raise NotCanonical("refused: the text is not UTF-8; encode it as UTF-8") from None
    except ValueError as error:
        raise NotCanonical(f"refused: the text is not JSON ({error}); send one JSON value") from None
    except RecursionError:
        raise NotCanonical(f"refused: more than {MAX_DEPTH} containers are nested; flatten it") from None
    return value


def _encode_plain(value: object) -> bytes | None:
    """Return the output of the C encoder if it is surely canonical, else None."""
    if not _is_plain((value,), 0):
        return None
    text = "".join(_encode(value, 0))
    if "\\u0000" in text:
        return None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _is_plain(values: Iterable[object], depth: int) -> bool:
    """Return whether the C encoder gives the canonical form of these values."""
    for value in values:
        if isinstance(value, str) or value is None:
            continue
        if isinstance(value, int):
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                return False
        elif depth == MAX_DEPTH or not _is_plain_container(value, depth + 1):
            return False
    return True


def _is_plain_container(value: object, depth: int) -> bool:
    if isinstance(value, dict):
        return _are_plain_keys(value) and _is_plain(value.values(), depth)
    return isinstance(value, list | tuple) and _is_plain(value, depth)


def _are_plain_keys(keys: Iterable[object]) -> bool:
    for key in keys:
        if not isinstance(key, str):
            return False
        if not key.isascii() and max(key) > "\uffff":
            return False
    return True


def _refuse_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotCanonical(f"refused: the key {json.dumps(twice)} occurs twice; send it once")
    return value


def _refuse_overflow(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise NotCanonical("refused: a number is too large for a double; send it as a string")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise NotCanonical(f"refused: {name} is not a JSON number; send null or a string")


# `JSONEncoder.encode` would make this anew for every value. No circularity check: `_is_plain` has
# bounded the depth already.
_encode = c_make_encoder(None, None, encode_basestring, None, ":", ",", True, False, True)
_decode = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_float=_refuse_overflow, parse_constant=_refuse_constant
).decode
