"""What the fields of a kind and of a job type may be."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

from foja.pure.core.fields import Rule, Rules, a, listed, optional, seconds, text, whole

MAX_KIND: Final = 255  # characters of its name
FLAG = a(bool, "True or False")


def _types(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        text().fits(name) and isinstance(types, str) for name, types in value.items()
    )


def _choices(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(allowed, list | tuple | set | frozenset) and all(isinstance(each, str) for each in allowed)
        for allowed in value.values()
    )


def can_decide(value: Any) -> bool:
    """Return whether this can be called as `decide(events, now)`."""
    try:
        inspect.signature(value).bind((), None)
    except (TypeError, ValueError):
        return False
    return not inspect.iscoroutinefunction(value)


_FIELDS = Rule(_types, "an object of fields and their JSON types, as in {'total': 'number'}")
KIND_RULES: Final[Rules] = {
    "name": text(MAX_KIND),
    "sources": Rule(lambda value: isinstance(value, Iterable), "a set of texts"),
    "required": _FIELDS,
    "optional": _FIELDS,
    "choices": Rule(_choices, "an object of fields and the texts that each may be"),
    "erasable": FLAG,
    "v": whole(1),
    "wakes": FLAG,
    "keyed_by": optional(
        Rule(lambda value: listed(str, "").fits(value) and len(value) == 2, "a word and a field")
    ),
    "digests": listed(str, "a list of fields"),
    "tracked": FLAG,
}
JOB_RULES: Final[Rules] = {
    "name": a(str, "a text"),
    "source": a(str, "a text"),
    "lease": seconds(0.001),
    "max_tries": whole(1),
    "backoff": seconds(),
    "backoff_most": seconds(),
    "serial": FLAG,
    "level": FLAG,
    "asked_by": optional(text(MAX_KIND)),
}
