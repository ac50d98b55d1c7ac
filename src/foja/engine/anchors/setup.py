"""Which settings a network still needs before anything can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foja.engine.settings import Settings, variable

Choice: TypeAlias = Sequence[Sequence[str]]  # settings of which one is enough, each with those that it needs

NEEDED: Mapping[str, Sequence[Choice]] = {
    "polygon": (
        [["polygon_rpc_url"]],
        [
            ["polygon_private_key"],
            ["polygon_key_file"],
            ["polygon_keystore", "polygon_keystore_password_file"],
            ["polygon_signer_url", "polygon_account"],
        ],
    ),
    "bitcoin": ([["ots_calendars"]], [["bitcoin_rpc_url"], ["bitcoin_header_urls"]]),
    "rekor": ([["rekor_url"]], [["rekor_key"]]),
}


@dataclass(frozen=True, slots=True)
class Words:
    """How a choice of settings is said in a language."""

    one_of: str = "one of {names}"
    with_: str = "{name} (with {more})"
    either: str = " or "


def missing_settings(settings: Settings, network: str, words: Words | None = None) -> list[str]:
    """Return what is not set and has to be, as words that name the settings."""
    missing = (_missing(settings, choice) for choice in NEEDED[network])
    return [_say(choice, words or Words()) for choice in missing if choice]


def _missing(settings: Settings, choice: Choice) -> Choice:
    """Return the choice, or what the chosen one still needs; nothing if that is complete."""
    for setting, *more in choice:
        if getattr(settings, setting):
            return [[name] for name in more if not getattr(settings, name)]
    return choice


def _say(choice: Choice, words: Words) -> str:
    names = [_say_one([*map(variable, each)], words) for each in choice]
    listed = words.either.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return words.one_of.format(names=listed) if len(names) > 2 else listed


def _say_one(names: Sequence[str], words: Words) -> str:
    name, *more = names
    return words.with_.format(name=name, more=", ".join(more)) if more else name
