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
from foja.pure.core.definitions import FLAG, JOB_RULES, KIND_RULES, can_decide
from foja.pure.core.fields import Rule, Rules, a, check_fields, listed, optional

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
# What a reader is shown in place of an event, and what is shown and never recorded.
SHOWN_KINDS: Final = frozenset({"slot.open", "reset"})
TRANSIENT_KINDS: Final = frozenset(
    {"thinking_chunk", "message_chunk", "complete", "error", "session_start", "session_end"}
)
RESERVED_DOMAINS: Final = frozenset({"document", "conversation", "thread", "image", "request", "system"})
DIGEST: Final = re.compile("[0-9a-f]{64}")
_DOMAIN, _TYPE = re.compile("[a-z][a-z0-9_]{0,50}"), re.compile("[a-z][a-z0-9_]{0,50}")
_SOURCE, _KIND = re.compile("[a-z][a-z0-9-]{0,50}"), re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*")
MAX_DECIDED: Final = 51 - len("decide_")  # characters of the name of a domain with `decide`


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
    retired: bool = False  # refused for new events; old ones stay readable

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            raise BadDomain(f"the sources of {self.name} are a text; give a set: {{{self.sources!r}}}")
        check_fields(self, KIND_RULES, BadDomain)
        _check_name("kind", self.name, _KIND)
        sources = list(self.sources)
        for source in sources:
            _check_source(source, reserved={"operator", "reader", "worker"})
        object.__setattr__(self, "sources", frozenset(sources))
        for name, types in (*self.required.items(), *self.optional.items()):
            if unknown := sorted(set(types.split("|")) - JSON_TYPES.keys()):
                raise BadDomain(f"{self.name}.{name} has the unknown type {unknown[0]!r}; use a JSON type")
        for problem, fields in self._contradictions().items():
            if fields:
                raise BadDomain(f"{self.name}: {min(fields)!r} {problem}")

    def _contradictions(self) -> Mapping[str, Iterable[str]]:
        """Return what may be wrong between the fields of this kind, each with the fields it is true of."""
        every = {**self.required, **self.optional}
        texts = {name for name, types in every.items() if {"string", "any"} & {*types.split("|")}}
        return {
            "must not be empty: name at least one source": () if self.sources else ("sources",),
            "is both required and optional; leave it in one of them": self.required.keys() & self.optional,
            "has choices but is not a field of type string": self.choices.keys() - texts,
            "is a digest but is not a field of type string": set(self.digests) - texts,
            "is in keyed_by but is not a required field": {*(self.keyed_by or ())[1:]} - self.required.keys(),
        }

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
            "retired": self.retired,
            "keyed_by": self.keyed_by,
            "client_checks": {
                "optional": dict(self.optional),
                "choices": {name: sorted(allowed) for name, allowed in self.choices.items()},
                "digests": list(self.digests),
            },
        }

    def _check_type(self, name: str, types: str, value: object) -> None:
        """Raise `BadPayload` unless a value is of one of these JSON types; True is not a number."""
        names = types.split("|")
        if isinstance(value, bool):
            fits = "boolean" in names or "any" in names
        else:
            fits = any(isinstance(value, JSON_TYPES[each]) for each in names)
        if not fits:
            known = (each for each, kinds in JSON_TYPES.items() if each != "any" and isinstance(value, kinds))
            raise BadPayload(f"{self.name}.{name} must be {types}, not {next(known, type(value).__name__)}")


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
    asked_by: str | None = None  # the kind whose event asks for it: its key is the number of that event

    def __post_init__(self) -> None:
        check_fields(self, JOB_RULES, BadDomain)
        _check_name("job type", self.name, _TYPE)
        _check_source(self.source, reserved={"api", "operator", "reader", "sweeper", "worker"})
        if self.serial and self.level:
            raise BadDomain(f"{self.name} is serial and level; a level type has one job per stream anyway")

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
        check_fields(self, _DOMAIN_RULES, BadDomain)
        _check_name("domain", self.name, _DOMAIN)
        if self.decide is not None and self.executor is None:
            if len(self.name) > MAX_DECIDED:
                raise BadDomain(f"{self.name} is too long: with decide, at most {MAX_DECIDED} characters")
            name = f"decide_{self.name}"
            object.__setattr__(self, "executor", name)
            object.__setattr__(
                self, "jobs", (*self.jobs, JobType(name, name.replace("_", "-"), level=True, max_tries=10))
            )
        every = {(kind.name, kind.v): kind for kind in (*self.kinds, SLOT_VOIDED, BODY_ERASED)}
        names, types = {name for name, _ in every}, [job.name for job in self.jobs]
        if len(every) != len(self.kinds) + 2 or names & SHOWN_KINDS:
            raise BadDomain(f"{self.name} names a kind twice, or one that the ledger writes itself")
        if len(types) != len({*types}):
            raise BadDomain(f"{self.name} names a job type twice; decide_{self.name} is that of decide")
        if unknown := sorted({*self.aliases.values()} - names | self.aliases.keys() & names):
            raise BadDomain(f"the aliases of {self.name} do not map another name to a kind: {unknown[0]!r}")
        if unasked := sorted({job.asked_by for job in self.jobs if job.asked_by} - names):
            raise BadDomain(
                f"{self.name} has no kind {unasked[0]!r}, which asked_by names; name one of its kinds"
            )
        if [job.name for job in self.jobs if job.level] != ([self.executor] if self.executor else []):
            raise BadDomain(f"{self.name}: the executor is the one job type with level=True, and needs one")
        object.__setattr__(self, "_kinds", every)

    def kind(self, name: str, v: int, source: str) -> Kind:
        """Return the kind called `name`, if `source` may record it."""
        if name in RESERVED:
            raise UnknownKind(f"{name} is written by the ledger itself; use void() or erase()")
        found = self._kinds.get((self.aliases.get(name, name), v))
        if found is None:
            known = ", ".join(sorted({kind for kind, _ in self._kinds}))
            if versions := [number for kind, number in self._kinds if kind == name]:
                last = max(versions)
                raise UnknownKind(f"{self.name} has {name!r} as v{last}; give v={last}, not v={v!r}")
            raise UnknownKind(f"{self.name} has no kind {name!r} v{v}; its kinds are {known}")
        if found.retired:
            raise UnknownKind(f"{found.name} v{v} is retired; append v{self.newest(found.name)}")
        if source not in found.sources:
            raise WrongSource(
                f"{found.name} may not be recorded by {source!r}, only by {', '.join(sorted(found.sources))}"
            )
        return found

    def newest(self, name: str) -> int:
        """Return the newest version of a kind; 1 if there is no such kind."""
        return max((v for kind, v in self._kinds if kind == name), default=1)

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


