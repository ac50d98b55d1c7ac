"""The choice of a language, and the texts of a page in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request

LANGUAGES: Final = ("en", "es")
COOKIE: Final = "foja_lang"
FOLDER: Final = files("foja.interfaces.web.pages") / "texts"  # a file for each place
Table = Mapping[str, Mapping[str, str]]  # each text by its name and its language


@cache
def read_texts(place: str) -> Table:
    """Return the texts of a place in all languages. A file is read once."""
    return tomllib.loads((FOLDER / f"{place}.toml").read_text("utf-8"))


class Texts:
    """The texts of some places in one language. A name that no place has is an error."""

    def __init__(self, language: str, *places: str) -> None:
        self.language = language
        self._texts = {name: text[language] for place in places for name, text in read_texts(place).items()}

    def __call__(self, name: str, **values: object) -> str:
        """Return a text, with these values in it."""
        text = self._texts[name]
        return text.format(**values) if values else text

    def get(self, name: str, default: str) -> str:
        """Return a text, or another one if no place has it: for names that others chose."""
        return self._texts.get(name, default)

    def named(self) -> dict[str, str]:
        """Return all texts by name, for a script."""
        return dict(self._texts)


def choose_language(requested: str | None, accepted: str) -> str:
    """Return the requested language, or the best that the browser accepts, or English."""
    if requested in LANGUAGES:
        return requested
    ranked = sorted(map(_parse_preference, accepted.split(",")), key=lambda each: -each[1])
    return next((name for name, weight in ranked if name in LANGUAGES and weight > 0), "en")


def _parse_preference(text: str) -> tuple[str, float]:
    tag, _, weight = text.strip().partition(";q=")
    try:
        return tag.strip().lower()[:2], float(weight or 1)
    except ValueError:
        return tag.strip().lower()[:2], 0.0


def language_of(request: Request) -> str:
    """Return the language of the page that a request asks for: of its address, its cookie, its browser."""
    requested = request.query_params.get("lang") or request.cookies.get(COOKIE)
    return choose_language(requested, request.headers.get("accept-language", ""))
