"""What recorded events say, in words, and what a whole history leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foja.pure.judge.render.translations import text
from foja.pure.judge.render.words import say_time, stream_of
from foja.pure.judge.report import Report
from foja.pure.proofs.contents import Act, Completeness, Contents, Statement
from foja.pure.proofs.finding import Finding, Status
from foja.pure.quotation import LONGEST_LINE, quoted

INLINE = 60  # characters of a quotation that is a part of a sentence; a longer one has its own line
MOST_NUMBERS = 200
Names: TypeAlias = Mapping[str, str]
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and the quotations that are too long to be a part of it."""

    sentence: str
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The events of a report in words: what is said about them before, between and after."""

    title: str
    title_complete: str
    lead: str
    said: tuple[Said, ...]
    gap_after: int | None  # how many of `said` come before the events that are left out
    gap: str
    complete: tuple[str, ...]


def quote(words: str | None, *, json: bool = False) -> str:
    """Return the words of a stranger as a visible quotation; only JSON keeps its straight marks."""
    return quoted(words or "", LONGEST_LINE, straight=json)


def _hexadecimal(digest: str) -> str:
    return digest if _DIGEST.fullmatch(digest) else quoted(digest)


def section(report: Report, language: str) -> Section | None:
    """Return what the events say that a report is about; None if it shows none."""
    found = next((each for each in report.evidence if each.contents), None)
    if found is None or found.contents is None or found.status is Status.INVALID:
        return None
    contents = found.contents
    left_out = contents.events - len(contents.statements)
    return Section(
        text("said_title", language),
        text("complete_title", language),
        text("said_unproven" if contents.size is None else "said_proven", language),
        tuple(say(each, report.names, language) for each in contents.statements),
        len(contents.statements) // 2 if left_out else None,
        text("said_left_out", language, count=f"{left_out:,}") if left_out else "",
        tuple(_complete(contents, contents.whole, found, language)) if contents.whole else (),
    )


def say(statement: Statement, names: Names, language: str) -> Said:
    """Return what one event says; long quotations follow the sentence."""
    return _say(statement, names, language, INLINE)


def say_briefly(contents: Contents, names: Names, language: str) -> str:
    """Return what one event says as a part of a sentence, and which event of which stream it is."""
    [statement] = contents.statements
    sentence = _say(statement, names, language, 0 if statement.act is Act.RECORDED else INLINE).sentence
    place = text("said_place", language, seq=statement.seq, stream=stream_of(contents, language))
    return f"{sentence.rstrip(':.')}; {place}"


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as a list, neighbours joined: `3, 7-9`."""
    runs = list[list[int]]()
    for each in numbers[:MOST_NUMBERS]:
        if runs and each == runs[-1][1] + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    listed = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
    return listed if len(numbers) <= MOST_NUMBERS else f"{listed}, … ({len(numbers):,})"


def _say(each: Statement, names: Names, language: str, inline: int) -> Said:
    long = list[str]()

    def part(name: str, words: str | None) -> str:
        if words is None:
            return ""
        shown = quote(words, json=name == "content" and each.act is not Act.SAID)
        if len(words) <= inline:
            return text(f"said_{name}", language, words=shown)
        if inline:
            long.append(f"{text(f'said_{name}_below', language)} {shown}")
        return ""

    values = {
        "seq": each.seq,
        "time": say_time(each.at, language),
        "actor": _actor(each.actor, names, language),
        "what": text("said_something", language) if each.what is None else quote(each.what),
        "kind": quote(each.kind),
        "about": "?" if each.about is None else each.about,
        "content": part("content", each.content),
        "digest": text("said_digest", language, digest=_hexadecimal(each.digest)) if each.digest else "",
        "reason": part("reason", each.reason),
    }
    return Said(text(f"said_{each.act.value}", language, **values), tuple(long))


def _actor(actor: str | None, names: Names, language: str) -> str:
    """Return an actor as recorded, after the name by which the reader's trust knows it."""
    if actor is None:
        return text("said_nobody", language)
    name = names.get(actor)
    return text("said_named", language, known=quote(name), actor=quote(actor)) if name else quote(actor)


def _complete(contents: Contents, whole: Completeness, found: Finding, language: str) -> Iterator[str]:
    """Yield what is complete and what is not; numbers are those of events."""
    stream, last = stream_of(contents, language), contents.events - 1
    if contents.size is not None:
        logs = [quoted(item.name) for item in found.rests_on if item.kind == "log"]
        log, size = logs[0] if logs else text("trusted_log", language), f"{contents.size:,}"
        values = {"stream": stream, "last": last, "next": last + 1, "log": log, "size": size}
        yield text("whole_proven", language, **values)
    else:
        yield text("whole_unproven", language, stream=stream, last=last)
    for name, numbers in (
        ("tools", whole.requests),
        ("approvals", whole.approvals),
        ("expired", whole.expired),
    ):
        if numbers or contents.domain == "conversation":
            yield _numbers(name, numbers, language)
    yield _numbers("voided", [seq for seq, _ in whole.voided], language)
    for seq, reason in whole.voided[:MOST_NUMBERS]:
        yield text("whole_reason", language, seq=seq, reason=quote(reason))
    if whole.hidden:
        yield _numbers("hidden", whole.hidden, language)
    yield text("whole_never", language)


def _numbers(name: str, numbers: Sequence[int], language: str) -> str:
    if not numbers:
        return text(f"whole_no_{name}", language)
    return text(f"whole_{name}", language, numbers=ranges(numbers))
