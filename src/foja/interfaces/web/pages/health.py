"""The health of every part, as pages show it: what it does now, since when, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foja.interfaces.web.pages.frame.language import Texts
from foja.interfaces.web.pages.frame.times import moment, span
from foja.pure.models.health.part import Part, State, advice

TONES: Final = {State.WORKS: "good", State.FAILING: "bad", State.PAUSED: "warn", State.UNTRIED: ""}


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part in words: its name, its state, since when, the words of its error, what to do."""

    name: str
    label: str
    tone: str
    state: str
    detail: str
    error: str = ""
    advice: str = ""


def part_rows(parts: Sequence[Part], texts: Texts, language: str, *, words: bool) -> Iterator[PartRow]:
    """Yield a row for each part; job types that work, or that nobody tried, share a row for each state."""
    for part in sorted(parts, key=lambda part: part.ok):
        if part.kind != "job" or not part.ok:
            yield _row(part, texts, language, words=words)
    for state in (State.WORKS, State.UNTRIED):
        jobs = [part for part in parts if part.kind == "job" and part.state is state]
        if jobs:
            yield _jobs(jobs, state, texts, language)


def _row(part: Part, texts: Texts, language: str, *, words: bool) -> PartRow:
    shown = words and not part.ok
    return PartRow(
        texts.get(f"part_{part.kind}", part.kind),
        texts.get(f"use_{part.label}", part.label),
        TONES[part.state],
        texts(f"state_{part.state}"),
        _detail(part, texts, language),
        (part.error or "") if shown and part.code not in {"paused", "no_worker"} else "",
        _advice(part, texts) if shown else "",
    )


def _jobs(jobs: Sequence[Part], state: State, texts: Texts, language: str) -> PartRow:
    newest = max(jobs, key=lambda part: part.checked_at.timestamp() if part.checked_at else 0.0)
    detail = _detail(newest, texts, language)
    words = texts("state_works_all" if state is State.WORKS and len(jobs) > 1 else f"state_{state}")
    return PartRow(texts("job_types", count=len(jobs)), "", TONES[state], words, detail)


def _detail(part: Part, texts: Texts, language: str) -> str:
    if part.state is State.WORKS and part.checked_at:
        return texts("checked", span=span(part.now - part.checked_at))
    if part.since is None:
        return texts("never_tried" if part.state is State.UNTRIED else "since_unknown")
    at = moment(part.since, language, seconds=True)
    if part.code == "no_worker":
        return texts("no_worker", at=at)
    return texts("not_tried" if part.state is State.UNTRIED else "since", at=at)


def _advice(part: Part, texts: Texts) -> str:
    """Return what to do next, in the language of the page."""
    code, _, process = (part.code or "").partition(":")
    precise = f"do_{part.kind}_{code}"
    found = texts.get(precise, "") or texts.get(f"do_{part.kind}", "") or advice(part)
    return found.replace("{label}", part.label).replace("{process}", process)
