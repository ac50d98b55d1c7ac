"""Names, times and titles as the sentences of a report write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial

from foja.pure.judge.render.labels import ITEMS, KINDS
from foja.pure.judge.render.notices import translate
from foja.pure.judge.render.translations import TRANSLATIONS, index_of, text
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.contents import Contents
from foja.pure.proofs.finding import Finding, TrustItem
from foja.pure.quotation import LONGEST_LINE, QUOTATION, Foreign, is_short, quoted

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
_OUR_WORDS = re.compile(f"(the log {QUOTATION}|the log of the entry|the public key of the signer)")
_BLOCKS = ("block", "header")
_FINGERPRINT = re.compile("(sha256:|key id |log id |merkle root |hash |0x)?[0-9a-f]+")
_NAME_PART = re.compile(r"(?:^|,)(CN|O)=([^,]+)")
_INSTANT = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,6})?Z")
_EVENT = re.compile("event ([0-9]+)")


def say_time(moment: datetime, language: str, *, seconds: bool = True) -> str:
    """Return a time in UTC as a date and a time of day; what is smaller than shown is left out."""
    at = moment.astimezone(UTC)
    month = _MONTHS[at.month - 1][index_of(language)]
    day = f"{at.day} {month} {at.year}" if language == "en" else f"{at.day} de {month} de {at.year}"
    clock = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    return f"{day}, {clock} UTC"


def say_times(words: str, language: str) -> str:
    """Return a sentence of the judge with its times as people write them; quotations stay as they are."""
    parts = re.split(f"({QUOTATION})", words)
    return "".join(
        part if at % 2 else _INSTANT.sub(partial(_say_instant, language), part)
        for at, part in enumerate(parts)
    )


def _say_instant(language: str, found: re.Match[str]) -> str:
    return say_time(datetime.fromisoformat(found[0]), language)


def say_limit(finding: Finding, language: str) -> str:
    """Return the time that a finding proves; a miner's clock may be two hours off: it is approximate."""
    if finding.no_later_than is None:
        return "?"
    time = say_time(finding.no_later_than, language)
    return text("about", language, time=time) if finding.evidence == "bitcoin" else time


def say_source(finding: Finding, language: str) -> str:
    """Return who attests the time of a finding, and whether that is a local authority or a test network."""
    source = _attester(finding, language)
    if finding.evidence == "polygon":
        source = f"Polygon ({source})"
    if finding.of_test_network:
        source += text("test_short", language)
    if finding.of_unknown_chain:
        source += text("chain_short", language)
    return source + (text("local_short", language) if finding.local else "")


def _attester(finding: Finding, language: str) -> str:
    """Return a block or a log in our words, and the name of an authority as a quotation."""
    name = finding.according_to or "?"
    ours = (
        finding.evidence == "bitcoin" or finding.evidence == "polygon" or finding.evidence.startswith("evm")
    )
    if ours or (_OUR_WORDS.fullmatch(name) and not isinstance(name, Foreign)):
        return translate(name, language)
    return quoted(short_name(name))


def short_name(name: str) -> str:
    """Return common name and organization of a distinguished name; any other name is unchanged."""
    parts = {} if "\\" in name else dict(reversed(_NAME_PART.findall(name)))
    if "CN" not in parts:
        return name
    return f"{parts['CN']} ({parts['O']})" if "O" in parts else str(parts["CN"])


def title(finding: Finding, language: str) -> str:
    """Return what kind of evidence a finding is about, and the file that it came in."""
    name = kind_name(finding, language)
    if not finding.name:
        return name
    if finding.evidence == "signature" and (found := _EVENT.fullmatch(finding.name)):
        return f"{name} ({text('event', language, seq=found[1])})"
    return f"{name} ({quoted(finding.name)})"


def kind_name(finding: Finding, language: str) -> str:
    """Return what kind of evidence a finding is about."""
    kind, _, chain = finding.evidence.partition(":")
    name = KINDS[kind][index_of(language)] if kind in KINDS else quoted(kind)
    return f"{name} {chain if chain.isdecimal() else quoted(chain)}" if chain else name


def subject(report: Report, language: str) -> str:
    """Return what the evidence is about: events, a transcript, or a document by its name.

    A name is a quotation; a long one stands on a line of its own.
    """
    name, contents = report.subject.name, report.contents
    if contents and report.about_events:
        which = "events" if contents.events > 1 else "event_one"
        first, stream = contents.statements[0].seq, stream_of(contents, language)
        return text(which, language, first=first, last=contents.events - 1, stream=stream)
    if contents and name is None and report.verdict is not Verdict.TOTAL_FAILED:
        return text("transcript", language, stream=stream_of(contents, language))
    if name and is_short(name):
        return quoted(name)
    which = "named" if name else "this" if report.subject.sha256 else "unknown"
    return TRANSLATIONS[f"{which}_document"][index_of(language)]


def stream_of(contents: Contents, language: str) -> str:
    """Return the stream with the word for its domain; a domain that no hash covers is not named."""
    name = "stream_conversation" if contents.domain == "conversation" else "stream"
    return f"{text(name, language)} {contents.entity_id}"


def say_name(report: Report, language: str) -> str | None:
    """Return the line with a name that is too long for a sentence."""
    name = report.subject.name
    return (
        None
        if not name or is_short(name) or report.about_events
        else text("named", language, given=quoted(name, LONGEST_LINE))
    )


def say_item(item: TrustItem, language: str) -> str:
    """Return a root or a key with its name and its fingerprint."""
    about = [ITEMS[item.kind][index_of(language)], say_fingerprint(item, language)]
    return f"{item_name(item, language)} ({', '.join(each for each in about if each)})"


def item_name(item: TrustItem, language: str) -> str:
    """Return a block or an unnamed key in our words, and any other name as a quotation."""
    if item.kind in _BLOCKS or _OUR_WORDS.fullmatch(item.name):
        return translate(item.name, language)
    return quoted(item.name, LONGEST_LINE)


def say_fingerprint(item: TrustItem, language: str) -> str:
    """Return a fingerprint as its tool shows it; that of a log begins with the name of the log."""
    found = item.fingerprint or ""
    if not found or _FINGERPRINT.fullmatch(found):
        return translate(found, language)
    name, _, key_id = found.rpartition("+")
    plain = name.isascii() and name.isprintable() and "`" not in name and _FINGERPRINT.fullmatch(key_id)
    return found if plain and is_short(found) else quoted(found, LONGEST_LINE)
