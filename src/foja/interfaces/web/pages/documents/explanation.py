"""What a document waits for, in Spanish: the sentences of `view.explain`, by their English texts."""

from __future__ import annotations

import re
from functools import cache, partial
from string import Formatter
from typing import Final

from foja.interfaces.web.pages.frame.language import read_texts

_TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|an unknown time"
_NAME, _PART = "evidence_", "part_"
# What a name in a text stands for.
_PARTS: Final = {
    **dict.fromkeys(("time", "until", "newest", "begins"), _TIME),
    "of": r"(?: of [0-9a-f]{12}…)?",
    "number": r"\d+",
    "word": r"\w+",
    "command": r"[^`]+",
    "names": r"[^.]+",
    "reason": r".+?",
}
_WORDS_OF_OTHERS: Final = frozenset({"command", "reason", "word"})


def translate(text: str, language: str) -> str:
    """Return an explanation in a language; reasons that others wrote stay as they are."""
    if language == "en":
        return text
    for pattern, sentence in _sentences(language):
        text = pattern.sub(partial(_say, sentence, language), text)
    return text


@cache
def _sentences(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return each English text as a pattern, with the text in a language."""
    texts = read_texts("explanation").items()
    evidence = [re.escape(each["en"]) for name, each in texts if name.startswith(_NAME)]
    parts = {**_PARTS, "name": "|".join(evidence)}
    return [
        (re.compile(_pattern(each["en"], parts), re.IGNORECASE), each[language])
        for name, each in texts
        if not name.startswith((_NAME, _PART))
    ]


def _pattern(text: str, parts: dict[str, str]) -> str:
    found = ""
    for words, name, _, _ in Formatter().parse(text):
        found += re.escape(words) + (f"(?P<{name}>{parts[name]})" if name else "")
    return found


def _say(sentence: str, language: str, found: re.Match[str]) -> str:
    parts = found.groupdict().items()
    return sentence.format(
        **{name: text if name in _WORDS_OF_OTHERS else _part(text, language) for name, text in parts}
    )


def _part(text: str, language: str) -> str:
    """Return a part of a sentence: evidence, the witness that it is of, a time."""
    for name, each in read_texts("explanation").items():
        if name.startswith((_NAME, _PART)):
            text = re.sub(re.escape(each["en"]), each[language], text, flags=re.IGNORECASE)
    return text
