"""What may be said, in which version, by whom: a domain is a value.

The database keeps the same table and checks it again; a test compares the two.
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
    """One thing a domain may say: its required and optional fields, and its sources.

    A field's types are written as in JSON, several with a bar: `string|null`.
    """

    name: str
    sources: frozenset[str]
    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    erasable: bool = False
    v: int = 1
    keyed_by: tuple[str, str] | None = None  # a word and a field
    digests: tuple[str, ...] = ()  # fields that are SHA-256 digests where they are present

    def key(self, payload: Mapping[str, object], given: str | None) -> str | None:
        """Return the idempotency key of a body: its own, if the kind says so, or the one given."""
        if self.keyed_by is None:
            return given
        word, name = self.keyed_by
        return f"{word}:{payload[name]}"

    def check(self, payload: Mapping[str, object]) -> None:
        """Raise `BadPayload` unless `payload` is a body of this kind."""
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


def check_digest(word: object, where: str = "this") -> str:
    """Return a SHA-256 digest as it is written here, or say how to write it."""
    if not isinstance(word, str) or not DIGEST.fullmatch(word):
        raise BadPayload(
            f"{where} is {word!r}, no SHA-256 digest; write its 64 hexadecimal digits in lower case"
        )
    return word


@lru_cache
def _exact(types: str) -> frozenset[type]:
    """Return the Python types of some JSON types: the common case, decided at once."""
    return frozenset(each for name in types.split("|") for each in JSON_TYPES[name])


def _fits(types: str, value: object) -> bool:
    """Say whether a value is of one of these JSON types; True is no number."""
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
        """Return the kind called `name`, if `source` may say it."""
        if name in RESERVED:
            raise UnknownKind(f"{name} is written by the ledger itself; use void() or erase()")
        found = self.kinds.get((self.aliases.get(name, name), v))
        if found is None:
            known = ", ".join(sorted({kind for kind, _ in self.kinds}))
            raise UnknownKind(f"{self.name} has no kind {name!r} v{v}; its kinds are {known}")
        if source not in found.sources:
            raise WrongSource(
                f"{found.name} may not be said by {source!r}, only by {', '.join(sorted(found.sources))}"
            )
        return found


def domain(name: str, kinds: Iterable[Kind], aliases: Mapping[str, str] | None = None) -> Domain:
    """Return the domain of these kinds, and of the two every stream has."""
    every = (*kinds, SLOT_VOIDED, BODY_ERASED)
    return Domain(name, {(kind.name, kind.v): kind for kind in every}, aliases or {})


SLOT_VOIDED = Kind("slot.voided", frozenset({"api", "sweeper"}), {"reason": "string"})
BODY_ERASED = Kind("body.erased", frozenset({"api"}), {"reason": "string", "seq": "number"})
RESERVED = frozenset({SLOT_VOIDED.name, BODY_ERASED.name})  # written by the ledger itself
