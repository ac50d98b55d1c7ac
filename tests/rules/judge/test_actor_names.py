"""Names of actors in reports made offline: those of the reader's trust, never the ledger's word."""

from __future__ import annotations

from dataclasses import replace

import pytest

import foja
from foja.errors import Refused
from foja.interfaces.certificate.page import certificate
from foja.pure.core.bundle import history
from foja.pure.core.canonical import Json
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Report
from foja.pure.judge.trust_parser import name_lines, read
from tests.rules.bundles import CONVERSATION, NOW, Scene
from tests.rules.pdf_text import pdf_lines
from tests.rules.streams import stream

SCENE = Scene()
KEY = "key:yppx00000000"
DECIDED: Json = {"approval_id": "a", "decision": "approved", "reason": None, "tool_name": "refund"}
[EVENT] = stream("conversation", CONVERSATION, [("approval_completed", DECIDED)], actor=KEY)


def judged(*names: str) -> Report:
    data = history.heading("conversation", CONVERSATION) + b"".join(history.encode([EVENT]))
    trust = replace(SCENE.trust, names=read(names).names)
    return foja.verify(data, trust, NOW, proofs=[SCENE.prove(EVENT).text().encode()])


def test_a_report_shows_the_name_and_what_is_recorded() -> None:
    """An offline report showed only `key:yppx…` where the page showed Ana Ruiz."""
    line = f'name {KEY} "Ana Ruiz"'
    report = judged(line)
    english = f"“Ana Ruiz” (so named in the trust given; recorded as “{KEY}”) approved “refund” on"
    spanish = f"“Ana Ruiz” (así en la lista de confianza; registrado como “{KEY}”) aprobó “refund” el"
    for language, sentence in (("en", english), ("es", spanish)):
        assert sentence in as_text(report, language)
        assert sentence in as_html(report, language)
        assert sentence in " ".join(pdf_lines(certificate(report, language=language)))
    assert report.document()["policy"]["names"] == {KEY: "Ana Ruiz"}  # type: ignore[index, call-overload]
    without = judged()
    assert f"“{KEY}” approved “refund” on" in as_text(without)
    assert "names" not in without.document()["policy"]  # type: ignore[operator]
    assert without.verdict is report.verdict


def test_names_are_written_as_they_are_read() -> None:
    names = {KEY: 'Ana "la jefa” Ruiz', "user:ana@example.org": "Åsa", "user:two words": "x", "key:b": "a\nb"}
    lines = name_lines(names)
    assert len(lines) == 2, "an actor with a blank, and a name with a line break, have no line"
    assert dict(read(["\n".join(lines)]).names) == {each: names[each] for each in (*names,)[:2]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name key:a "A"\nname key:a "B"', "two names are stated for"),
        ("name key:a A", "not a trust item"),
        ('name key:a "A" "B"', "cannot be read"),
        ('name key:a "A\\u202eB"', "not printable"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        read([text])
