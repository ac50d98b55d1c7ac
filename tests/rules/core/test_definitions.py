"""Definitions of domains: a contradiction or a wrong type is refused when it is built, by `BadDomain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foja.domains.registration import unique
from foja.errors import BadDomain
from foja.pure.core.registry import TRANSIENT_KINDS, Domain, JobType, Kind
from foja.pure.models.conversations.events import TRANSIENT


def kind(**more: Any) -> Kind:
    return Kind("a.b", **more)


def job(**more: Any) -> JobType:
    return JobType("do_a", "a-doer", **more)


def domain(**more: Any) -> Domain:
    return Domain(**{"name": "a", "kinds": [kind()], **more})


async def decide_async(events: Any, now: Any) -> list[Any]:
    return []


CONTRADICTIONS: dict[str, Callable[[], Any]] = {
    "decide that is a number": lambda: domain(decide=5),
    "decide without arguments": lambda: domain(decide=list),
    "decide with one argument": lambda: domain(decide=lambda events: []),
    "decide with three arguments": lambda: domain(decide=lambda events, now, more: []),
    "decide that is async": lambda: domain(decide=decide_async),
    "a field both required and optional": lambda: kind(required={"x": "string"}, optional={"x": "number"}),
    "choices on a number": lambda: kind(required={"x": "number"}, choices={"x": {"y"}}),
    "choices of no field": lambda: kind(choices={"x": {"y"}}),
    "a digest of no field": lambda: kind(digests=("x",)),
    "keyed_by of one word": lambda: kind(keyed_by=("zz",)),
    "keyed_by of no field": lambda: kind(keyed_by=("zz", "x")),
    "keyed_by of an optional field": lambda: kind(optional={"x": "string"}, keyed_by=("zz", "x")),
    "an alias of no kind": lambda: domain(aliases={"q": "a.none"}),
    "an alias that is a kind": lambda: domain(aliases={"a.b": "a.b"}),
    "a negative backoff": lambda: job(backoff=-1),
    "a negative longest backoff": lambda: job(backoff_most=-1),
    "serial and level": lambda: job(serial=True, level=True),
    "an executor that is no job type": lambda: domain(executor="nothing"),
    "a level job without an executor": lambda: domain(jobs=[job(level=True)]),
    "no sources": lambda: kind(sources=()),
    "no kinds": lambda: domain(kinds=[]),
}
TYPES: dict[str, Callable[[], Any]] = {
    "v of 10**12": lambda: kind(v=10**12),
    "v True": lambda: kind(v=True),
    "v 1.5": lambda: kind(v=1.5),
    "v a text": lambda: kind(v="1"),
    "v 0": lambda: kind(v=0),
    "a kind without a name": lambda: Kind(None),  # type: ignore[arg-type]
    "required as a list": lambda: kind(required=["x"]),
    "a type that is a class": lambda: kind(required={"x": str}),
    "an optional type that is a class": lambda: kind(optional={"x": str}),
    "a field with U+0000": lambda: kind(required={"x\0": "string"}),
    "a field with a surrogate": lambda: kind(optional={"x\ud800": "string"}),
    "sources that are numbers": lambda: kind(sources={1}),
    "sources that are a number": lambda: kind(sources=1),
    "choices that are a text": lambda: kind(required={"x": "string"}, choices={"x": "abc"}),
    "erasable as a text": lambda: kind(erasable="no"),
    "a lease of NaN": lambda: job(lease=float("nan")),
    "a lease without end": lambda: job(lease=float("inf")),
    "a lease of 1e30": lambda: job(lease=1e30),
    "a lease of nothing": lambda: job(lease=0),
    "a lease as a text": lambda: job(lease="30"),
    "1.5 tries": lambda: job(max_tries=1.5),
    "10**10 tries": lambda: job(max_tries=10**10),
    "no tries": lambda: job(max_tries=0),
    "a job type without a name": lambda: JobType(None, "a-doer"),  # type: ignore[arg-type]
    "a domain without a name": lambda: domain(name=None),
    "kinds that are texts": lambda: domain(kinds=["x"]),
    "kinds that are a Kind": lambda: domain(kinds=kind()),
    "jobs that are texts": lambda: domain(jobs=["x"]),
    "aliases as a list": lambda: domain(aliases=["x"]),
    "a kind of 100,000 characters": lambda: Kind("k" * 100_000),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refused_when_it_is_built(name: str) -> None:
    """E18: what could only fail later is refused at once."""
    with pytest.raises(BadDomain):
        CONTRADICTIONS[name]()


@pytest.mark.parametrize("name", TYPES)
def test_a_value_of_a_wrong_type_or_size_is_refused_when_it_is_built(name: str) -> None:
    """E19, E24: the error names the field, and no database is asked."""
    with pytest.raises(BadDomain):
        TYPES[name]()


def test_an_error_names_the_field_and_what_it_may_be() -> None:
    """E19: the message says what was given and what is expected."""
    with pytest.raises(BadDomain, match=r"Kind\.v is '1': expected a whole number from 1"):
        kind(v="1")


@pytest.mark.parametrize("name", ["slot.open", "reset", "slot.voided", "body.erased"])
def test_a_kind_that_readers_are_shown_in_place_of_events_is_reserved(name: str) -> None:
    """E5: such a kind would break cursors and followers."""
    with pytest.raises(BadDomain, match="the ledger writes itself"):
        domain(kinds=[Kind(name)])


def test_the_names_of_transients_are_reserved() -> None:
    """E5: a recorded event is not called as one that is only shown."""
    assert {each.name for each in TRANSIENT.kinds} == TRANSIENT_KINDS
    for name in TRANSIENT_KINDS:
        with pytest.raises(BadDomain, match="reserved"):
            unique([domain(kinds=[Kind(name)])])


def test_a_job_type_named_twice_is_refused() -> None:
    """E23: also the one that `decide` runs as."""
    for jobs in ([job(), job(lease=60)], [JobType("decide_a", "a-doer")]):
        with pytest.raises(BadDomain, match="names a job type twice"):
            domain(jobs=jobs, decide=lambda events, now: [])


def test_a_domain_too_long_for_its_decide_is_refused_by_its_own_name() -> None:
    """E23: the message is about the domain, not about a job type that the user never named."""
    assert domain(name="a" * 44, decide=lambda events, now: []).executor == "decide_" + "a" * 44
    assert domain(name="a" * 51).executor is None
    with pytest.raises(BadDomain, match="at most 44 characters"):
        domain(name="a" * 45, decide=lambda events, now: [])
