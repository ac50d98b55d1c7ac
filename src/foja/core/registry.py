"""The event kinds of a domain: their versions, fields and sources. A domain is a value.

The database stores the same table and checks it again; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from foja.errors import BadPayload, UnknownKind, WrongSource

JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "any": (object,),
    "null": (type(None),),
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
    "array": (list, tuple),
    "object": (dict,),
}
DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event in a domain: its required and optional fields, and its sources.

    A field's types are written as in JSON, several with a bar: `string|null`.
    """

    name: str
    sources: frozenset[str]
    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    erasable: bool = False
    v: int = 1
    keyed_by: tuple[str, str] | None = None  # a prefix and a field
    digests: tuple[str, ...] = ()  # fields that are SHA-256 digests where they are present

    def key(self, payload: Mapping[str, object], given: str | None) -> str | None:
        """Return the idempotency key of a payload: derived from `keyed_by` if set, else the one given."""
        if self.keyed_by is None:
            return given
        prefix, name = self.keyed_by
        return f"{prefix}:{payload[name]}"

    def check(self, payload: Mapping[str, object]) -> None:
        """Raise `BadPayload` unless `payload` is valid for this kind."""
        for name, types in self.required.items():
            if name not in payload:
                raise BadPayload(f"{self.name} needs the field {name!r} ({types}): add it")
            if type(payload[name]) not in _exact(types):
                self._check_type(name, types, payload[name])
        for name, types in self.optional.items():
            if name in payload and type(payload[name]) not in _exact(types):
                self._check_type(name, types, payload[name])
        for name, allowed in self.choices.items():
            if payload.get(name) not in allowed:
                raise BadPayload(f"{self.name}.{name} must be one of {', '.join(sorted(allowed))}")
        for name in self.digests:
            if name in payload:
                check_digest(payload[name], f"{self.name}.{name}")

    def _check_type(self, name: str, types: str, value: object) -> None:
        if not _fits(types, value):
            raise BadPayload(f"{self.name}.{name} must be {types}, not {type(value).__name__}")


def check_digest(value: object, where: str = "this") -> str:
    """Return the value if it is a SHA-256 digest in lower-case hexadecimal, or raise `BadPayload`."""
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise BadPayload(
            f"{where} is not a SHA-256 digest: {value!r}; write its 64 hexadecimal digits in lower case"
        )
    return value


@lru_cache
def _exact(types: str) -> frozenset[type]:
    """Return the Python types of some JSON types; most values are decided by them alone."""
    return frozenset(each for name in types.split("|") for each in JSON_TYPES[name])


def _fits(types: str, value: object) -> bool:
    """Return whether a value is of one of these JSON types; a boolean is not a number."""
    names = types.split("|")
    if isinstance(value, bool):
        return "boolean" in names or "any" in names
    return any(isinstance(value, JSON_TYPES[name]) for name in names)


@dataclass(frozen=True, slots=True)
class Domain:
    """A family of streams: its name and the closed set of its kinds."""

    name: str
    kinds: Mapping[tuple[str, int], Kind]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def kind(self, name: str, v: int, source: str) -> Kind:
        """Return the kind called `name`, or raise if it is unknown or `source` may not record it."""
        if name in RESERVED:
            raise UnknownKind(f"{name} is written by the ledger itself; use void() or erase()")
        found = self.kinds.get((self.aliases.get(name, name), v))
        if found is None:
            known = ", ".join(sorted({kind for kind, _ in self.kinds}))
            raise UnknownKind(f"{self.name} has no kind {name!r} v{v}; its kinds are {known}")
        if source not in found.sources:
            raise WrongSource(
                f"{found.name} may not be recorded by {source!r}, only by {', '.join(sorted(found.sources))}"
            )
        return found


def domain(name: str, kinds: Iterable[Kind], aliases: Mapping[str, str] | None = None) -> Domain:
    """Return the domain of these kinds and of the two kinds that every stream has."""
    every = (*kinds, SLOT_VOIDED, BODY_ERASED)
    return Domain(name, {(kind.name, kind.v): kind for kind in every}, aliases or {})


SLOT_VOIDED = Kind("slot.voided", frozenset({"api", "sweeper"}), {"reason": "string"})
BODY_ERASED = Kind("body.erased", frozenset({"api"}), {"reason": "string", "seq": "number"})
RESERVED = frozenset({SLOT_VOIDED.name, BODY_ERASED.name})  # written by the ledger itself
