"""Names, times and titles as the sentences of a report write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from foja.judge.render.notices import translate
from foja.judge.render.translations import ITEMS, KINDS, TRANSLATIONS, index_of, text
from foja.judge.report import Report, plain
from foja.proofs.finding import Finding, TrustItem

_MONTHS = (
    ("January", "enero"),
    ("February", "febrero"),
    ("March", "marzo"),
    ("April", "abril"),
    ("May", "mayo"),
    ("June", "junio"),
    ("July", "julio"),
    ("August", "agosto"),
    ("September", "septiembre"),
    ("October", "octubre"),
    ("November", "noviembre"),
    ("December", "diciembre"),
)
_BARE_NAME = re.compile(r"[\w.-]+")
_NAME_PART = re.compile(r"(?:^|,)(CN|O)=([^,]+)")
LONGEST = 200


def say_time(moment: datetime, language: str) -> str:
    """Return a time in UTC as a date and a time of day, rounded up to the second: it is a limit."""
    at = moment.astimezone(UTC)
    if at.microsecond:
        at = at.replace(microsecond=0) + timedelta(seconds=1)
    month = _MONTHS[at.month - 1][index_of(language)]
    day = f"{at.day} {month} {at.year}" if language == "en" else f"{at.day} de {month} de {at.year}"
    return f"{day}, {at:%H:%M:%S} UTC"


def say_limit(finding: Finding, language: str) -> str:
    """Return the time that a finding proves; a miner's clock may be two hours off: it is approximate."""
    if finding.no_later_than is None:
        return "?"
    time = say_time(finding.no_later_than, language)
    return text("about", language, time=time) if finding.evidence == "bitcoin" else time


def say_source(finding: Finding, language: str) -> str:
    """Return who attests the time of a finding, and whether that is a local authority or a test network."""
    source = short_name(translate(shown(finding.according_to) or "?", language))
    if finding.evidence == "polygon":
        source = f"Polygon ({source})"
    if finding.of_test_network:
        source += text("test_short", language)
    if finding.of_unknown_chain:
        source += text("chain_short", language)
    return source + (text("local_short", language) if finding.local else "")


def short_name(name: str) -> str:
    """Return common name and organization of a distinguished name; any other name is unchanged."""
    parts = {} if "\\" in name else dict(reversed(_NAME_PART.findall(name)))
    if "CN" not in parts:
        return name
    return f"{parts['CN']} ({parts['O']})" if "O" in parts else str(parts["CN"])


def title(finding: Finding, language: str) -> str:
    """Return what kind of evidence a finding is about, and the file that it came in."""
    name = kind_name(finding, language)
    return f"{name} ({shown(finding.name)})" if finding.name else name


def kind_name(finding: Finding, language: str) -> str:
    """Return what kind of evidence a finding is about."""
    kind, _, chain = finding.evidence.partition(":")
    name = KINDS[kind][index_of(language)] if kind in KINDS else shown(kind)
    return f"{name} {shown(chain)}" if chain else name


def subject(report: Report, language: str) -> str:
    """Return the name of the document; in quotation marks if it could be read as a part of the sentence."""
    name = shown(report.subject.name)
    if name:
        return name if _BARE_NAME.fullmatch(name) else f"“{name}”"
    return TRANSLATIONS["this_document" if report.subject.sha256 else "unknown_document"][index_of(language)]


def say_item(item: TrustItem, language: str) -> str:
    """Return a root or a key with its name and its fingerprint."""
    about = [ITEMS[item.kind][index_of(language)], translate(shown(item.fingerprint), language)]
    return f"{translate(shown(item.name), language)} ({', '.join(each for each in about if each)})"


def shown(name: str | None) -> str:
    """Return untrusted text without control characters, and not longer than a sentence can bear."""
    safe = plain(name) or ""
    return safe if len(safe) <= LONGEST else f"{safe[:LONGEST]}…"
