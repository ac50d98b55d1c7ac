"""The closed registry of a domain: its kinds, their fields, versions and sources, and its job types.

A domain is a value. The database keeps the same registry and checks it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from foja.errors import BadDomain, BadPayload, UnknownKind, WrongSource

JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "any": (object,),
    "null": (type(None),),
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
    "array": (list, tuple),
    "object": (dict,),
}
API: Final = frozenset({"api"})
RESERVED_DOMAINS: Final = frozenset({"document", "conversation", "thread", "image", "system"})
DIGEST: Final = re.compile("[0-9a-f]{64}")
_DOMAIN, _TYPE = re.compile("[a-z][a-z0-9_]{0,50}"), re.compile("[a-z][a-z0-9_]{0,50}")
_SOURCE, _KIND = re.compile("[a-z][a-z0-9-]{0,50}"), re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*")


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an event: its required and optional fields, its version and its sources.

    A field's types are written as in JSON, several with a bar: `string|null`.
    """

    name: str
    sources: Iterable[str] = API
    required: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    erasable: bool = False
    v: int = 1
    wakes: bool = True  # does the domain's `decide` look at the stream again?
    keyed_by: tuple[str, str] | None = None  # a word and a field: the idempotency key is `word:field`
    digests: tuple[str, ...] = ()  # fields that are SHA-256 digests where they are present
    tracked: bool = False  # checked by the guard of its domain; only Foja's own domains have one

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            raise BadDomain(f"the sources of {self.name} are a text; give a set: {{{self.sources!r}}}")
        object.__setattr__(self, "sources", frozenset(self.sources))
        _check_name("kind", self.name, _KIND)
        for source in self.sources:
            _check_source(source, reserved={"worker"})
        for name, types in (*self.required.items(), *self.optional.items()):
            if unknown := sorted(set(types.split("|")) - JSON_TYPES.keys()):
                raise BadDomain(f"{self.name}.{name} has the unknown type {unknown[0]!r}; use a JSON type")
        if self.v < 1 or not self.sources:
            raise BadDomain(f"{self.name} needs a version from 1 on and at least one source")

    def key(self, payload: Mapping[str, object], given: str | None) -> str | None:
        """Return the idempotency key of a payload: the kind's own, or the one given."""
        if self.keyed_by is None:
            return given
        prefix, name = self.keyed_by
        return f"{prefix}:{payload[name]}"

    def check(self, payload: Mapping[str, object]) -> None:
        """Raise `BadPayload` unless `payload` has the fields of this kind."""
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

    def definition(self, *, wakes: bool) -> dict[str, Any]:
        """Return the kind as the database registers it."""
        return {
            "kind": self.name,
            "v": self.v,
            "sources": sorted(self.sources),
            "required": {name: types.split("|") for name, types in self.required.items()},
            "erasable": self.erasable,
            "wakes": wakes and self.wakes,
            "tracked": self.tracked,
            "keyed_by": self.keyed_by,
            "client_checks": {
                "optional": dict(self.optional),
                "choices": {name: sorted(allowed) for name, allowed in self.choices.items()},
                "digests": list(self.digests),
            },
        }

    def _check_type(self, name: str, types: str, value: object) -> None:
        if not _fits(types, value):
            raise BadPayload(f"{self.name}.{name} must be {types}, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class JobType:
    """A type of job: who does it, for how long it is leased, how often it is tried. Times in seconds."""

    name: str
    source: str
    lease: float = 30.0
    max_tries: int = 5
    backoff: float = 2.0  # before the second try; doubled before each one after
    backoff_most: float = 3600.0
    serial: bool = False  # one job of a stream at a time, in order
    level: bool = False  # one job per stream, queued again whenever the stream grows

    def __post_init__(self) -> None:
        _check_name("job type", self.name, _TYPE)
        _check_source(self.source, reserved={"api", "sweeper", "worker"})
        if self.lease <= 0 or self.max_tries < 1:
            raise BadDomain(f"{self.name} needs a lease and a number of tries above 0")

    def definition(self) -> dict[str, Any]:
        """Return the job type as the database registers it."""
        return {name: getattr(self, name) for name in self.__slots__[1:]} | {"type": self.name}


Decide = Callable[[Sequence[Any], datetime], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Domain:
    """A family of streams: a name, a closed set of kinds, and the work that belongs to it.

    `decide` is pure: it gets the sealed events of a stream and the time, and returns the jobs (`NewJob`) and
    events (`NewEvent`) that the stream still needs. It runs as the job type `decide_<name>`.
    """

    name: str
    kinds: Sequence[Kind]
    jobs: Sequence[JobType] = ()
    decide: Decide | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    head_only: bool = False  # written at the head alone: no reserved numbers
    executor: str | None = None
    _kinds: Mapping[tuple[str, int], Kind] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name("domain", self.name, _DOMAIN)
        if self.decide is not None and self.executor is None:
            name = f"decide_{self.name}"
            object.__setattr__(self, "executor", name)
            object.__setattr__(
                self, "jobs", (*self.jobs, JobType(name, name.replace("_", "-"), level=True, max_tries=10))
            )
        every = {(kind.name, kind.v): kind for kind in (*self.kinds, SLOT_VOIDED, BODY_ERASED)}
        if len(every) != len(self.kinds) + 2:
            raise BadDomain(f"{self.name} names a kind twice, or one that the ledger writes itself")
        object.__setattr__(self, "_kinds", every)

    def kind(self, name: str, v: int, source: str) -> Kind:
        """Return the kind called `name`, if `source` may record it."""
        if name in RESERVED:
            raise UnknownKind(f"{name} is written by the ledger itself; use void() or erase()")
        found = self._kinds.get((self.aliases.get(name, name), v))
        if found is None:
            known = ", ".join(sorted({kind for kind, _ in self._kinds}))
            raise UnknownKind(f"{self.name} has no kind {name!r} v{v}; its kinds are {known}")
        if source not in found.sources:
            raise WrongSource(
                f"{found.name} may not be recorded by {source!r}, only by {', '.join(sorted(found.sources))}"
            )
        return found

    def job(self, name: str) -> JobType | None:
        """Return the job type of this name."""
        return next((job for job in self.jobs if job.name == name), None)

    def definition(self) -> dict[str, Any]:
        """Return the domain as the database registers it."""
        wakes = self.executor is not None
        return {
            "domain": self.name,
            "head_only": self.head_only,
            "executor": self.executor,
            "kinds": [kind.definition(wakes=wakes) for kind in self.kinds],
            "reserved_kinds": [kind.definition(wakes=wakes) for kind in (SLOT_VOIDED, BODY_ERASED)],
            "jobs": [job.definition() for job in self.jobs],
        }


def check_digest(value: object, where: str = "this") -> str:
    """Return a SHA-256 digest in lower-case hexadecimal, or raise `BadPayload`."""
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise BadPayload(
            f"{where} is {value!r}, not a SHA-256 digest: expected 64 hexadecimal digits in lower case"
        )
    return value


def _check_name(what: str, name: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(name):
        raise BadDomain(f"{name!r} is not a valid {what} name: expected {pattern.pattern}")


def _check_source(source: str, reserved: Container[str]) -> None:
    _check_name("source", source, _SOURCE)
    if source in reserved:
        raise BadDomain(f"the source name {source!r} is reserved; choose another")


@lru_cache
def _exact(types: str) -> frozenset[type]:
    """Return the Python types of some JSON types; most values are decided by them alone."""
    return frozenset(each for name in types.split("|") for each in JSON_TYPES[name])


def _fits(types: str, value: object) -> bool:
    """Return whether a value is of one of these JSON types; True is not a number."""
    names = types.split("|")
    if isinstance(value, bool):
        return "boolean" in names or "any" in names
    return any(isinstance(value, JSON_TYPES[name]) for name in names)


SLOT_VOIDED = Kind("slot.voided", ("api", "sweeper"), {"reason": "string"})
BODY_ERASED = Kind("body.erased", API, {"reason": "string", "seq": "number"})
RESERVED = frozenset({SLOT_VOIDED.name, BODY_ERASED.name})  # written by the ledger itself