_DOMAIN_RULES: Final[Rules] = {
    "name": a(str, "a text"),
    "kinds": Rule(
        lambda value: bool(value) and listed(Kind, "").fits(value), "a list with at least one Kind"
    ),
    "jobs": listed(JobType, "a list of JobType"),
    "decide": optional(Rule(can_decide, "a function decide(events, now), not async")),
    "aliases": a(Mapping, "an object of names and kinds"),
    "head_only": FLAG,
    "executor": optional(a(str, "the name of a job type")),
}


def check_digest(value: object, where: str = "this") -> str:
    """Return a SHA-256 digest in lower-case hexadecimal, or raise `BadPayload`."""
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise BadPayload(
            f"{where} is {value!r}, not a SHA-256 digest: expected 64 hexadecimal digits in lower case"
        )
    return value


def _check_name(what: str, name: object, pattern: re.Pattern[str]) -> None:
    if not (isinstance(name, str) and pattern.fullmatch(name)):
        raise BadDomain(f"{name!r} is not a valid {what} name: expected {pattern.pattern}")


def _check_source(source: str, reserved: Container[str]) -> None:
    _check_name("source", source, _SOURCE)
    if source in reserved:
        raise BadDomain(f"the source name {source!r} is reserved; choose another")


@lru_cache
def _exact(types: str) -> frozenset[type]:
    """Return the Python types of some JSON types; most values are decided by them alone."""
    names = types.split("|")
    return frozenset(each for name in (JSON_TYPES if "any" in names else names) for each in JSON_TYPES[name])


SLOT_VOIDED = Kind("slot.voided", ("api", "sweeper"), {"reason": "string"})
BODY_ERASED = Kind("body.erased", API, {"reason": "string", "seq": "number"})
RESERVED = frozenset({SLOT_VOIDED.name, BODY_ERASED.name})  # written by the ledger itself
