"""Serialize any value to canonical JSON, or explain why it has no canonical form.

Complete on its own. `canonical` uses orjson for plain values, which is faster and must give
the same bytes.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import TypeAlias

from foja.errors import NotCanonical
from foja.pure.quotation import quoted

Trail: TypeAlias = "list[str | int]"

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_FIRST_WITH_EXPONENT, _FIRST_WITHOUT_EXPONENT = 1e21, 1e-6
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,39}")


def serialize(value: object) -> str:
    """Return the canonical text of this value, or raise `NotCanonical` with the path of the fault."""
    pieces: list[str] = []
    _serialize(value, [], pieces)
    return "".join(pieces)


def _serialize(value: object, trail: Trail, pieces: list[str]) -> None:
    if isinstance(value, dict):
        _serialize_object(value, trail, pieces)
    elif isinstance(value, list | tuple):
        _serialize_array(value, trail, pieces)
    else:
        pieces.append(_scalar(value, trail))


def _serialize_object(value: dict[object, object], trail: Trail, pieces: list[str]) -> None:
    _check_depth(trail)
    before = "{"
    for key in sorted([_checked_key(key, trail) for key in value], key=utf16_units):
        pieces.append(f"{before}{encode_basestring(key)}:")
        trail.append(key)
        _serialize(value[key], trail, pieces)
        trail.pop()
        before = ","
    pieces.append("}" if value else "{}")


def _serialize_array(value: list[object] | tuple[object, ...], trail: Trail, pieces: list[str]) -> None:
    _check_depth(trail)
    before = "["
    for index, item in enumerate(value):
        if type(item) is int and -MAX_INTEGER <= item <= MAX_INTEGER:  # long lists are mostly numbers
            pieces.append(f"{before}{item}")
        elif type(item) is float:
            trail.append(index)
            pieces.append(f"{before}{_double(item, trail)}")
            trail.pop()
        else:
            pieces.append(before)
            trail.append(index)
            _serialize(item, trail, pieces)
            trail.pop()
        before = ","
    pieces.append("]" if value else "[]")


def _scalar(value: object, trail: Trail) -> str:
    if isinstance(value, str):
        return encode_basestring(_checked_text(value, trail))
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(value, trail)
    if isinstance(value, float):
        return _double(value, trail)
    raise _refusal(
        f"a {type(value).__name__} has no JSON form", trail, "send text, a number, a list or a dict"
    )


def _integer(value: int, trail: Trail) -> str:
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise _refusal("an integer is beyond ±(2**53 - 1)", trail, "send it as a string")
    return int.__repr__(value)


def _double(value: float, trail: Trail) -> str:
    if not math.isfinite(value):
        raise _refusal(f"{float.__repr__(value)} is not a JSON number", trail, "send null or a string")
    if MAX_INTEGER < abs(value) < _FIRST_WITH_EXPONENT:
        raise _refusal("a number is beyond ±(2**53 - 1) and below 1e21", trail, "send it as a string")
    return _ecmascript(value) if value else "0"


def _ecmascript(value: float) -> str:
    """Return a double as ECMAScript writes it; the digits are those of `repr`.

    Python uses exponents from 1e16 on, ECMAScript from 1e21 on: the numbers between are refused.
    """
    if -_FIRST_WITHOUT_EXPONENT < value < _FIRST_WITHOUT_EXPONENT:
        return float.__repr__(value).replace("e-0", "e-")
    mantissa, _, exponent = float.__repr__(value).partition("e")
    if not exponent:
        return mantissa.removesuffix(".0")
    power = int(exponent)
    if power > 0:
        return f"{mantissa}e{power:+d}"
    sign = "-" if value < 0 else ""
    digits = mantissa.removeprefix("-").replace(".", "")
    return f"{sign}0.{'0' * (-power - 1)}{digits}"


def utf16_units(key: str) -> bytes:
    """Return what orders the keys of an object."""
    return key.encode("utf-16-be")


def _checked_key(key: object, trail: Trail) -> str:
    if not isinstance(key, str):
        raise _refusal(f"a key is a {type(key).__name__}", trail, "use text for every key")
    return _checked_text(key, [*trail, key])


def _checked_text(text: str, trail: Trail) -> str:
    if "\0" in text:
        raise _refusal("text holds U+0000", trail, "remove it, or send the bytes in base64")
    if not text.isascii() and _LONE_SURROGATE.search(text):
        raise _refusal("text holds half of a surrogate pair", trail, "send whole characters")
    return text


def _check_depth(trail: Trail) -> None:
    if len(trail) >= MAX_DEPTH:
        raise _refusal(f"more than {MAX_DEPTH} containers are nested", trail, "flatten it")


def _refusal(what: str, trail: Trail, remedy: str) -> NotCanonical:
    return NotCanonical(f"refused at {_path(trail)}: {what}; {remedy}")


def _path(trail: Trail) -> str:
    return "$" + "".join(map(_path_step, trail))


def _path_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{quoted_key(step)}]"


def quoted_key(key: str) -> str:
    """Return the key of an object as a quotation, with the escapes of JSON."""
    return quoted(json.dumps(key)[1:-1])
